package performance

import (
	"strings"
	"testing"

	"infbench/arrival"
	"infbench/gates"
	"infbench/record"
	"infbench/record/recordtest"
)

// A rate beyond the server ends the sweep and has no figures; it is a warning only where
// nothing below it was measured.
func TestMoreThanTheServerCanTake(t *testing.T) {
	t.Parallel()
	m, err := arrival.Poisson(5, "s")
	if err != nil {
		t.Fatal(err)
	}
	fine := levelResult{arrival: m, issued: 9, good: 9}
	full := fine
	full.saturated = "60 of 80 requests were under way"
	for name, c := range map[string]struct {
		levels []levelResult
		want   gates.Status
		words  string
	}{
		"from the first level on": {[]levelResult{full}, gates.Warned, "nothing below it was measured"},
		"at the second":           {[]levelResult{fine, full}, gates.Passed, "measured at 1 levels"},
	} {
		for _, check := range Checks() {
			if check.ID != "performance/e2e" {
				continue
			}
			f, err := check.Run(t.Context(), &Sweep{levels: c.levels, workload: record.Workload{TokenSource: record.EngineUsage}, planned: 2})
			if err != nil {
				t.Fatal(err)
			}
			if f.Status() != c.want || !strings.Contains(f.Summary(), c.words) {
				t.Errorf("%s: %v, %s", name, f.Status(), f.Summary())
			}
		}
	}
}

func TestGatesThatFailAfterTheMeasurement(t *testing.T) {
	t.Parallel()
	fine, broken := recordtest.Verdict("smoke/known-answer", gates.Pass("3 of 3")), recordtest.Verdict("smoke/usage", gates.Fail("counts twice"))
	if f := gatesAgain([]gates.Verdict{fine}); f.Status() != gates.Passed {
		t.Errorf("%v, %s", f.Status(), f.Summary())
	}
	if f := gatesAgain([]gates.Verdict{fine, broken}); f.Status() != gates.Failed || !strings.Contains(f.Summary(), "1 of 2") {
		t.Errorf("%v, %s", f.Status(), f.Summary())
	}
	if f := gatesAgain(nil); f.Status() != gates.Skipped {
		t.Errorf("nothing asked: %v, %s", f.Status(), f.Summary())
	}
}
