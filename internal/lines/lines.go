// Package lines reads and extends files of one JSON document a line, as records and
// journals are.
//
// The one rule: a line that cannot be read is told and stepped over, never fatal and never
// overwritten; a kill may leave the last one torn.
package lines

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

// Error is a line that was not read.
type Error struct {
	Line int
	// Torn says that the file ends in the middle of the line.
	Torn bool
	Err  error
}

// Error names the line and the reason.
func (e *Error) Error() string {
	if e.Torn {
		return fmt.Sprintf("line %d is torn (the file ends inside it), skipped", e.Line)
	}
	return fmt.Sprintf("line %d skipped: %v", e.Line, e.Err)
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// Line is a whole line without its break, and its number from 1.
type Line struct {
	N    int
	Text []byte
}

// Bad returns the error that says why the line cannot be read.
func (l Line) Bad(err error) error { return &Error{Line: l.N, Err: err} }

// Each yields the lines of a file that are not blank, at most of so many bytes each. One that
// is longer, or torn, yields an [*Error] and the reading goes on; another error is the
// reader's and ends it. A line is good until the next one is asked for.
func Each(r io.Reader, most int) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		in := bufio.NewReaderSize(r, 1<<16)
		for n := 1; ; n++ {
			text, whole, err := next(in, most)
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Line{}, err)
				return
			}
			l := Line{n, text}
			var bad error
			switch {
			case len(text) > most:
				bad = l.Bad(fmt.Errorf("it is longer than any, which is %d bytes", most))
			case !whole:
				bad = &Error{Line: n, Torn: true, Err: io.ErrUnexpectedEOF}
			}
			if len(bytes.TrimSpace(text[:min(len(text), 64)])) > 0 && !yield(l, bad) || err != nil {
				return
			}
		}
	}
}

// next reads up to a line break. Of a line above most it keeps a little more and reads over
// the rest. whole is false when the file ended first.
func next(in *bufio.Reader, most int) (line []byte, whole bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if room := most + 2 - len(line); room > 0 {
			line = append(line, part[:min(len(part), room)]...)
		}
		switch {
		case err == nil:
			return bytes.TrimSuffix(line, []byte{'\n'}), true, nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		default:
			return line, false, err
		}
	}
}

// Append writes a line, which ends in its break, at the end of a file that is open for
// appending and reading, and syncs it. A torn last line is closed with a break first; a
// write that fails half-way is taken back.
func Append(f *os.File, line []byte) error {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if end > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, end-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	if _, err := f.Write(line); err != nil {
		return errors.Join(err, f.Truncate(end))
	}
	return f.Sync()
}
