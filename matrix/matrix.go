// Package matrix turns records into the pass/fail table of image by checkpoint. The
// one rule: it computes nothing that a record does not hold, and a cell is never
// blank without a reason.
package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"infbench/gates"
	"infbench/record"
)

// Builder gathers runs; of each image and checkpoint it keeps the latest. Its memory
// grows with the cells, not with the runs.
type Builder struct {
	cells map[[2]string]Cell
}

// NewBuilder returns an empty builder.
func NewBuilder() *Builder { return &Builder{cells: map[[2]string]Cell{}} }

// Cell is what the latest run of one image on one checkpoint came to.
type Cell struct {
	// Image names the row: engine, build, image digest, accelerator. Checkpoint names
	// the column.
	Image      string `json:"image"`
	Checkpoint string `json:"checkpoint"`
	// Outcome is passed, warned, failed, or incomplete.
	Outcome string `json:"outcome"`
	// Why names the check or the reason that decided, "" when all passed.
	Why string `json:"why,omitempty"`
	// Stages holds each stage's outcome in words, stage 0 first; "" when the stage was
	// not part of the run.
	Stages [5]string `json:"stages"`
	// Measured says that the run holds gated numbers.
	Measured bool      `json:"measured"`
	Run      string    `json:"run"`
	Started  time.Time `json:"started"`
	Runs     int       `json:"runs"`
}

// Add takes a run into account.
func (b *Builder) Add(r record.Run) {
	if r.IsZero() {
		return
	}
	c := cellOf(r)
	key := [2]string{c.Image, c.Checkpoint}
	old, ok := b.cells[key]
	c.Runs = old.Runs + 1
	if ok && old.Started.After(c.Started) {
		old.Runs = c.Runs
		c = old
	}
	b.cells[key] = c
}

func cellOf(r record.Run) Cell {
	p := r.Parts()
	id := p.Identity.Parts()
	c := Cell{Image: imageOf(id), Checkpoint: checkpointOf(id), Run: p.ID, Started: p.Started}
	_, c.Measured = r.Performance()
	c.Outcome = "passed"
	for _, s := range gates.Stages() {
		status, why, ok := p.Ledger.Outcome(s)
		if !ok {
			continue
		}
		c.Stages[s] = strings.ReplaceAll(status.String(), "_", " ")
		notRun := strings.HasPrefix(why, "not run: ")
		switch {
		case status == gates.Failed:
			c.Outcome, c.Why = "failed", fmt.Sprintf("stage %d: %s", s, why)
		case notRun:
			c.Stages[s] = why
		case (status == gates.Warned || status == gates.Skipped) && c.Outcome == "passed":
			c.Outcome, c.Why = "warned", fmt.Sprintf("stage %d: %s", s, why)
		}
	}
	if !p.Ending.Complete && c.Outcome != "failed" {
		c.Outcome, c.Why = "incomplete", p.Ending.Cause
	}
	return c
}

func imageOf(id record.IdentityParts) string {
	parts := []string{value(id.Engine, "unknown engine")}
	if v, ok := id.Build.Value(); ok {
		parts = append(parts, v)
	}
	if v, ok := id.Image.Value(); ok {
		v = strings.TrimPrefix(v, "sha256:")
		parts = append(parts, v[:min(len(v), 12)])
	} else {
		parts = append(parts, "image unknown")
	}
	return strings.Join(append(parts, value(id.Accelerator, "accelerator unknown")), " · ")
}

func checkpointOf(id record.IdentityParts) string {
	if v, ok := id.Checkpoint.Value(); ok {
		return v
	}
	if id.Model != "" {
		return id.Model + " (as served)"
	}
	return "unknown checkpoint"
}

func value(p record.Part, absent string) string {
	if v, ok := p.Value(); ok {
		return v
	}
	return absent
}

// Matrix is the finished table.
type Matrix struct {
	images, checkpoints []string
	cells               map[[2]string]Cell
}

// Matrix returns the table of what was added so far.
func (b *Builder) Matrix() Matrix {
	m := Matrix{cells: map[[2]string]Cell{}}
	for key, c := range b.cells {
		m.cells[key] = c
		m.images = append(m.images, key[0])
		m.checkpoints = append(m.checkpoints, key[1])
	}
	slices.Sort(m.images)
	slices.Sort(m.checkpoints)
	m.images, m.checkpoints = slices.Compact(m.images), slices.Compact(m.checkpoints)
	return m
}

// Cells returns the cells, row by row.
func (m Matrix) Cells() []Cell {
	var out []Cell
	for _, c := range m.cells {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.Image, b.Image), cmp.Compare(a.Checkpoint, b.Checkpoint))
	})
	return out
}
