package parity

import (
	"math"
	"strings"
	"testing"

	"infbench/gates"
)

// at is a position: the chosen token, and others after it.
func at(list ...scored) position {
	return position{name: list[0].name, logprob: list[0].logprob, top: named(list)}
}

func p(name string, probability float64) scored { return scored{name, math.Log(probability)} }

// recorded are answers to the first prompts, with the text that their tokens make.
func recorded(answers ...[]position) Recording {
	r := Recording{origin: "by hand", set: promptSet()}
	for _, list := range answers {
		a := answer{positions: list, promptTokens: gates.CountOf(30), tokens: gates.CountOf(len(list))}
		for _, x := range list {
			a.text += x.name
		}
		r.answers = append(r.answers, a)
	}
	return r
}

func compared(t *testing.T, target, reference Recording) Comparison {
	t.Helper()
	c, err := Compare(target, reference)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Counted by hand: the first answers agree in one token and part at the second, whose
// third is not looked at; the others agree in both tokens and the end.
func TestCompareByHand(t *testing.T) {
	t.Parallel()
	reference := recorded(
		[]position{at(p("a", 0.5), p("b", 0.25)), at(p("c", 0.5), p("d", 0.4)), at(p("x", 0.9))},
		[]position{at(p("e", 0.8)), at(p("f", 0.8)), {end: true, logprob: math.Log(0.9)}},
	)
	target := recorded(
		[]position{at(p("a", 0.25), p("b", 0.25)), at(p("d", 0.5), p("c", 0.25)), at(p("y", 0.9))},
		[]position{at(p("e", 0.8)), at(p("f", 0.8)), {end: true, logprob: math.Log(0.9)}},
	)
	c := compared(t, target, reference)
	if c.positions != 5 || c.agreed != 4 || c.equalTexts != 1 || len(c.differing) != 1 {
		t.Errorf("positions %d, agreed %d, equal texts %d, differing %d; want 5, 4, 1, 1", c.positions, c.agreed, c.equalTexts, len(c.differing))
	}
	near(t, "agreement", c.agreement.mean, 0.8, 1e-12)
	// First position: 1/4·ln 2 (see TestDivergenceByHand). Second: over c and d and a rest of
	// 0.1 against 0.25.
	second := 0.5*math.Log(2) + 0.4*math.Log(0.8) + 0.1*math.Log(0.4)
	near(t, "divergence", c.divergence.mean, (math.Ln2/4+second)/5, 1e-12)
	near(t, "worst", c.worst, max(math.Ln2/4, second), 1e-12)
	// The chosen token of the reference: a is off by ln 2, c by ln 2, the others by nothing.
	near(t, "chosen", c.chosen.mean, 2*math.Ln2/5, 1e-12)
	near(t, "chosen, largest", c.chosenMax, math.Ln2, 1e-12)
	// All that both list: a ln 2, b 0, c ln 2, d ln 1.25, e 0, f 0.
	near(t, "listed", c.listed, (2*math.Ln2+math.Log(1.25))/6, 1e-12)
	// Each holds the other's choice for a near miss: ln(0.5/0.4) there, ln 2 here.
	near(t, "gap", c.differing[0].gap, math.Log(1.25), 1e-12)
	if got := c.gross(); got != 0 {
		t.Errorf("%d differences are implausible, want none", got)
	}
}

// A recording and itself: nothing differs, exactly.
func TestSameIsZero(t *testing.T) {
	t.Parallel()
	r := recorded([]position{at(p("a", 0.51), p("b", 0.249)), at(p("c", 0.333), p("d", 0.31))}, []position{at(p("e", 0.999999999)), {end: true}})
	c := compared(t, r, r)
	if c.divergence != (interval{}) || c.chosen != (interval{}) || c.listedMax != 0 || c.agreement.mean != 1 || len(c.differing) != 0 {
		t.Errorf("a recording differs from itself: %+v", c)
	}
	if m, ok := c.Measured(); !ok || m.String() != "fp32" {
		t.Errorf("a recording measures like %s beside itself", m)
	}
}

// What cannot be compared is left out, and never taken for agreement.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	good := []position{at(p("a", 0.5)), at(p("b", 0.5)), at(p("c", 0.5))}
	c := compared(t, recorded([]position{good[0], {logprob: -1}, good[2]}), recorded(good))
	if c.positions != 1 {
		t.Errorf("a token without a name: %d positions compared, want the one before it", c.positions)
	}
	c = compared(t, recorded([]position{good[0], {name: "b", logprob: math.NaN()}, good[2]}), recorded(good))
	if c.positions != 2 || c.unusable != 1 {
		t.Errorf("a logprob that is none: %d positions and %d unusable, want 2 and 1", c.positions, c.unusable)
	}
	none := []position{{name: "a", logprob: math.NaN()}, {name: "b", logprob: 1}, {logprob: -1}}
	if f := compared(t, recorded(none), recorded(good)).Judge(Claim{}); f.Status() != gates.Skipped || !strings.Contains(f.Summary(), "no position could be compared: 2 hold") {
		t.Errorf("nothing comparable: judged %s: %s", f.Status(), f.Summary())
	}
	respelt := recorded([]position{at(p("Q1", 0.5)), at(p("Q2", 0.5)), at(p("Q3", 0.5))})
	respelt.answers[0].text = "abc"
	c = compared(t, respelt, recorded(good))
	if c.positions != 0 || c.strange != 1 {
		t.Errorf("the same text in other tokens: %d positions and %d strange, want 0 and 1", c.positions, c.strange)
	}
	if f := c.Judge(Claim{}); f.Status() != gates.Skipped || !strings.Contains(f.Summary(), "other names") {
		t.Errorf("judged %s: %s", f.Status(), f.Summary())
	}
}

