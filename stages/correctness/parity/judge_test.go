package parity

import (
	"encoding/json"
	"strings"
	"testing"

	"infbench/gates"
)

// a comparison of 400 positions of 40 prompts with the given means, bounds a tenth around.
func around(divergence, deviation, agreement float64) Comparison {
	i := func(v float64) interval { return interval{v, 0.9 * v, 1.1 * v} }
	return Comparison{
		prompts: 40, positions: 400, agreed: int(400 * agreement), divergence: i(divergence), chosen: i(deviation),
		agreement: interval{agreement, agreement - 0.01, min(1, agreement+0.01)},
	}
}

func declared(t *testing.T, name string) Claim {
	t.Helper()
	if name == "" {
		return Claim{}
	}
	p, err := ParsePrecision(name)
	if err != nil {
		t.Fatal(err)
	}
	return Claim{Precision: p}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	bf16, int8, int4 := around(1e-3, 0.022, 0.975), around(3.4e-3, 0.042, 0.967), around(0.22, 0.48, 0.77)
	few := func(c Comparison) Comparison { c.positions = 20; return c }
	gross := func(c Comparison, n int) Comparison {
		for range n {
			c.differing = append(c.differing, finding{gap: 2.5, target: at(p("a", 0.5)), reference: at(p("b", 0.5))})
		}
		return c
	}
	templated := func(c Comparison) Comparison { c.templates = []mismatch{{"x", 31, 52}}; return c }
	silent := func(share float64) Comparison {
		return Comparison{prompts: 40, equalTexts: 20, silent: []string{"the reference"}, byText: interval{share, share - 0.02, share + 0.02}}
	}
	for name, c := range map[string]struct {
		c       Comparison
		claim   string
		status  gates.Status
		summary string
	}{
		"as declared":               {bf16, "bf16", gates.Passed, "measures like bf16, as declared"},
		"finer than declared":       {bf16, "int8", gates.Passed, "declared int8, and finer than that: measures like fp16 or bf16"},
		"coarser than declared":     {int4, "bf16", gates.Failed, "declared bf16, measures like int4"},
		"a neighbour":               {int8, "bf16", gates.Failed, "declared bf16, measures like int8"},
		"beyond within chance":      {around(1.65e-3, 0.022, 0.975), "bf16", gates.Warned, "no more than chance"},
		"undeclared":                {int8, "", gates.Passed, "no precision is declared; measures like int8"},
		"beyond all":                {around(2, 2, 0.3), "", gates.Failed, "which no precision explains"},
		"beyond all, declared":      {around(2, 2, 0.3), "int4", gates.Failed, "nothing as fine as int4"},
		"few positions":             {few(bf16), "bf16", gates.Skipped, "only 20 positions"},
		"few and surely beyond":     {few(int4), "bf16", gates.Failed, "measures like int4"},
		"agreement alone":           {around(1e-4, 0.01, 0.85), "bf16", gates.Failed, "declared bf16, measures like fp8"},
		"one gross difference":      {gross(bf16, 1), "bf16", gates.Warned, "implausible"},
		"two gross differences":     {gross(bf16, 2), "bf16", gates.Failed, "in 2 of 40 prompts"},
		"gross, undeclared":         {gross(bf16, 2), "", gates.Failed, "in 2 of 40 prompts"},
		"gross and coarse":          {gross(int4, 2), "int4", gates.Passed, "as declared"},
		"gross beyond coarse":       {gross(int4, 11), "int4", gates.Failed, "in 11 of 40 prompts"},
		"another template":          {templated(bf16), "bf16", gates.Warned, "the same prompt is 31 tokens to the target and 52 to the reference"},
		"another template, and far": {templated(int4), "bf16", gates.Failed, "the same prompt is 31 tokens"},
		"by text":                   {silent(0.97), "bf16", gates.Warned, "the reference reports no log probabilities"},
		"by text, far":              {silent(0.8), "bf16", gates.Failed, "says other things than the reference"},
		"by text, undeclared":       {silent(0.8), "", gates.Warned, "precision cannot be told"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := c.c.Judge(declared(t, c.claim))
			if f.Status() != c.status || !strings.Contains(f.Summary(), c.summary) {
				t.Errorf("judged %s: %s\nwant %s: %s", f.Status(), f.Summary(), c.status, c.summary)
			}
			if f.Condition() != gates.Reference {
				t.Errorf("the condition is %q", f.Condition())
			}
		})
	}
	if f := int8.Judge(Claim{Divergence: 2e-3}); f.Status() != gates.Failed || !strings.Contains(f.Summary(), "above your limit of 0.002") {
		t.Errorf("a limit of one's own: %s: %s", f.Status(), f.Summary())
	}
	if f := int8.Judge(Claim{Precision: declared(t, "bf16").Precision, Divergence: 4e-3}); f.Status() != gates.Failed {
		t.Errorf("a limit of one's own leaves those of the error: %s: %s", f.Status(), f.Summary())
	}
}

// The worse of two verdicts leads, and the other is not lost.
func TestVerdictsJoin(t *testing.T) {
	t.Parallel()
	pass, fail := verdictOf(gates.Passed, "good"), verdictOf(gates.Failed, "bad").because([]string{"why"})
	for _, v := range []verdict{pass.and(fail), fail.and(pass)} {
		if v.status != gates.Failed || v.summary != "bad; good" || len(v.causes) != 1 {
			t.Errorf("joined: %+v", v)
		}
	}
}

// What is written of nothing compared holds no numbers.
func TestNothingIsNull(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(Comparison{prompts: 3, silent: []string{"the target"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"divergence_nats":null`, `"agreement":null`, `"measures_like":null`, `"calls":null`, `"without_logprobs":["the target"]`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s lacks %s", b, want)
		}
	}
}
