package record

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"infbench/gates"
	"infbench/internal/lines"
)

// Journal is the file of a measurement that goes on: a line for each request as it ends, and
// one for each load point as it ends. What was measured survives a kill in it, and a run that
// goes on with it measures only what is left.
//
// A sample on its own is a number without its verdicts, so every line is sealed (see the
// decision on changes and speeds), bound to the head of its journal: only the machine that
// measured can read it, and only [Journal.Restore] does, which wants the proof again. A
// journal is written by one process at a time. It is safe for concurrent use.
type Journal struct {
	path  string
	file  *os.File
	lock  *flock.Flock
	seals *Redactor
	head  JournalHead
	bound string // what every seal of the journal is about

	mu   sync.Mutex
	size int64
	lost error
}

const journalSchema = "infbench.journal/v1"

// journalWire is a line: the head, a sample or an ended load point, or a sitting that went on.
type journalWire struct {
	Schema  string          `json:"schema,omitempty"`
	Begun   json.RawMessage `json:"begun,omitempty"`
	Step    string          `json:"step,omitempty"`
	Sample  string          `json:"sample,omitempty"`
	Done    string          `json:"done,omitempty"`
	Resumed *resumed        `json:"resumed,omitempty"`
	// Seal proves to the machine that wrote the head that nobody else did.
	Seal string `json:"seal,omitempty"`
}

type resumed struct {
	Run  string    `json:"run"`
	Time time.Time `json:"time"`
}

// sealedSample and sealedStep are what stands in the seals. At is the wall clock's time: how
// long a pause was follows from it.
type sealedSample struct {
	At  time.Time `json:"at"`
	Row []any     `json:"row"`
}

type sealedStep struct {
	At    time.Time       `json:"at"`
	Level json.RawMessage `json:"level"`
	Facts json.RawMessage `json:"facts"`
}

// BeginJournal makes the journal of a measurement that these gates allow, and proves that it
// can be written and that it is about the same subject.
func BeginJournal(path string, r *Redactor, g gates.GateSet, h JournalHead) (*Journal, error) {
	h, err := h.vouched(g)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("journal folder: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	j := &Journal{path: path, file: f, lock: flock.New(path), seals: r, head: h}
	if err := j.begin(); err != nil {
		j.Discard() // ours, and empty
		return nil, err
	}
	return j, nil
}

func (j *Journal) begin() error {
	if err := lines.Hold(j.lock, "run"); err != nil {
		return err
	}
	begun, err := json.Marshal(j.head)
	if err != nil {
		return err
	}
	j.bound = boundTo(begun)
	return j.append(journalWire{Schema: journalSchema, Begun: begun, Seal: j.seals.Seal(j.bound, nil)})
}

// boundTo is what the seals of a journal with that head are about: a line of another journal,
// or of one whose head was changed, cannot be read.
func boundTo(head []byte) string {
	sum := sha256.Sum256(head)
	return journalSchema + " " + hex.EncodeToString(sum[:])
}

func (j *Journal) about(kind, step string) string { return j.bound + " " + kind + " " + step }

// append writes a line and syncs it.
func (j *Journal) append(w journalWire) error {
	line, err := json.Marshal(w)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.lost != nil {
		return j.lost
	}
	if err := lines.Append(j.file, append(line, '\n')); err != nil {
		j.lost = fmt.Errorf("journal: %w", err)
		return j.lost
	}
	j.size, err = j.file.Seek(0, io.SeekEnd)
	return err
}

// Sample keeps a request of a load point. It is not synced: a kill loses nothing of it, a
// loss of power may. Nothing is kept after the first error, see [Journal.Lost].
func (j *Journal) Sample(step string, s Sample) {
	content, err := json.Marshal(sealedSample{time.Now().UTC(), s.row(j.head.Columns)})
	if err != nil {
		return // plain numbers and a word
	}
	line, err := json.Marshal(journalWire{Step: step, Sample: j.seals.Seal(j.about("sample", step), content)})
	if err != nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.lost != nil {
		return
	}
	n, err := j.file.Write(append(line, '\n'))
	if err != nil { // half a line is taken back
		j.lost = fmt.Errorf("journal: %w", errors.Join(err, j.file.Truncate(j.size)))
		return
	}
	j.size += int64(n)
}

// Done keeps a load point that has ended, with what its measurer knows besides.
func (j *Journal) Done(step string, l Level, facts []byte) error {
	level, err := l.encode()
	if err != nil {
		return err
	}
	content, err := json.Marshal(sealedStep{time.Now().UTC(), level, facts})
	if err != nil {
		return err
	}
	return j.append(journalWire{Step: step, Done: j.seals.Seal(j.about("done", step), content)})
}

// Lost returns why nothing is kept any more, nil where all is.
func (j *Journal) Lost() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.lost
}

// Path returns where it is, Head what it says of itself.
func (j *Journal) Path() string { return j.path }

// Head returns what the journal says of itself.
func (j *Journal) Head() JournalHead { return j.head }

// Close lets go of the file.
func (j *Journal) Close() {
	_ = j.file.Close()
	_ = j.lock.Close()
}

// Discard lets go of the file and removes it: all of it stands in a record.
func (j *Journal) Discard() {
	_ = os.Remove(j.path)
	j.Close()
}
