package parity

import (
	"path/filepath"
	"strings"
	"testing"

	"infbench/gates"
)

// served reads what a real engine answered; testdata/README.md says which.
func served(t *testing.T, name string) Recording {
	t.Helper()
	r, err := ReadRecording(filepath.Join("testdata", name+".json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// inOrder are the servings, finest first as theory has it, and what each measures like.
// The classes come from what the weights were rounded to and not from the limits: numbers
// of 24, 11, 8 bits, blocks of 8 bits, floats of 4 bits, blocks of 4 bits. llama.cpp
// rounds activations to blocks of 8 bits beside quantised weights, so that q4_1, whose
// weights are the reference's own, is an int8 serving.
var inOrder = []struct{ name, like string }{
	{"vllm-f32", "fp32"},
	{"llama-f16", "fp32"}, // 5e-6: nothing here tells it from 32 bits
	{"llama-bf16", "bf16"},
	{"vllm-bf16", "bf16"},
	{"llama-q8_0", "int8"},
	{"llama-e4m3", "fp8"},
	{"llama-q4_0", "int4"},
}

// One file served twice: no number of the answers differs.
func TestRealSameIsZero(t *testing.T) {
	t.Parallel()
	c := compared(t, served(t, "llama-f32-again"), served(t, "llama-f32"))
	if c.divergence != (interval{}) || c.chosen != (interval{}) || c.listedMax != 0 || c.agreement.mean != 1 || c.overlap != 1 || c.equalTexts != 32 {
		t.Errorf("%v, listed by both %v, equal texts %d", c.figures(), c.overlap, c.equalTexts)
	}
}

// The errors come in the order that theory demands, whichever engine is the reference.
func TestRealErrorsAreOrdered(t *testing.T) {
	t.Parallel()
	for _, reference := range []string{"llama-f32", "vllm-f32"} {
		before, last := Comparison{}, ""
		for _, s := range inOrder {
			if s.name == reference {
				continue
			}
			c := compared(t, served(t, s.name), served(t, reference))
			if last != "" && (c.divergence.mean <= before.divergence.mean || c.chosen.mean <= before.chosen.mean || c.listed <= before.listed || c.agreement.mean > before.agreement.mean) {
				t.Errorf("against %s: %s is no farther off than %s: divergence %.3g after %.3g, chosen %.3g after %.3g, listed %.3g after %.3g, agreement %.3f after %.3f", reference, s.name, last,
					c.divergence.mean, before.divergence.mean, c.chosen.mean, before.chosen.mean, c.listed, before.listed, c.agreement.mean, before.agreement.mean)
			}
			before, last = c, s.name
		}
	}
}

// The limits tell them apart: each serving passes as what it is and as anything coarser,
// and fails as anything finer.
func TestRealServingsAreToldApart(t *testing.T) {
	t.Parallel()
	for _, s := range append(inOrder, struct{ name, like string }{"llama-q4_1", "int8"}) {
		c := compared(t, served(t, s.name), served(t, "llama-f32"))
		like := declared(t, s.like).Precision
		if m, ok := c.Measured(); !ok || m.limits().divergence != like.limits().divergence {
			t.Errorf("%s measures like %s, want %s: %s", s.name, m, s.like, c.figures())
		}
		for _, name := range PrecisionNames() {
			claim := declared(t, name)
			want := gates.Passed
			if claim.Precision.finerThan(like) {
				want = gates.Failed
			}
			f := c.Judge(claim)
			if f.Status() != want {
				t.Errorf("%s declared %s: %s, want %s: %s", s.name, name, f.Status(), want, f.Summary())
			}
			if want == gates.Failed && !strings.Contains(f.Summary(), "declared "+name+", measures like "+like.words()) {
				t.Errorf("%s declared %s: the finding does not say what it measures like: %s", s.name, name, f.Summary())
			}
		}
	}
}

// Where weights alone are rounded, divergence goes with the square of their error: by
// variants.py 2.65 % for E4M3 and 8.14 % for Q4_0. Half and twice the ratio are allowed.
func TestRealDivergenceGoesWithTheSquareOfTheError(t *testing.T) {
	t.Parallel()
	fp8 := compared(t, served(t, "llama-e4m3"), served(t, "llama-f32")).divergence.mean
	int4 := compared(t, served(t, "llama-q4_0"), served(t, "llama-f32")).divergence.mean
	want := (0.0814 / 0.0265) * (0.0814 / 0.0265)
	if got := int4 / fp8; got < want/2 || got > want*2 {
		t.Errorf("q4_0 diverges %.2f times as much as e4m3, want about %.2f", got, want)
	}
}

// A server without log probabilities is compared by text, and never passes for it.
func TestRealWithoutLogprobs(t *testing.T) {
	t.Parallel()
	c := compared(t, served(t, "transformers-bf16"), served(t, "vllm-bf16"))
	f := c.Judge(declared(t, "bf16"))
	if f.Status() != gates.Warned || !strings.Contains(f.Summary(), "the target reports no log probabilities") {
		t.Errorf("judged %s: %s", f.Status(), f.Summary())
	}
	if _, ok := c.Measured(); ok || c.byText.mean < 0.94 {
		t.Errorf("by text %.3f of the tokens agree", c.byText.mean)
	}
}

// Calls of one model behind one template. llama.cpp holds them to a grammar, vLLM in auto
// does not: of its 10 calls 3 name a tool that there is, by hand in the answers.
func TestRealCalls(t *testing.T) {
	t.Parallel()
	reference := served(t, "tools-llama-f32")
	c := compared(t, served(t, "tools-vllm-bf16"), reference).calls
	if c.reference.calls != 19 || c.reference.valid != 19 || c.target.calls != 10 || c.target.valid != 3 || c.selfF1 != 1 {
		t.Errorf("counted %+v", c)
	}
	near(t, "F1", c.f1, 2*9.0/(19+10), 1e-12)
	if v := c.verdict(); v.status != gates.Failed || !strings.Contains(v.summary, "calls tools where the reference does not") {
		t.Errorf("judged %+v", v)
	}
	// Four calls more than the reference's 19 may be chance: one in 16.
	c = compared(t, served(t, "tools-llama-q4_0"), reference).calls
	if v := c.verdict(); c.target.calls != 23 || c.worse != 4 || v.status != gates.Passed {
		t.Errorf("counted %+v, judged %+v", c, v)
	}
}
