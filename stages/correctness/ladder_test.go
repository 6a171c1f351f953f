package correctness

import (
	"math"
	"strings"
	"testing"

	"infbench/stages/endpoint"
)

func alt(token string, p float64) endpoint.Alternative {
	return endpoint.Alternative{Token: token, Logprob: math.Log(p)}
}

func scoredAs(tokens ...[]endpoint.Alternative) []endpoint.TokenLogprob {
	var out []endpoint.TokenLogprob
	for _, top := range tokens {
		out = append(out, endpoint.TokenLogprob{Alternative: top[0], Top: top})
	}
	return out
}

// The margins are those of the table: 0.5 and 2 nats; e^0.5 is 1.65, e^2 is 7.4.
func TestWeigh(t *testing.T) {
	t.Parallel()
	cat := []endpoint.Alternative{alt("The", 0.9), alt("A", 0.05)}
	for name, c := range map[string]struct {
		second []endpoint.Alternative
		one    string
		other  string
		want   rung
		nats   float64
	}{
		"near tie":              {[]endpoint.Alternative{alt(" cat", 0.40), alt(" dog", 0.36)}, "The cat", "The dog", nearTie, math.Log(0.40 / 0.36)},
		"doubtful":              {[]endpoint.Alternative{alt(" cat", 0.60), alt(" dog", 0.20)}, "The cat", "The dog", doubtful, math.Log(3)},
		"implausible":           {[]endpoint.Alternative{alt(" cat", 0.90), alt(" dog", 0.05)}, "The cat", "The dog", implausible, math.Log(18)},
		"not among the likely":  {[]endpoint.Alternative{alt(" cat", 0.90), alt(" cow", 0.05)}, "The cat", "The dog", implausible, math.Inf(1)},
		"neither is there":      {[]endpoint.Alternative{alt(" cat", 0.90), alt(" cow", 0.05)}, "The owl", "The dog", unexplained, 0},
		"the other way round":   {[]endpoint.Alternative{alt(" dog", 0.40), alt(" cat", 0.36)}, "The cat", "The dog", nearTie, math.Log(0.40 / 0.36)},
		"common letters inside": {[]endpoint.Alternative{alt(" cat", 0.40), alt(" cow", 0.36)}, "The cat", "The cow", nearTie, math.Log(0.40 / 0.36)},
		"longest token counts":  {[]endpoint.Alternative{alt(" do", 0.40), alt(" dog", 0.39), alt(" cat", 0.01)}, "The cat", "The dog", implausible, math.Log(39)},
		"an end against a word": {[]endpoint.Alternative{alt(" cat", 0.40), alt("<|im_end|>", 0.36)}, "The cat", "The", nearTie, math.Log(0.40 / 0.36)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, y := []rune(c.one), []rune(c.other)
			d := difference{rung: unexplained, at: commonPrefix(c.one, c.other), token: -1}
			d.weigh(scoredAs(cat, c.second), x, y)
			if d.rung != c.want || c.want != unexplained && (d.token != 1 || math.Abs(d.nats-c.nats) > 1e-9 && !math.IsInf(c.nats, 1)) {
				t.Errorf("%s at token %d, %.3f nats; want %s, %.3f nats", rungNames[d.rung], d.token, d.nats, rungNames[c.want], c.nats)
			}
			if math.IsInf(c.nats, 1) != math.IsInf(d.nats, 1) {
				t.Errorf("%.3f nats, want %.3f", d.nats, c.nats)
			}
		})
	}
}

// A scored answer that went another way before tells nothing.
func TestWeighAnotherWay(t *testing.T) {
	t.Parallel()
	one, other := "The cat sat", "The cat ran"
	d := difference{rung: unexplained, at: commonPrefix(one, other), token: -1}
	d.weigh(scoredAs([]endpoint.Alternative{alt("A", 1)}, []endpoint.Alternative{alt(" dog", 1)}), []rune(one), []rune(other))
	if d.rung != unexplained || d.token != -1 {
		t.Errorf("%s at token %d", rungNames[d.rung], d.token)
	}
	d.weigh(nil, []rune(one), []rune(other))
	if d.rung != unexplained {
		t.Errorf("%s without scores", rungNames[d.rung])
	}
}

func FuzzWeigh(f *testing.F) {
	f.Add("The cat", "The dog", "The", " cat", " dog")
	f.Add("", "x", "", "é", "\xff")
	f.Fuzz(func(_ *testing.T, one, other, a, b, c string) {
		d := difference{rung: unexplained, at: commonPrefix(one, other), token: -1}
		x, y := []rune(one), []rune(other)
		if d.at == len(x) && d.at == len(y) {
			return
		}
		d.weigh(scoredAs([]endpoint.Alternative{alt(a, 0.5)}, []endpoint.Alternative{alt(b, 0.5), alt(c, 0.3)}), x, y)
		_ = d.says()
	})
}

// The grades: all equal; drift where one is implausible or all are ties; too much from the
// second implausible pair on, or from the first difference where none is allowed.
func TestGrade(t *testing.T) {
	t.Parallel()
	of := func(rungs ...rung) ladder {
		var l ladder
		for _, r := range rungs {
			l.add(difference{rung: r, at: 10})
		}
		return l
	}
	for _, c := range []struct {
		name      string
		l         ladder
		invariant bool
		want      grade
	}{
		{"all equal", of(equal, equal), false, gradeEqual},
		{"all equal, declared", of(equal, equal), true, gradeEqual},
		{"ties", of(equal, nearTie, nearTie, nearTie), false, gradeDrift},
		{"a tie, declared", of(equal, nearTie), true, gradeTooMuch},
		{"one implausible", of(equal, implausible), false, gradeDrift},
		{"two implausible", of(equal, implausible, implausible), false, gradeTooMuch},
		{"nobody knows", of(unexplained, unexplained, unexplained), false, gradeDrift},
	} {
		if got := c.l.grade(c.invariant); got != c.want {
			t.Errorf("%s: grade %d, want %d (%s)", c.name, got, c.want, c.l.says())
		}
	}
	if says := of(equal, nearTie, implausible).says(); !strings.Contains(says, "1 of 3 equal, 1 near tie, 1 implausible") {
		t.Errorf("says %q", says)
	}
}
