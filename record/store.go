package record

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// NewRunID returns a new run's id: its start and a random part.
func NewRunID(start time.Time) string {
	var b [4]byte
	_, _ = rand.Read(b[:])
	return start.UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(b[:])
}

// Store appends runs to one record file. Until the run has ended its draft lies
// beside the file, so that what was measured survives a crash or a kill.
type Store struct {
	path, draft string
}

// Open prepares the file at path for the run of that id and proves, before any load
// starts, that it can be written: the folder is made, the file is opened for
// appending and a draft is laid beside it.
func Open(path, id string) (*Store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("record folder: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("record file: %w", err)
	}
	info, err := f.Stat()
	_ = f.Close()
	if err != nil {
		return nil, fmt.Errorf("record file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("record file %s is not a regular file", path)
	}
	s := &Store{path: path, draft: strings.TrimSuffix(path, ".jsonl") + "." + id + ".unfinished.jsonl"}
	if err := s.lay(make([]byte, draftProbe)); err != nil {
		s.Discard()
		return nil, err
	}
	s.Discard()
	return s, nil
}

// draftProbe is how many bytes are written to prove that the disk has room.
const draftProbe = 64 << 10

// Path returns the record file's path.
func (s *Store) Path() string { return s.path }

// Remove removes the record file where it is still empty: for a file that was opened
// only to find out whether it can be.
func (s *Store) Remove() error {
	info, err := os.Stat(s.path)
	if err != nil || info.Size() > 0 {
		return err
	}
	return os.Remove(s.path)
}

// Draft lays the run so far beside the record file, in one rename. The draft is a
// valid record file of its own.
func (s *Store) Draft(r Run) error {
	line, err := lineOf(r)
	if err != nil {
		return err
	}
	return s.lay(line)
}

func (s *Store) lay(content []byte) error {
	tmp := s.draft + ".tmp"
	err := func() error {
		f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		_, err = f.Write(content)
		return errors.Join(err, f.Sync(), f.Close())
	}()
	if err == nil {
		err = os.Rename(tmp, s.draft)
	}
	if err != nil {
		_ = os.Remove(tmp)
		return fmt.Errorf("record draft: %w", err)
	}
	return nil
}

// Discard removes the draft.
func (s *Store) Discard() { _ = os.Remove(s.draft) }

// Append writes the run as one line under a lock, syncs it and removes the draft.
// A line that an earlier crash left torn is closed with a line break first and never
// overwritten; a write that fails half-way is taken back, and the draft stays.
func (s *Store) Append(r Run) error {
	line, err := lineOf(r)
	if err != nil {
		return err
	}
	lock := flock.New(s.path + ".lock")
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("record lock: %w", err)
	}
	defer func() { _ = lock.Unlock() }()
	if err := appendLine(s.path, line); err != nil {
		if draftErr := s.lay(line); draftErr == nil {
			return fmt.Errorf("%w; the run is kept in %s", err, s.draft)
		}
		return err
	}
	s.Discard()
	return nil
}

func appendLine(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644)
	if err != nil {
		return fmt.Errorf("append to record file: %w", err)
	}
	defer func() { _ = f.Close() }()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("append to record file: %w", err)
	}
	if end > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, end-1); err != nil {
			return fmt.Errorf("append to record file: %w", err)
		}
		if last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	if _, err := f.Write(line); err != nil {
		return errors.Join(fmt.Errorf("append to record file: %w", err), f.Truncate(end))
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync record file: %w", err)
	}
	return nil
}

func lineOf(r Run) ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

// maxLine bounds a line of a record file; a sweep of 100,000 requests has 15 MB.
const maxLine = 256 << 20

// LineError is a line of a record file that was not read.
type LineError struct {
	Line int
	// Torn says that the file ends in the middle of this line.
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

// Read yields the runs of a record file in order. A line that cannot be read yields
// a [*LineError] and the reading goes on; an error of the reader ends it.
func Read(r io.Reader) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		in := bufio.NewReaderSize(r, 1<<16)
		for n := 1; ; n++ {
			line, whole, err := readLine(in)
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Run{}, fmt.Errorf("read record file: %w", err))
				return
			}
			if len(line) > 0 && strings.TrimSpace(string(line[:min(len(line), 64)])) != "" {
				run, problem := parseLine(line, n, whole)
				if !yield(run, problem) {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
}

func parseLine(line []byte, n int, whole bool) (Run, error) {
	if len(line) > maxLine {
		return Run{}, &LineError{Line: n, Err: errors.New("it is longer than any record")}
	}
	if !whole {
		return Run{}, &LineError{Line: n, Torn: true, Err: io.ErrUnexpectedEOF}
	}
	var run Run
	if err := json.Unmarshal(line, &run); err != nil {
		return Run{}, &LineError{Line: n, Err: err}
	}
	return run, nil
}

// readLine reads up to a line break. Of a line above maxLine it keeps maxLine+1
// bytes and reads over the rest. whole is false when the file ended first.
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
