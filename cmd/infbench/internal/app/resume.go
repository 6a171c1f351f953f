package app

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"infbench/gates"
	"infbench/record"
	"infbench/stages/performance"
)

// journals is what a run keeps while it measures, and what it goes on with.
type journals struct {
	past    *record.Journal // of the run that is gone on with, nil for none
	now     *record.Journal // that is written
	trouble string          // why nothing, or not all, is kept
	notes   []string        // of lines that could not be read
}

// openPast opens the journal that --resume names: nothing that was measured is read yet.
func (p *pipeline) openPast() (err error) {
	if path := p.ctx.String("resume"); path != "" {
		p.journals.past, err = record.OpenJournal(path, p.ses.redactor)
	}
	return err
}

// head says what is being measured, as far as it is known.
func (p *pipeline) head() (record.JournalHead, error) {
	c := p.ses.set.workload
	if path := p.ses.set.Performance.Tokenizer; path != "" {
		c.TokenizedBy = path // before it is loaded; the workload holds its fingerprint
	}
	h := record.JournalHead{Run: p.id, Began: p.start, Harness: harness(), Arrivals: p.ses.set.arrivals, Asked: p.ses.redactor.Text(c.Asked())}.ThisVersion()
	var err error
	if p.ses.isOpen() {
		h.Identity, err = p.identity()
	}
	return h, err
}

// agrees refuses to go on with the journal of another measurement, all reasons at once and
// before a gate is asked. Where the server is another process, what was measured is about
// that one and is not gone on with: all is measured anew.
func (p *pipeline) agrees(ctx context.Context) error {
	past := p.journals.past
	if past == nil {
		return nil
	}
	_, openErr := p.ses.open(ctx) // one that cannot be opened is told by the gates
	now, err := p.head()
	if err != nil {
		return err
	}
	if reasons := past.Head().Differences(now); reasons != nil {
		return fmt.Errorf("the journal %s is of another measurement: %s; give the command that it was begun with, or leave --resume out", past.Path(), strings.Join(reasons, "; "))
	}
	if restarted, _ := past.Head().Restarted(now.Identity); openErr == nil && restarted {
		fmt.Fprintf(p.c.err, "the server was restarted since %s was written: its levels are about another process and are not gone on with; all is measured anew\n", past.Path())
		past.Close()
		p.journals.past = nil
	}
	return nil
}

// keeping says where the measurement is kept: in the journal that is gone on with, or in a
// new one beside the record. Where there can be none the run goes on without.
func (p *pipeline) keeping(proof gates.GateSet, w record.Workload) (performance.Keeping, error) {
	h, err := p.head()
	if err != nil {
		return performance.Keeping{}, err
	}
	h.Workload = w
	if p.journals.past == nil {
		j, err := record.BeginJournal(p.store.Journal(), p.ses.redactor, proof, h)
		if err != nil {
			p.journals.trouble = "no journal is kept, so that this run cannot be gone on with: " + err.Error()
			return performance.Keeping{}, nil //nolint:nilerr // the run goes on without, and says so
		}
		p.journals.now = j
		return performance.Keeping{Journal: j}, nil
	}
	past := p.journals.past
	if reasons := past.Head().Differences(h); reasons != nil {
		return performance.Keeping{}, fmt.Errorf("the journal is of another measurement: %s", strings.Join(reasons, "; "))
	}
	restored, err := past.Restore(proof, p.id)
	if restored == nil {
		return performance.Keeping{}, err
	}
	p.journals.now, p.journals.past = past, nil
	for _, line := range restored.Skipped() {
		p.journals.notes = append(p.journals.notes, fmt.Sprintf("%s: %v", past.Path(), line))
	}
	return performance.Keeping{Journal: past, Restored: restored, Caveats: resumedCaveats(past.Head(), h.Identity, restored, p.start)}, nil
}

// resumedCaveats say what a reader must know of numbers from two sittings.
func resumedCaveats(h record.JournalHead, now record.Identity, r *record.Restored, start time.Time) []string {
	out := []string{fmt.Sprintf("resumed after a pause of %v: %d load points are of run %s, whose gates passed too, with prompts of seed %s",
		max(0, start.Sub(r.Last())).Round(time.Second), r.Steps(), h.Run, h.Workload.Seed)}
	if n := r.Unfinished(); n > 0 {
		out = append(out, fmt.Sprintf("resumed: %d requests of a load point that was not over at the pause enter no figure; it was measured anew", n))
	}
	if _, known := h.Restarted(now); !known {
		out = append(out, "resumed: the server does not tell when it started, so whether it is the process of before the pause is not known")
	}
	return out
}

// endJournals lets go of the journals: of one that stands in a record to its end nothing is
// left, of another is said how to go on.
func (p *pipeline) endJournals(w io.Writer, complete bool) {
	j := p.journals
	if j.past != nil {
		j.past.Close()
	}
	if j.now != nil && j.trouble == "" {
		if err := j.now.Lost(); err != nil {
			j.trouble = "the journal could not be written to its end: " + err.Error()
		}
	}
	for _, text := range append(j.notes, j.trouble) {
		if text != "" {
			fmt.Fprintf(w, "infbench: %s\n", gates.Printable(p.ses.redactor.Text(text), 0))
		}
	}
	switch {
	case j.now == nil:
	case complete:
		j.now.Discard()
	default:
		j.now.Close()
		if p.ses.set.quiet {
			return
		}
		fmt.Fprintf(w, "to go on where it ended: the same command with --resume %s\n", shellWord(j.now.Path()))
	}
}
