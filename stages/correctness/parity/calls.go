package parity

// A CallComparison is what two servers make of the prompts with tools. The reference is
// the truth, as in the vendors' verifiers, and is compared with itself first: what it does
// not repeat nobody can be held to.
type CallComparison struct {
	asked                   int // prompts
	target, reference       callRates
	f1, selfF1              float64
	worse, better           int // prompts on which the target alone, or the second pass alone, differs from the first
	validWorse, validBetter int // prompts that both call on, of which only one is valid
	differing               []callFinding
	again                   bool // the reference was asked twice
}

// callRates are one server's own figures.
type callRates struct{ calls, valid, asWanted int }

type callFinding struct{ id, what string }

// LeastCalls is how many prompts with tools both must have answered to be compared.
const LeastCalls = 24

func compareCalls(target, reference [][]toolAnswer) CallComparison {
	var c CallComparison
	if len(target) == 0 || len(reference) == 0 {
		return c
	}
	t, first := target[0], reference[0]
	second := first
	if len(reference) > 1 {
		second, c.again = reference[1], true
	}
	c.asked = min(len(t), len(first), len(second), len(toolPrompts))
	var ours, own [2][2]int // [reference called][other called]
	for i, p := range toolPrompts[:c.asked] {
		a, b, d := t[i], first[i], second[i]
		c.target.note(a, p)
		c.reference.note(b, p)
		ours[bit(b.called)][bit(a.called)]++
		own[bit(b.called)][bit(d.called)]++
		switch {
		case a.called != b.called && d.called == b.called:
			c.worse++
			c.differ(p, a, "called", "not called")
		case a.called == b.called && d.called != b.called:
			c.better++
		}
		if a.called && b.called && a.valid != b.valid {
			if b.valid {
				c.validWorse++
				c.differ(p, a, "a call that is not valid", "a call that is not valid")
			} else {
				c.validBetter++
			}
		}
	}
	c.f1, c.selfF1 = f1(ours), f1(own)
	return c
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (r *callRates) note(a toolAnswer, p toolPrompt) {
	if a.called {
		r.calls++
		r.valid += bit(a.valid)
	}
	r.asWanted += bit(a.called == p.wanted)
}

func (c *CallComparison) differ(p toolPrompt, a toolAnswer, called, not string) {
	what := not
	if a.called {
		what = called
	}
	c.differing = append(c.differing, callFinding{shortHash(p.text), what + ": " + a.said})
}

// f1 is the harmonic mean of precision and recall of calling, 0 where nobody calls.
func f1(m [2][2]int) float64 {
	if all := 2*m[1][1] + m[0][1] + m[1][0]; all > 0 {
		return 2 * float64(m[1][1]) / float64(all)
	}
	return 0
}
