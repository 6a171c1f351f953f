package soak

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// Journal is the file of a soak: a line for each event, synced before the next thing is
// asked. It is locked while a soak writes it.
type Journal struct {
	path string
	file *os.File
	lock *flock.Flock
	end  int64 // of what is whole
}

// Begin makes a new journal and proves that it can be written. A file that is there already
// is left alone: a soak is gone on with by [GoOn].
func Begin(path string) (*Journal, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("journal folder: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o644)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("the journal %s is there already: go on with it by --resume, or name another", path)
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	j := &Journal{path: path, file: f, lock: flock.New(path)}
	if err := errors.Join(j.hold(), j.prove()); err != nil {
		j.Close()
		_ = os.Remove(path) // ours, and empty
		return nil, err
	}
	return j, nil
}

// roomProbe is how many bytes are written to prove that the disk has room.
const roomProbe = 64 << 10

// prove writes something and takes it back.
func (j *Journal) prove() error {
	_, err := j.file.Write(make([]byte, roomProbe))
	if err = errors.Join(err, j.file.Sync(), j.file.Truncate(0)); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// hold locks the journal, so that two soaks never write one.
func (j *Journal) hold() error {
	ok, err := j.lock.TryLock()
	switch {
	case err != nil:
		return fmt.Errorf("journal lock: %w", err)
	case !ok:
		return fmt.Errorf("the journal %s is being written by another soak", j.path)
	}
	return nil
}

// GoOn opens a journal to go on with it and returns what happened so far, and which lines
// could not be read, such as one that a kill left torn: they are never overwritten.
func GoOn(path string) (*Journal, *History, []error, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("journal: %w", err)
	}
	j := &Journal{path: path, file: f, lock: flock.New(path)}
	h, skipped, err := j.goOn()
	if err != nil {
		j.Close()
		return nil, nil, nil, err
	}
	return j, h, skipped, nil
}

func (j *Journal) goOn() (h *History, skipped []error, err error) {
	if info, err := j.file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("the journal %s is no regular file", j.path)
	}
	if err := j.hold(); err != nil {
		return nil, nil, err
	}
	if h, skipped, err = Read(j.file); err != nil {
		return nil, nil, err
	}
	return h, skipped, j.mend()
}

// mend ends a torn last line with a line break.
func (j *Journal) mend() error {
	end, err := j.file.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	j.end = end
	last := make([]byte, 1)
	if end > 0 {
		if _, err := j.file.ReadAt(last, end-1); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		if last[0] != '\n' {
			return j.write([]byte{'\n'})
		}
	}
	return nil
}

// Path returns where it is.
func (j *Journal) Path() string { return j.path }

// Append writes an entry as one line and syncs it. A write that fails half-way is taken back.
func (j *Journal) Append(e Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return j.write(append(line, '\n'))
}

func (j *Journal) write(b []byte) error {
	if _, err := j.file.Write(b); err != nil {
		return errors.Join(fmt.Errorf("journal: %w", err), j.file.Truncate(j.end))
	}
	j.end += int64(len(b))
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// Close lets go of the file.
func (j *Journal) Close() {
	_ = j.file.Close() // each line was synced
	_ = j.lock.Close()
}

// maxLine bounds a line: a round has some ten thousand bytes, with all that checks can find
// a million.
const maxLine = 4 << 20

// LineError is a line of a journal that was not read.
type LineError struct {
	Line int
	// Torn says that the file ends in the middle of it.
	Torn bool
	Err  error
}

// Error names the line and the reason.
func (e *LineError) Error() string {
	if e.Torn {
		return fmt.Sprintf("line %d is torn (the file ends inside it), skipped", e.Line)
	}
	return fmt.Sprintf("line %d skipped: %v", e.Line, e.Err)
}

// Unwrap returns the reason.
func (e *LineError) Unwrap() error { return e.Err }

// maxSkipped bounds the lines that are told of one by one.
const maxSkipped = 20

// Read adds up the entries of a journal. Lines that cannot be read are skipped and told; the
// first one must be the beginning of a soak.
func Read(r io.Reader) (h *History, skipped []error, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	h = &History{}
	for n := 1; ; n++ {
		line, whole, err := readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, fmt.Errorf("read the journal: %w", err)
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if problem := h.addLine(line, n, whole); problem != nil {
				if len(skipped) < maxSkipped {
					skipped = append(skipped, problem)
				}
				if h.begun.Run == "" {
					return nil, nil, fmt.Errorf("this is no journal of a soak: %w", problem)
				}
			}
		}
		if err != nil {
			break
		}
	}
	if h.begun.Run == "" {
		return nil, nil, errors.New("this is no journal of a soak: it is empty")
	}
	return h, skipped, nil
}

func (h *History) addLine(line []byte, n int, whole bool) error {
	switch {
	case len(line) > maxLine:
		return &LineError{Line: n, Err: errors.New("it is longer than any of a journal")}
	case !whole:
		return &LineError{Line: n, Torn: true, Err: io.ErrUnexpectedEOF}
	}
	var e Entry
	err := json.Unmarshal(line, &e)
	if err == nil {
		err = h.Add(e)
	}
	if err != nil {
		return &LineError{Line: n, Err: err}
	}
	return nil
}

// readLine reads up to a line break. Of a line above maxLine it keeps maxLine+1 bytes and
// reads over the rest. whole is false when the file ended first.
func readLine(in *bufio.Reader) (line []byte, whole bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if room := maxLine + 1 - len(line); room > 0 {
			line = append(line, part[:min(len(part), room)]...)
		}
		switch {
		case err == nil:
			return line[:max(0, len(line)-1)], true, nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		default:
			return line, false, err
		}
	}
}
