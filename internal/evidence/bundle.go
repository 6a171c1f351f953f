package evidence

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"infbench/gates"
	"infbench/internal/escapes"
)

// Schema names the form of a bundle.
const Schema = "infbench.evidence/v1"

// Bundle is the evidence of one verdict. The zero Bundle is none and is not written.
type Bundle struct {
	run, command, harness string
	written               time.Time
	model                 string
	ledger                gates.Ledger
	dropped               int
	exchanges             []Exchange
}

// Parts are the parts of a [Bundle].
type Parts struct {
	// Run is the id of the run, Command what was run, Harness the version that ran it.
	Run, Command, Harness string
	Written               time.Time
	// Model is the name under which the model was asked, as it stands in the requests.
	Model   string
	Subject gates.Subject
	Verdict gates.Verdict
	// Exchanges are in order; Dropped are missing in the middle.
	Exchanges []Exchange
	Dropped   int
}

// ErrNothing says that a check left nothing that could be kept: it asked nothing, or
// nothing was there to be asked.
var ErrNothing = errors.New("no exchange to keep")

var runID = regexp.MustCompile(`^\d{8}T\d{6}Z-[0-9a-f]{8}$`)

// New returns the bundle of a verdict, every text of its exchanges passed through redact.
// The verdict and the subject are as they stand in a record: they have been through it.
func New(p Parts, redact func(string) string) (Bundle, error) {
	if len(p.Exchanges) == 0 {
		return Bundle{}, ErrNothing
	}
	for _, text := range []*string{&p.Command, &p.Harness, &p.Model} {
		*text = escapes.Hide(*text, redact)
	}
	list := make([]Exchange, len(p.Exchanges))
	for i, x := range p.Exchanges {
		list[i] = x.redacted(redact)
	}
	p.Exchanges = list
	return newBundle(p)
}

// newBundle is New for parts that have been redacted.
func newBundle(p Parts) (Bundle, error) {
	ledger, err := gates.NewLedger(p.Subject, []string{p.Verdict.Check()}, []gates.Verdict{p.Verdict}, nil)
	if err != nil {
		return Bundle{}, err
	}
	return bundleOf(p, ledger)
}

func bundleOf(p Parts, ledger gates.Ledger) (Bundle, error) {
	switch {
	case !runID.MatchString(p.Run):
		return Bundle{}, fmt.Errorf("%s is no run's id", gates.Quote(p.Run, 40))
	case len(ledger.Verdicts()) != 1:
		return Bundle{}, fmt.Errorf("evidence of %d verdicts: want that of one", len(ledger.Verdicts()))
	case len(p.Exchanges) == 0 || len(p.Exchanges) > maxExchanges:
		return Bundle{}, fmt.Errorf("%d exchanges: want 1 to %d", len(p.Exchanges), maxExchanges)
	case p.Dropped < 0:
		return Bundle{}, fmt.Errorf("%d exchanges were dropped", p.Dropped)
	}
	for i, x := range p.Exchanges {
		if err := x.check(); err != nil {
			return Bundle{}, fmt.Errorf("exchange %d: %w", i+1, err)
		}
		switch {
		case x.Number != i+1:
			return Bundle{}, fmt.Errorf("exchange %d has the number %d", i+1, x.Number)
		case i > 0 && x.Began < p.Exchanges[i-1].Began:
			return Bundle{}, fmt.Errorf("exchange %d began before the one before it", i+1)
		}
	}
	return Bundle{
		run: p.Run, command: short(p.Command), harness: short(p.Harness), written: p.Written.UTC().Truncate(time.Second),
		model: p.Model, ledger: ledger, dropped: p.Dropped, exchanges: p.Exchanges,
	}, nil
}

func short(s string) string { return s[:min(len(s), maxName)] }

// longest bounds every time in a bundle.
const longest = 30 * 24 * time.Hour

// check returns what an exchange cannot be.
func (x Exchange) check() error {
	t := x.Answer.Timing
	times := []time.Duration{x.Began, t.Wrote, t.Headers, t.FirstEvent, t.FirstToken, t.FirstAnswer, t.LastToken, t.Ended, t.Dialled, t.Engine.Prefill, t.Engine.Decode, t.Engine.Queue.Or(0)}
	for _, m := range t.Marks {
		times = append(times, m.At)
	}
	if f := x.Answer.Failure; f != nil {
		times = append(times, f.RetryAfter)
	}
	for _, d := range times {
		if d < 0 || d > longest {
			return fmt.Errorf("a time of %v", d)
		}
	}
	if x.HangUp < 0 {
		return fmt.Errorf("dropped after %d events", x.HangUp)
	}
	return nil
}

// IsZero reports whether the bundle is none.
func (b Bundle) IsZero() bool { return b.run == "" }

// Verdict returns the verdict that the evidence is of.
func (b Bundle) Verdict() gates.Verdict { return b.ledger.Verdicts()[0] }

// Subject returns what the verdict is about.
func (b Bundle) Subject() gates.Subject { return b.ledger.Subject() }

// Run returns the id of the run, Command what was run, Harness the version that ran it.
func (b Bundle) Run() string { return b.run }

// Command returns the command that was run.
func (b Bundle) Command() string { return b.command }

// Harness returns the version of infbench that ran it.
func (b Bundle) Harness() string { return b.harness }

// Written returns when the bundle was written, to the second.
func (b Bundle) Written() time.Time { return b.written }

// Model returns the name under which the model was asked.
func (b Bundle) Model() string { return b.model }

// Dropped returns how many exchanges are missing in the middle.
func (b Bundle) Dropped() int { return b.dropped }

// Exchanges returns a copy of the list of exchanges.
func (b Bundle) Exchanges() []Exchange { return slices.Clone(b.exchanges) }

// FileName returns the name of the bundle's file, which no other one has.
func (b Bundle) FileName() string {
	return strings.ReplaceAll(b.Verdict().Check(), "/", ".") + "-" + b.run + suffix
}

const suffix = ".json.gz"