func TestOtherPromptsAreRefused(t *testing.T) {
	t.Parallel()
	a, b := recorded([]position{at(p("a", 0.5))}), recorded([]position{at(p("a", 0.5))})
	b.set = "00000000"
	if _, err := Compare(a, b); err == nil || !strings.Contains(err.Error(), "other prompts") {
		t.Errorf("got %v", err)
	}
	if _, err := Compare(a, recorded()); err == nil || !strings.Contains(err.Error(), "nothing to compare") {
		t.Errorf("got %v", err)
	}
}

// The gap is that of the side which minds less.
func TestGap(t *testing.T) {
	t.Parallel()
	sure, torn := at(p("a", 0.9), p("b", 0.01)), at(p("b", 0.5), p("a", 0.45))
	near(t, "one side minds", gap(sure, torn), math.Log(0.5/0.45), 1e-12)
	near(t, "both mind", gap(sure, at(p("b", 0.9), p("a", 0.02))), math.Log(0.9/0.02), 1e-12)
	// Not listed: at least as far as the last that is.
	near(t, "not listed", gap(sure, at(p("c", 0.9), p("d", 0.05))), math.Log(0.9/0.05), 1e-12)
}

// calls by hand: [called, valid] for the target, and the reference twice.
func TestCallsByHand(t *testing.T) {
	t.Parallel()
	n := len(toolPrompts)
	pass := func(called func(i int) bool, valid bool) []toolAnswer {
		out := make([]toolAnswer, n)
		for i := range out {
			if called(i) {
				out[i] = toolAnswer{called: true, valid: valid}
			}
		}
		return out
	}
	even := func(i int) bool { return i%2 == 0 }
	reference := [][]toolAnswer{pass(even, true), pass(even, true)}

	c := compareCalls([][]toolAnswer{pass(even, true)}, reference)
	if c.f1 != 1 || c.selfF1 != 1 || c.worse != 0 || c.verdict().status != gates.Passed {
		t.Errorf("equal calls: %+v", c)
	}
	// Every fourth prompt alone: 9 of 18 calls are made, so precision is 1 and recall 1/2.
	c = compareCalls([][]toolAnswer{pass(func(i int) bool { return i%4 == 0 }, true)}, reference)
	near(t, "F1", c.f1, 2.0/3, 1e-12)
	if c.worse != n/4 || c.verdict().status != gates.Failed {
		t.Errorf("half of the calls: %d prompts differ, judged %v", c.worse, c.verdict())
	}
	// One prompt less is within chance.
	c = compareCalls([][]toolAnswer{pass(func(i int) bool { return even(i) && i != 2 }, true)}, reference)
	if c.worse != 1 || c.verdict().status != gates.Passed {
		t.Errorf("one call less: %+v", c.verdict())
	}
	c = compareCalls([][]toolAnswer{pass(even, false)}, reference)
	if v := c.verdict(); c.validWorse != n/2 || v.status != gates.Failed || !strings.Contains(v.summary, "not valid") {
		t.Errorf("no call is valid: %+v", v)
	}
	// The reference does not repeat itself: nobody can be held to it.
	wavering := [][]toolAnswer{pass(even, true), pass(func(i int) bool { return !even(i) }, true)}
	c = compareCalls([][]toolAnswer{pass(func(i int) bool { return i%4 == 0 }, true)}, wavering)
	if v := c.verdict(); v.status != gates.Passed {
		t.Errorf("a reference that contradicts itself: %+v", v)
	}
	never := func(int) bool { return false }
	if v := compareCalls([][]toolAnswer{pass(never, false)}, [][]toolAnswer{pass(never, false)}).verdict(); v.status != 0 || !strings.Contains(v.summary, "makes no calls") {
		t.Errorf("nobody calls: %+v", v)
	}
	if v := compareCalls([][]toolAnswer{pass(even, true)[:10]}, reference).verdict(); v.status != 0 || !strings.Contains(v.summary, "only 10") {
		t.Errorf("ten prompts: %+v", v)
	}
	if v := compareCalls(nil, reference).verdict(); v.status != 0 {
		t.Errorf("none asked: %+v", v)
	}
}
