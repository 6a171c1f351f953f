package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/gofrs/flock"

	"infbench/gates"
	"infbench/internal/lines"
)

// OpenJournal opens a journal to go on with it, and reads its head: nothing that was
// measured, which takes the proof ([Journal.Restore]).
func OpenJournal(path string, r *Redactor) (*Journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	j := &Journal{path: path, file: f, lock: flock.New(path), seals: r}
	if err := j.open(); err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

// mostHead bounds the head: it lists the levels.
const mostHead = 4 << 20

func (j *Journal) open() error {
	info, err := j.file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return fmt.Errorf("the journal %s is no regular file", j.path)
	}
	if err := lines.Hold(j.lock, "run"); err != nil {
		return err
	}
	j.size = info.Size()
	for line, err := range lines.Each(j.file, mostHead) {
		var w journalWire
		if err == nil {
			err = json.Unmarshal(line.Text, &w)
		}
		switch {
		case err != nil:
			return fmt.Errorf("%s is no journal of a measurement: %w", j.path, err)
		case w.Schema != journalSchema:
			return fmt.Errorf("%s is no journal that this version reads: its schema is %.40q, not %s", j.path, w.Schema, journalSchema)
		}
		if err := json.Unmarshal(w.Begun, &j.head); err != nil {
			return fmt.Errorf("%s is no journal of a measurement: %w", j.path, err)
		}
		j.bound = boundTo(w.Begun)
		if _, ok := j.seals.Unseal(j.bound, w.Seal); !ok {
			return fmt.Errorf("the journal %s was sealed on another machine, with another key, or its head was changed: nothing of it can be read here", j.path)
		}
		if err := j.head.check(); err != nil {
			return fmt.Errorf("%s is no journal of a measurement: %w", j.path, err)
		}
		return nil
	}
	return fmt.Errorf("%s is no journal of a measurement: it is empty", j.path)
}

// Restored are the load points that had ended when a journal was left. Like measurements they
// have no mouth.
type Restored struct {
	steps   map[string]restoredStep
	samples map[string]int
	last    time.Time
	skipped []error
}

type restoredStep struct {
	level Level
	facts []byte
}

// maxSkipped bounds the lines that are told of one by one.
const maxSkipped = 20

// Restore reads what had been measured, for a run whose gates have passed again, about the
// same subject; an [*UngatedResultError] otherwise. The journal then goes on with the run of
// that id.
func (j *Journal) Restore(g gates.GateSet, run string) (*Restored, error) {
	switch {
	case !g.Satisfied():
		return nil, &UngatedResultError{Reason: "what a journal holds needs a satisfied gate set"}
	case g.Subject() != j.head.Identity.Subject():
		return nil, &UngatedResultError{Reason: "the gates are about another subject than the journal: " + j.head.Identity.Subject().Difference(g.Subject())}
	}
	if _, err := j.file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	out := &Restored{steps: map[string]restoredStep{}, samples: map[string]int{}}
	for line, err := range lines.Each(j.file, maxLine) {
		var bad *LineError
		if err != nil && !errors.As(err, &bad) {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		if err == nil && line.N > 1 {
			err = j.restore(out, line)
		}
		if err != nil && len(out.skipped) < maxSkipped {
			out.skipped = append(out.skipped, err)
		}
	}
	return out, j.append(journalWire{Resumed: &resumed{run, time.Now().UTC().Truncate(time.Millisecond)}})
}

func (j *Journal) restore(out *Restored, line lines.Line) error {
	var w journalWire
	if err := json.Unmarshal(line.Text, &w); err != nil {
		return line.Bad(err)
	}
	var at time.Time
	switch {
	case w.Sample != "":
		var s struct {
			At time.Time `json:"at"`
		}
		if err := j.unseal("sample", w.Step, w.Sample, &s); err != nil {
			return line.Bad(err)
		}
		out.samples[w.Step]++
		at = s.At
	case w.Done != "":
		var s sealedStep
		if err := j.unseal("done", w.Step, w.Done, &s); err != nil {
			return line.Bad(err)
		}
		level, err := decodeLevel(s.Level)
		if err != nil {
			return line.Bad(err)
		}
		out.steps[w.Step] = restoredStep{level, s.Facts}
		at = s.At
	case w.Resumed != nil:
		at = w.Resumed.Time
	default:
		return line.Bad(errors.New("it is of no kind that a journal has"))
	}
	if at.After(out.last) {
		out.last = at
	}
	return nil
}

func (j *Journal) unseal(kind, step, sealed string, into any) error {
	content, ok := j.seals.Unseal(j.about(kind, step), sealed)
	if !ok {
		return errors.New("its seal is broken, or of another journal")
	}
	return json.Unmarshal(content, into)
}

// Step returns a load point that had ended, and what its measurer knew besides.
func (r *Restored) Step(name string) (l Level, facts []byte, ok bool) {
	if r == nil {
		return Level{}, nil, false
	}
	s, ok := r.steps[name]
	return s.level, s.facts, ok
}

// Steps returns how many load points had ended.
func (r *Restored) Steps() int { return len(r.steps) }

// Unfinished returns the number of requests of load points that had not ended. They stay in
// the journal and enter no figure.
func (r *Restored) Unfinished() int {
	n := 0
	for step, samples := range r.samples {
		if _, ended := r.steps[step]; !ended {
			n += samples
		}
	}
	return n
}

// Last returns when the journal was written to last.
func (r *Restored) Last() time.Time { return r.last }

// Skipped returns the lines that could not be read.
func (r *Restored) Skipped() []error { return r.skipped }

// MarshalJSON always refuses, like that of [Measurements].
func (r *Restored) MarshalJSON() ([]byte, error) {
	return nil, &UngatedResultError{Reason: "what a journal holds is written by a performance record only"}
}

// Format prints the same words for every verb.
func (r *Restored) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "a journal's levels") }
