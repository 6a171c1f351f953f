package arrival

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// draws are the models whose first draws are kept: nothing may ever change them, or two
// runs with one seed are no longer one workload.
var draws = []string{
	"constant:rate=3", "poisson:rate=1.5,seed=a", "gamma:rate=4,shape=0.25,seed=a", "gamma:rate=4,shape=2.5,seed=a", "weibull:rate=4,shape=0.7,seed=a",
	"ramp:from=0,to=4,over=10s,seed=a", "ramp:from=20,to=1,over=2s,seed=a",
	"replay:mode=open,file=testdata/traces/azure_2023_conv.head.csv,scale=0.5",
	"replay:mode=closed,file=testdata/traces/own_closed.jsonl",
	"burst:n=3", "sessions:n=2", "sessions:n=2,think=2s,seed=a", "sessions:n=2,think=2s,start=all-at-once,seed=a", "sessions:n=2,think=2s,start=staggered,seed=a",
	"sessions:n=2,think=2s,think-law=constant,seed=a", "sessions:n=2,think-p50=9s,think-p95=157s,seed=a",
}

// The golden file was computed by another program as well, in Python, from SHA-256, PCG-DXSM
// and the formulas alone; it agreed within the rounding of the last nanosecond.
func TestFirstDraws(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	line := func(name string, next func() (time.Duration, bool)) {
		fmt.Fprintf(&out, "%s\n", name)
		for range 16 {
			d, more := next()
			if !more {
				break
			}
			fmt.Fprintf(&out, " %d", d)
		}
		out.WriteString("\n")
	}
	for _, text := range draws {
		m, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		switch o := m.m.(type) {
		case opened:
			line(text, o.gaps())
		case closed:
			for s := range o.sessions() {
				line(fmt.Sprintf("%s session %d", text, s), o.think(s))
			}
		}
	}
	path := filepath.Join("testdata", "draws.golden")
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("the first draws have changed: got\n%s", out.String())
	}
}

// The last of the 2⁵³ steps would round up to 1, of which no law has a quantile.
func TestUnitIsInside(t *testing.T) {
	t.Parallel()
	if u := unit(math.MaxUint64); u >= 1 || span(-math.Log1p(-u)) <= 0 {
		t.Errorf("the greatest is %v", u)
	}
	if u := unit(0); u <= 0 {
		t.Errorf("the least is %v", u)
	}
}

// Of one processor the driver never takes more than a quarter, and of the only one nothing.
func TestLead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gap   time.Duration
		procs int
		want  time.Duration
	}{
		{time.Second, 2, time.Millisecond},
		{4 * time.Millisecond, 8, time.Millisecond},
		{time.Millisecond, 2, 250 * time.Microsecond},
		{0, 2, 0},
		{time.Second, 1, 0},
	} {
		if got := lead(c.gap, c.procs); got != c.want {
			t.Errorf("lead(%v, %d) = %v, want %v", c.gap, c.procs, got, c.want)
		}
	}
}
