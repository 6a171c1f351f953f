package record

import (
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

	"infbench/internal/lines"
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
	path, draft, journal string
}

// Open prepares the file at path for the run of that id and proves, before any load
// starts, that it can be written: the folder is made, the file is opened for
// appending and a draft is laid beside it.
func Open(path, id string) (*Store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("record folder: %w", err)
	}
	_, absent := os.Lstat(path)
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
	base := strings.TrimSuffix(path, ".jsonl") + "." + id
	s := &Store{path: path, draft: base + ".unfinished.jsonl", journal: base + ".journal"}
	if err := s.lay(make([]byte, draftProbe)); err != nil {
		s.Discard()
		if absent != nil {
			_ = s.Remove() // ours, and empty
		}
		return nil, err
	}
	s.Discard()
	return s, nil
}

// draftProbe is how many bytes are written to prove that the disk has room.
const draftProbe = 64 << 10

// Path returns the record file's path.
func (s *Store) Path() string { return s.path }

// Journal returns where the run's journal lies.
func (s *Store) Journal() string { return s.journal }

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
	if err := lines.Append(f, line); err != nil {
		return fmt.Errorf("append to record file: %w", err)
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
type LineError = lines.Error

// Read yields the runs of a record file in order. A line that cannot be read yields
// a [*LineError] and the reading goes on; an error of the reader ends it.
func Read(r io.Reader) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		for line, err := range lines.Each(r, maxLine) {
			var bad *LineError
			var run Run
			switch {
			case err == nil:
				if err = json.Unmarshal(line.Text, &run); err != nil {
					run, err = Run{}, line.Bad(err)
				}
			case !errors.As(err, &bad):
				err = fmt.Errorf("read record file: %w", err)
			}
			if !yield(run, err) {
				return
			}
		}
	}
}
