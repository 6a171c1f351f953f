package tree

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// stream reads an image out of an archive that is compressed as a whole. It passes once,
// and says only at its end which parts are the layers of which image. So all that could be
// a layer is read as one, and all that could be a document is kept.
func (v *visitor) stream(f io.Reader, platform string) error {
	z, done, err := unpack(bufio.NewReaderSize(f, bufferBytes))
	if err != nil {
		return err
	}
	defer done()
	s := &inStream{most: v.bounds.document, documents: map[string][]byte{}, layers: map[string]passed{}, links: links{}}
	if err := s.read(v, z); err != nil {
		return err
	}
	kind, err := imageKind(func(name string) bool { _, ok := s.documents[name]; return ok })
	if err != nil {
		return err
	}
	v.report.Kind = kind
	return v.image(s, platform)
}

// inStream holds what is left of the parts of an image that passed.
type inStream struct {
	most      int64
	documents map[string][]byte
	held      int64 // bytes of documents
	layers    map[string]passed
	links     links
}

// passed is a layer that did, or what was wrong with it: which matters only if it is one.
type passed struct {
	*layer
	err error
}

func (s *inStream) read(v *visitor, z io.Reader) error {
	for n, r := 0, tar.NewReader(metered{z, &v.budget}); ; n++ {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case v.spent() != nil:
			return v.spent()
		case err != nil:
			return fmt.Errorf("the archive is not readable to its end (%w): copy or save the image again", err)
		case n >= v.bounds.outer:
			return fmt.Errorf("an archive of more than %d members, which no image has: unpack it and name the folder", v.bounds.outer)
		}
		name, ok := clean(h.Name)
		if !ok || s.links.add(name, h) || h.Typeflag != tar.TypeReg {
			continue
		}
		if err := s.part(v, name, h.Size, bufio.NewReaderSize(r, bufferBytes)); err != nil {
			return err
		}
	}
}

// part takes one member.
func (s *inStream) part(v *visitor, name string, size int64, r *bufio.Reader) error {
	head, err := r.Peek(sniffed)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil // the archive's own reader meets it too, and says where
	}
	text := bytes.TrimLeft(head, " \t\r\n")
	if isTar(head) || isPacked(head) || len(bytes.TrimLeft(head, "\x00")) == 0 && size > 0 {
		l, err := v.layer(r, nil)
		if spent := v.spent(); spent != nil {
			return spent
		}
		if _, ok := errors.AsType[tooMuchError](err); ok {
			return err
		}
		s.layers[name] = passed{l, err}
		return nil
	}
	if name != layoutFile && !bytes.HasPrefix(text, []byte("{")) && !bytes.HasPrefix(text, []byte("[")) {
		return nil
	}
	const together = 8 // of the largest document
	b, err := whole(r, s.most)
	if err != nil && (name == indexFile || name == manifestFile) {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err != nil {
		return nil //nolint:nilerr // a layer or document that is missed is told of when it is looked for
	}
	if s.held += int64(len(b)); s.held > together*s.most {
		return fmt.Errorf("documents of more than %d MiB, which no image has: do not use it", together*s.most>>20)
	}
	s.documents[name] = b
	return nil
}

func (s *inStream) document(name string) ([]byte, error) {
	b, ok := s.documents[s.links.follow(name)]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return b, nil
}

func (s *inStream) layer(_ *visitor, name string) (*layer, error) {
	p, ok := s.layers[s.links.follow(name)]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return p.layer, p.err
}
