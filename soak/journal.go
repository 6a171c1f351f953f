package soak

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"infbench/internal/lines"
)

// Journal is the file of a soak: a line for each event, synced before the next thing is
// asked. It is locked while a soak writes it.
type Journal struct {
	path string
	file *os.File
	lock *flock.Flock
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
	if err := errors.Join(lines.Hold(j.lock, "soak"), j.prove()); err != nil {
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
	if err := lines.Hold(j.lock, "soak"); err != nil {
		return nil, nil, err
	}
	if h, skipped, err = Read(j.file); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", j.path, err)
	}
	return h, skipped, nil
}

// Path returns where it is.
func (j *Journal) Path() string { return j.path }

// Append writes an entry as one line and syncs it. A line that a kill left torn is ended first,
// and a write that fails half-way is taken back.
func (j *Journal) Append(e Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := lines.Append(j.file, append(line, '\n')); err != nil {
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

// maxSkipped bounds the lines that are told of one by one.
const maxSkipped = 20

// Read adds up the entries of a journal. Lines that cannot be read are skipped and told; the
// first one must be the beginning of a soak.
func Read(r io.Reader) (h *History, skipped []error, err error) {
	h = &History{}
	for line, err := range lines.Each(r, maxLine) {
		var bad *lines.Error
		if err != nil && !errors.As(err, &bad) {
			return nil, nil, fmt.Errorf("read the journal: %w", err)
		}
		if err == nil {
			err = h.addLine(line)
		}
		if err == nil {
			continue
		}
		if len(skipped) < maxSkipped {
			skipped = append(skipped, err)
		}
		if h.begun.Run == "" {
			if errors.As(err, &bad) && !bad.Torn { // nothing is skipped: this is the end
				err = fmt.Errorf("line %d: %w", bad.Line, bad.Err)
			}
			return nil, nil, fmt.Errorf("no journal of a soak: %w", err)
		}
	}
	if h.begun.Run == "" {
		return nil, nil, errors.New("no journal of a soak: it is empty")
	}
	return h, skipped, nil
}

func (h *History) addLine(line lines.Line) error {
	var e Entry
	if err := json.Unmarshal(line.Text, &e); err != nil {
		return line.Bad(err)
	}
	if err := h.Add(e); err != nil {
		return line.Bad(err)
	}
	return nil
}
