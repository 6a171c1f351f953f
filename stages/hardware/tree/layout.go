package tree

import (
	"fmt"
	"io"
	"os"
)

// layout reads an OCI image layout in a folder.
func (v *visitor) layout(root *os.Root, platform string) error {
	v.report.Kind = OCILayout
	return v.image(inFolders{root, v.bounds.document}, platform)
}

// inFolders keeps the parts of an image as files.
type inFolders struct {
	root *os.Root
	most int64
}

func (s inFolders) document(name string) ([]byte, error) {
	f, err := openFile(s.root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return whole(f, s.most)
}

func (s inFolders) layer(v *visitor, name string) (*layer, error) {
	f, err := openFile(s.root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return v.layer(f, f)
}

// whole reads a document of a bounded size.
func whole(r io.Reader, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > most {
		return nil, fmt.Errorf("more than %d MiB, which no such document has: do not use it", most>>20)
	}
	return b, nil
}
