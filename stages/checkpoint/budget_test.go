package checkpoint

import (
	"context"
	"encoding/binary"
	"io"
	"testing"
)

// heads is a source whose every file claims a header of 70 MB, of blanks.
type heads struct{ folder }

func (heads) Open(_ context.Context, name string, _ int64) (File, ReaderAtCloser, error) {
	return HeldFile(name, 80_000_000), head{}, nil
}

type head struct{}

func (head) Close() error { return nil }

func (head) ReadAt(p []byte, off int64) (int, error) {
	if off == 0 && len(p) == 8 {
		binary.LittleEndian.PutUint64(p, 70_000_000)
		return 8, nil
	}
	return 0, io.ErrUnexpectedEOF
}

// Headers of a checkpoint are read as long as they are together what a sound one has.
func TestHeadersTogether(t *testing.T) {
	t.Parallel()
	d := &documents{ctx: t.Context(), src: heads{}}
	for i, want := range []Flaw{FlawUnreadable, FlawUnreadable, FlawTooLarge, FlawTooLarge} {
		l := d.header(HeldFile("x", -1), false, 0)
		if _, n := l.header.Problems(want); n != 1 {
			t.Errorf("header %d: %v, want flaw %d", i, l.header.problems.list, want)
		}
	}
}
