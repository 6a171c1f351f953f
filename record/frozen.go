package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"infbench/gates"
)

// Frozen is a frozen workload as it was sent: what a baseline is a measurement of. The
// requests of the record's one level belong to its cells, see [Sample.Cell].
type Frozen struct {
	// Name is the suite's, Spec its canonical form, Hash the digest of that.
	Name string          `json:"name"`
	Spec json.RawMessage `json:"spec"`
	Hash string          `json:"spec_hash"`
	// Materialised is the digest of the prompts that came of it for the server's tokenizer.
	Materialised string `json:"materialised_hash"`
	Cells        []Cell `json:"cells"`
}

// Cell is one kind of request of a frozen workload.
type Cell struct {
	// PromptTokens were aimed at, TrueTokens is what the server counts; they differ where no
	// prompt of the wanted length was found.
	PromptTokens int `json:"prompt_tokens"`
	TrueTokens   int `json:"true_tokens"`
	MaxTokens    int `json:"max_tokens"`
	// Warm says that the prompt's beginning was sent right before, so that a prefix cache
	// holds it; Proven that the server's count of cached tokens bears that out, or that there
	// were none where the cell is cold. Without a count it is cold by its nonce alone.
	Warm   bool `json:"warm"`
	Proven bool `json:"proven"`
}

// maxCells bounds a frozen workload.
const maxCells = 256

func (f Frozen) check(level Level) error {
	if f.Name == "" || f.Hash == "" || f.Materialised == "" || len(f.Spec) == 0 || len(f.Spec) > 1<<16 || !json.Valid(f.Spec) {
		return errors.New("a frozen workload has a name, a spec and the digests of it and of its prompts")
	}
	if len(f.Cells) == 0 || len(f.Cells) > maxCells {
		return fmt.Errorf("%d cells: want 1 to %d", len(f.Cells), maxCells)
	}
	if level.arrival.Sessions() != 1 {
		return errors.New("a frozen workload is sent one request at a time")
	}
	for _, c := range f.Cells {
		if c.PromptTokens < 1 || c.TrueTokens < 1 || c.MaxTokens < 1 {
			return errors.New("a cell of a frozen workload is empty")
		}
	}
	for _, s := range level.samples {
		if s.Cell >= len(f.Cells) {
			return fmt.Errorf("a request of cell %d, where there are %d", s.Cell, len(f.Cells))
		}
	}
	return nil
}

// WithFrozen returns the measurements as those of a frozen workload: there is one level, and
// its figures are told by cell.
func (m Measurements) WithFrozen(f Frozen) (Measurements, error) {
	if len(m.levels) != 1 {
		return m, errors.New("a frozen workload is one level")
	}
	if m.levels[0].conduct.Mixed == "" {
		return m, errors.New("the level of a frozen workload has no figures of its own")
	}
	f.Name, f.Hash, f.Materialised = gates.Printable(f.Name, 80), gates.Printable(f.Hash, 80), gates.Printable(f.Materialised, 80)
	f.Cells, f.Spec = slices.Clone(f.Cells), slices.Clone(f.Spec)
	if err := f.check(m.levels[0]); err != nil {
		return m, err
	}
	m.frozen = &f
	return m, nil
}

// Repeat is one measured request of a cell.
type Repeat struct {
	// TTFT counts from sending, TPOT is (last-first)/(n-1), 0 where there was one token.
	TTFT, TPOT    time.Duration
	OutputTokens  int
	Prompt        gates.Count
	Cached        gates.Count
	Good          bool
	CodeIsMissing bool
}

// CellRepeats are the requests of a cell in the order of their repeats.
type CellRepeats struct {
	Cell
	Repeats []Repeat
}

// Baseline is a frozen workload with what was measured of it.
type Baseline struct {
	Frozen
	Measured []CellRepeats
	// Void says why nothing of it may be used.
	Void []string
}

// Baseline returns what a record of a frozen workload holds; false where it is none.
func (p PerfRecord) Baseline() (Baseline, bool) {
	f := p.measured.frozen
	if f == nil {
		return Baseline{}, false
	}
	level := p.measured.levels[0]
	b := Baseline{Frozen: *f, Void: slices.Clone(level.void)}
	for _, c := range f.Cells {
		b.Measured = append(b.Measured, CellRepeats{Cell: c})
	}
	for _, s := range level.samples {
		if s.Warmup {
			continue
		}
		r := Repeat{OutputTokens: s.OutputTokens, Prompt: s.PromptTokens, Cached: s.CachedTokens, Good: s.Outcome == OK, CodeIsMissing: s.Code == CodeMissing}
		if r.Good {
			r.TTFT = s.First - s.Sent
			r.TPOT, _ = tpot(s)
		}
		b.Measured[s.Cell].Repeats = append(b.Measured[s.Cell].Repeats, r)
	}
	return b, true
}
