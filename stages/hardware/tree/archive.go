package tree

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
)

// archive reads an image out of a tar archive that can be sought in: its parts are found
// first, by their headers, and then read in the order of the image.
func (v *visitor) archive(f io.ReaderAt, size int64, platform string) error {
	s := &inArchive{f: f, most: v.bounds.document, parts: map[string]io.SectionReader{}, links: links{}}
	if err := s.index(v, size); err != nil {
		return err
	}
	kind, err := imageKind(func(name string) bool { _, ok := s.parts[name]; return ok })
	if err != nil {
		return err
	}
	v.report.Kind = kind
	return v.image(s, platform)
}

// imageKind tells the forms of an archive by the names in it. Newer archives are of both
// forms; OCI's says more.
func imageKind(has func(name string) bool) (Kind, error) {
	switch {
	case has(layoutFile) && has(indexFile):
		return OCIArchive, nil
	case has(manifestFile):
		return DockerArchive, nil
	}
	return "", fmt.Errorf("a tar archive with neither %s nor %s: unpack it and name the folder, or save the image again", manifestFile, indexFile)
}

// inArchive keeps the parts of an image as members of a tar archive.
type inArchive struct {
	f     io.ReaderAt
	most  int64
	parts map[string]io.SectionReader
	links links
}

// index notes where the members lie.
func (s *inArchive) index(v *visitor, size int64) error {
	// It is given no way to seek past the end: a member cut short would look whole.
	at := io.NewSectionReader(s.f, 0, size)
	for n, r := 0, tar.NewReader(at); ; n++ {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("the archive is not readable to its end (%w): copy or save the image again", err)
		case n >= v.bounds.outer:
			return fmt.Errorf("an archive of more than %d members, which no image has: unpack it and name the folder", v.bounds.outer)
		case v.ctx.Err() != nil:
			return v.ctx.Err()
		}
		name, ok := clean(h.Name)
		if !ok || s.links.add(name, h) || h.Typeflag != tar.TypeReg {
			continue
		}
		off, err := at.Seek(0, io.SeekCurrent)
		if err != nil {
			return err
		}
		s.parts[name] = *io.NewSectionReader(s.f, off, min(h.Size, size-off))
	}
}

func (s *inArchive) open(name string) (*io.SectionReader, error) {
	p, ok := s.parts[s.links.follow(name)]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return &p, nil
}

func (s *inArchive) document(name string) ([]byte, error) {
	r, err := s.open(name)
	if err != nil {
		return nil, err
	}
	return whole(r, s.most)
}

func (s *inArchive) layer(v *visitor, name string) (*layer, error) {
	r, err := s.open(name)
	if err != nil {
		return nil, err
	}
	return v.layer(r, r)
}

// links are the links in an archive itself: Docker's wrote a layer once and linked to it.
type links map[string]string

func (l links) add(name string, h *tar.Header) bool {
	target := h.Linkname
	switch h.Typeflag {
	case tar.TypeSymlink:
		target = path.Join(path.Dir(name), target)
	case tar.TypeLink:
	default:
		return false
	}
	l[name] = path.Clean(target)
	return true
}

// follow returns what a name leads to, itself where that goes round in circles.
func (l links) follow(name string) string {
	at := name
	for range maxHops {
		next, ok := l[at]
		if !ok {
			return at
		}
		at = next
	}
	return name
}
