package gates

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// A Verdict is a finding under its check's name. Inside the program only [Run]
// and [Unasked] make one; a [Ledger] reads them back from a record.
type Verdict struct {
	check   string
	finding Finding
	took    time.Duration
}

// Unasked returns the verdict of a check that nobody could put to its subject,
// such as every check of a stage that was given nothing to look at.
func Unasked(checkID, why string) Verdict {
	return Verdict{check: checkID, finding: Skip("%s", why)}
}

// Check returns the id of the check.
func (v Verdict) Check() string { return v.check }

// Stage returns the stage of the check.
func (v Verdict) Stage() Stage { s, _ := StageOf(v.check); return s }

// Status returns the outcome.
func (v Verdict) Status() Status { return v.finding.status }

// Summary returns the finding in one line, safe to print.
func (v Verdict) Summary() string { return v.finding.summary }

// Evidence returns a copy of what was seen, safe to print.
func (v Verdict) Evidence() []string { return clone(v.finding.evidence) }

// Causes returns a copy of the likely causes, likeliest first.
func (v Verdict) Causes() []string { return clone(v.finding.causes) }

// Next returns a copy of the commands to run next.
func (v Verdict) Next() []string { return clone(v.finding.next) }

// Then returns the verdict with one more command to run next.
func (v Verdict) Then(next string) Verdict {
	v.finding.next = appendBounded(v.finding.next, Printable(next, maxSummaryRunes), maxCauses)
	return v
}

// Condition returns what it takes for the server to be wrong, 0 where it was not told apart.
func (v Verdict) Condition() Condition { return v.finding.when }

// Grid returns the picture of the answers, the zero Grid where there is none.
func (v Verdict) Grid() Grid { return v.finding.grid }

// Took returns how long the check ran.
func (v Verdict) Took() time.Duration { return v.took }

// Redacted returns the verdict with every text passed through f, which replaces
// secrets and host names. The result is made printable again.
func (v Verdict) Redacted(f func(string) string) Verdict {
	w := v.finding.wire()
	w.Summary = f(w.Summary)
	for _, list := range []*[]string{&w.Evidence, &w.Causes, &w.Next} {
		out := clone(*list)
		for i, s := range out {
			out[i] = f(s)
		}
		*list = out
	}
	v.finding = w.finding()
	return v
}

type verdictWire struct {
	Check string `json:"check"`
	findingWire
	TookMS int64 `json:"took_ms"`
}

// MarshalJSON refuses a verdict without an outcome.
func (v Verdict) MarshalJSON() ([]byte, error) {
	return json.Marshal(verdictWire{v.check, v.finding.wire(), v.took.Milliseconds()})
}

func (w verdictWire) verdict() (Verdict, error) {
	if _, err := StageOf(w.Check); err != nil {
		return Verdict{}, err
	}
	if w.Status == 0 {
		return Verdict{}, fmt.Errorf("the verdict of %s has no status", w.Check)
	}
	if w.TookMS < 0 || w.TookMS > math.MaxInt64/int64(time.Millisecond) {
		return Verdict{}, fmt.Errorf("the verdict of %s took %d ms", w.Check, w.TookMS)
	}
	return Verdict{w.Check, w.finding(), time.Duration(w.TookMS) * time.Millisecond}, nil
}
