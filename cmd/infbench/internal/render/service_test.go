package render_test

import (
	"strings"
	"testing"
	"time"

	"infbench/arrival"
	"infbench/cmd/infbench/internal/render"
	"infbench/gates"
	"infbench/record"
	"infbench/record/recordtest"
)

func tiers(t *testing.T, names ...string) []record.Tier {
	t.Helper()
	var out []record.Tier
	for _, name := range names {
		tier, ok := record.NamedTier(name)
		if !ok {
			t.Fatalf("no tier %s", name)
		}
		out = append(out, tier)
	}
	return out
}

func shown(t *testing.T, p record.PerfRecord) string {
	t.Helper()
	var b strings.Builder
	if err := render.Performance(&b, render.Style{}, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Each kind of verdict, of reason and of capacity.
func TestService(t *testing.T) {
	t.Parallel()
	s := recordtest.Sessions
	slow := func(n int) func(int, *record.Sample) {
		return func(i int, s *record.Sample) {
			switch {
			case i < n:
				s.First = s.Sent + 1100*time.Millisecond
			case i == n && n > 0:
				s.Outcome = record.Rejected
			case i == n+1 && n > 0:
				s.Code = record.CodeMissing
			}
		}
	}
	poisson, err := arrival.Poisson(2, "test")
	if err != nil {
		t.Fatal(err)
	}
	untold := recordtest.Requests(poisson, 40, func(_ int, s *record.Sample) { s.CachedTokens = gates.Count{} })
	void := recordtest.Requests(s(16), 120, nil)
	void.Void = []string{"late_dispatch: \x1b[2J"}
	p := recordtest.Sweep(recordtest.Identity("sha256:aa", "rev1"), record.Objectives{Tiers: tiers(t, "good", "average", "mlperf:llama2-70b/server"), Codes: true},
		recordtest.Requests(s(1), 500, nil), recordtest.Requests(s(2), 120, nil), recordtest.Requests(s(4), 120, slow(5)), recordtest.Requests(s(8), 120, nil), void, untold)
	out := shown(t, p)
	if strings.Contains(out, "\x1b") {
		t.Error("an escape reaches the terminal")
	}
	golden(t, "service", out)
}

func TestCapacityInWords(t *testing.T) {
	t.Parallel()
	s := recordtest.Sessions
	all := func(_ int, s *record.Sample) { s.First = s.Sent + 1100*time.Millisecond }
	deeper := func(_ int, s *record.Sample) { s.PromptTokens = gates.CountOf(8000) }
	lost := func(_ int, s *record.Sample) { s.PromptTokens = gates.Count{} }
	constant, err := arrival.Constant(1.5)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		parts []record.LevelParts
		want  string
	}{
		"none holds":     {[]record.LevelParts{recordtest.Requests(s(2), 100, all)}, "(1050 tokens deep, 50 % from cache): not even 2 concurrent users: sessions:n=2 does not hold"},
		"not judged":     {[]record.LevelParts{recordtest.Requests(s(1), 99, nil)}, "cannot be told: sessions:n=1: too few requests"},
		"all hold":       {[]record.LevelParts{recordtest.Requests(s(1), 100, nil)}, "up to 1 concurrent user or more (nothing heavier was tried), 121,362 tokens per hour there; 0.9 in flight on average"},
		"too few above":  {[]record.LevelParts{recordtest.Requests(s(1), 100, nil), recordtest.Requests(s(3), 99, nil)}, "up to 1 concurrent user or more (sessions:n=3: too few requests), "},
		"two depths":     {[]record.LevelParts{recordtest.Requests(s(1), 100, nil), recordtest.Requests(s(2), 100, deeper)}, "(8050 tokens deep, the levels 1050 to 8050, 6 % from cache): up to 2 concurrent users or more"},
		"an open loop":   {[]record.LevelParts{recordtest.Requests(constant, 100, nil)}, "up to 1.5 requests/s or more"},
		"no depth known": {[]record.LevelParts{recordtest.Requests(s(1), 100, lost)}, "how much it holds of sessions:n=… is withheld: nobody counted the prompt's tokens, so that the depth of the context is not known"},
	} {
		out := shown(t, recordtest.Sweep(recordtest.Identity("sha256:aa", "rev1"), record.Objectives{Tiers: tiers(t, "good")}, c.parts...))
		if !strings.Contains(out, c.want) {
			t.Errorf("%s: want %q in\n%s", name, c.want, out)
		}
	}
}
