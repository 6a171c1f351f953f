package baseline

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// server is an engine whose times are known but for their noise.
type server struct {
	overhead, perThousand, curve float64 // seconds, of a prefill
	step, perDepth               float64 // seconds, of a token
	sd, lag                      float64 // relative noise, and how much of it lasts to the next repeat
}

var plain = server{overhead: .05, perThousand: .1, curve: .001, step: .02, perDepth: .0003, sd: .02}

// truth is the time of a metric at a depth of so many thousand tokens, without noise.
func (s server) truth(name string, n float64) float64 {
	switch name {
	case ColdPrefill:
		return s.overhead + s.perThousand*n + s.curve*n*n
	case WarmPrefill:
		return s.overhead + s.perThousand*.02
	default:
		return s.step + s.perDepth*n
	}
}

// measured plays a suite against a server, repeat by repeat. A share of the noise lasts from
// repeat to repeat and is common to all depths: a machine that is warm is warm for all.
func (s server) measured(seed uint64, repeats int) map[string]timesByDepth {
	rng := rand.New(rand.NewPCG(seed, 1))
	out := map[string]timesByDepth{}
	lasting := s.sd * rng.NormFloat64()
	for range repeats {
		for _, name := range []string{ColdPrefill, WarmPrefill, Generation} {
			t := out[name]
			for i, d := range Standard().Depths() {
				if len(t.depths) == i {
					t.depths, t.times = append(t.depths, float64(d.PromptTokens)), append(t.times, nil)
				}
				noise := s.sd * rng.NormFloat64()
				if s.lag > 0 {
					noise = lasting
				}
				t.times[i] = append(t.times[i], s.truth(name, float64(d.PromptTokens)/1000)*math.Exp(noise))
			}
			out[name] = t
		}
		lasting = s.lag*lasting + math.Sqrt(1-s.lag*s.lag)*s.sd*rng.NormFloat64()
	}
	return out
}

// rates plays many comparisons, and returns how often any metric and how often the named one
// came out as changed.
func rates(before, after server, repeats, seeds int, name string) (anyOf, named float64) {
	for seed := range seeds {
		c := compareTimes(before.measured(uint64(2*seed), repeats), after.measured(uint64(2*seed+1), repeats))
		alarm, hit := false, false
		for _, m := range c.Metrics {
			changed := m.Verdict == Slower || m.Verdict == Faster
			alarm = alarm || changed
			hit = hit || changed && m.Name == name
		}
		if alarm {
			anyOf += 1 / float64(seeds)
		}
		if hit {
			named += 1 / float64(seeds)
		}
	}
	return anyOf, named
}

const seeds = 3000

func TestFalseAlarmsOfCompare(t *testing.T) {
	t.Parallel()
	// Four standard errors of a rate of 5 % over 3,000 seeds are 1.6 points.
	if alarms, _ := rates(plain, plain, 5, seeds, ""); alarms > falseRate+.016 {
		t.Errorf("%.3f of the comparisons of one server with itself found a change, %.2f are stated", alarms, falseRate)
	} else {
		t.Logf("independent noise: %.3f", alarms)
	}
	// Noise that lasts and is common to all depths and metrics is the worst there is: docs/BASELINE.md
	// states these rates, and that interleaving two targets (--ab) takes them away.
	for lag, stated := range map[float64]float64{.3: .10, .6: .25} {
		s := plain
		s.lag = lag
		alarms, _ := rates(s, s, 5, seeds, "")
		t.Logf("noise with a correlation of %.1f from repeat to repeat: %.3f", lag, alarms)
		if alarms > stated+.03 {
			t.Errorf("noise that lasts (%.1f): %.3f of the comparisons found a change, %.2f are stated", lag, alarms, stated)
		}
	}
}

func TestPowerOfCompare(t *testing.T) {
	t.Parallel()
	for _, change := range []float64{.05, .10, .20} {
		after := plain
		after.step *= 1 + change
		after.perDepth *= 1 + change
		_, found := rates(plain, after, 5, 500, Generation)
		t.Logf("token generation %.0f %% slower: found in %.3f", 100*change, found)
		if found < .95 {
			t.Errorf("token generation %.0f %% slower: found in %.3f", 100*change, found)
		}
	}
	// What a comparison says that it would have seen is seen about four times in five.
	c := compareTimes(plain.measured(1, 5), plain.measured(2, 5))
	for _, m := range c.Metrics {
		if m.Name == Generation {
			t.Logf("smallest change said: %.4f", m.Smallest)
		}
	}
}

func TestAttributionOfCompare(t *testing.T) {
	t.Parallel()
	flat := plain
	flat.curve = 0
	for name, c := range map[string]struct {
		change func(*server)
		want   string
	}{
		"per-token cost": {func(s *server) { s.perThousand *= 1.1 }, "per-token cost"},
		"fixed overhead": {func(s *server) { s.overhead += .02 }, "fixed overhead"},
	} {
		after := flat
		c.change(&after)
		right, changed := 0, 0
		for seed := range 400 {
			cmp := compareTimes(flat.measured(uint64(2*seed), 5), after.measured(uint64(2*seed+1), 5))
			for _, m := range cmp.Metrics {
				if m.Name != ColdPrefill || m.Verdict != Slower {
					continue
				}
				changed++
				if strings.HasPrefix(m.Part.Part, c.want) {
					right++
				}
			}
		}
		t.Logf("%s: %d of 400 found, %d of them attributed rightly", name, changed, right)
		if changed < 300 || right*100 < changed*90 {
			t.Errorf("%s: %d of 400 found, %d of them attributed rightly", name, changed, right)
		}
	}
}

// A repeat that is far out is told, and moves no verdict.
func TestARepeatFarOutIsTold(t *testing.T) {
	t.Parallel()
	before, after := plain.measured(1, 5), plain.measured(2, 5)
	for i := range after[Generation].times {
		after[Generation].times[i][3] *= 1.5
	}
	for _, m := range compareTimes(before, after).Metrics {
		told := strings.Join(m.FarOut, "; ")
		if want := m.Name == Generation; strings.Contains(told, "repeat 4 after lies +") != want || want && len(m.After) != 5 {
			t.Errorf("%s: %q of %d repeats", m.Name, told, len(m.After))
		}
		if m.Verdict != NoChange {
			t.Errorf("%s: %s", m.Name, m.Verdict)
		}
	}
}
