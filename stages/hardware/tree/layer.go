package tree

import (
	"archive/tar"
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// layer is what one layer of an image says of paths.
type layer struct {
	entries []entry
	blob    v1.Hash // of the bytes as they are kept
	diff    v1.Hash // of the tar archive in them
}

// errNoTar says that a blob is none.
var errNoTar = errors.New("no tar archive")

// layer reads a blob as a layer, from its beginning to its end. at is the blob for seeking
// in it, where that can be done.
func (v *visitor) layer(blob io.Reader, at io.ReaderAt) (*layer, error) {
	packedSum, plainSum := sha256.New(), sha256.New()
	raw := bufio.NewReaderSize(io.TeeReader(blob, packedSum), bufferBytes)
	head, err := raw.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	content, done, err := unpack(raw)
	if err != nil {
		return nil, err
	}
	defer done()
	packed := isPacked(head)
	switch {
	case packed:
		at = nil
		content = bufio.NewReaderSize(io.TeeReader(metered{content, &v.budget}, plainSum), bufferBytes)
	case at != nil: // otherwise it comes out of a stream that is paid for
		content = metered{content, &v.budget}
	}
	l := &layer{}
	if err := v.readEntries(l, &counting{r: content}, at); err != nil {
		return nil, err
	}
	// What follows the archive belongs to the digests.
	if _, err := io.Copy(io.Discard, content); err != nil {
		return nil, err
	}
	if _, err := io.Copy(io.Discard, raw); err != nil {
		return nil, err
	}
	l.blob = digest(packedSum)
	if l.diff = l.blob; packed {
		l.diff = digest(plainSum)
	}
	return l, nil
}

func digest(h hash.Hash) v1.Hash {
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(h.Sum(nil))}
}

// counting knows where in the archive it is. It cannot seek: then the archive's reader
// would leave bytes out that belong to the digest.
type counting struct {
	r io.Reader
	n int64
}

// Read implements [io.Reader].
func (c *counting) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// readEntries reads the entries of a layer.
func (v *visitor) readEntries(l *layer, c *counting, at io.ReaderAt) error {
	for r := tar.NewReader(c); ; {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, tar.ErrHeader) && len(l.entries) == 0 && c.n <= sniffed:
			return errNoTar
		case err != nil:
			return err
		}
		if err := v.entry(h.Name); err != nil {
			return err
		}
		if e, ok := v.tarEntry(h, r, c.n, at); ok {
			l.entries = append(l.entries, e)
		}
		if err := v.spent(); err != nil {
			return err
		}
	}
}

// Names of the layer format: a prefix that hides one path, and a name that hides all that
// lower layers have in the folder.
const (
	whiteoutPrefix = ".wh."
	opaqueName     = ".wh..wh..opq"
	metadataPrefix = ".wh..wh." // of AUFS, its other files
)

// tarEntry says what an entry means; ok is false when it means nothing.
func (v *visitor) tarEntry(h *tar.Header, content io.Reader, off int64, at io.ReaderAt) (e entry, ok bool) {
	switch h.Typeflag {
	case tar.TypeXGlobalHeader, tar.TypeXHeader, tar.TypeGNULongName, tar.TypeGNULongLink:
		return entry{}, false
	}
	v.report.Entries++
	name, sound := clean(h.Name)
	if !sound {
		if strings.Trim(h.Name, "./") != "" { // not the root itself
			v.oddity(badName)
		}
		return entry{}, false
	}
	dir, base := path.Split(name)
	dir = strings.TrimSuffix(dir, "/")
	switch hidden, isHidden := strings.CutPrefix(base, whiteoutPrefix); {
	case base == opaqueName:
		return entry{path: dir, kind: opaque}, true
	case strings.HasPrefix(base, metadataPrefix):
		return entry{}, false
	case isHidden:
		if name, sound = clean(path.Join(dir, hidden)); !sound || hidden == "" || hidden == "." || hidden == ".." {
			v.oddity(badName)
			return entry{}, false
		}
		return entry{path: name, kind: whiteout}, true
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse:
		return v.tarFile(name, h, content, off, at), true
	case tar.TypeDir:
		return entry{path: name, kind: folder}, true
	case tar.TypeLink:
		if target, sound := clean(h.Linkname); sound && target != name {
			return entry{path: name, kind: hardLink, target: target}, true
		}
		v.oddity("a hard link to itself or out of the image: not read")
	case tar.TypeSymlink:
		v.link(name)
	}
	return entry{path: name, kind: other}, true
}

// tarFile shows a file of a layer.
func (v *visitor) tarFile(name string, h *tar.Header, content io.Reader, off int64, at io.ReaderAt) entry {
	sparse := h.Typeflag == tar.TypeGNUSparse
	for key := range h.PAXRecords {
		sparse = sparse || strings.HasPrefix(key, "GNU.sparse.")
	}
	if sparse {
		// Its zeros cost nothing: a small one would keep us for ever.
		return v.broken(name, fmt.Errorf("a file with holes of %d bytes, which image layers do not have: unpack it and name the file", h.Size))
	}
	f := File{path: name, size: h.Size, stream: content}
	if at != nil {
		f.at = io.NewSectionReader(at, off, h.Size)
		f.stream = nil // what is read here has to be read for the digest too
	}
	return v.show(f)
}
