package parity

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The set of prompts never changes unnoticed: recordings of another do not compare.
func TestPromptsStay(t *testing.T) {
	t.Parallel()
	if got, want := promptSet(), "6d95e7d5"; got != want {
		t.Errorf("the prompts have changed: set %s, was %s; every recording in testdata must be made again", got, want)
	}
}

func TestPromptsDifferAndPrefix(t *testing.T) {
	t.Parallel()
	all := prompts(MostPrompts)
	if len(all) != MostPrompts || len(prompts(1<<20)) != MostPrompts {
		t.Fatalf("%d prompts, want %d", len(all), MostPrompts)
	}
	if !slices.Equal(prompts(16), all[:16]) {
		t.Error("the first 16 prompts depend on how many are asked for")
	}
	seen := map[string]int{}
	for _, p := range all {
		seen[p.text]++
		seen["kind "+p.kind]++
	}
	for _, p := range all {
		if seen[p.text] > 1 || p.text == "" {
			t.Errorf("the prompt %q stands there %d times", p.text, seen[p.text])
		}
	}
	for _, k := range kinds {
		if n := seen["kind "+k.name]; n < MostPrompts/len(kinds) {
			t.Errorf("%d prompts of the kind %s", n, k.name)
		}
	}
}

// Half of the prompts with tools want a call.
func TestToolPromptsAreBalanced(t *testing.T) {
	t.Parallel()
	wanted := 0
	for _, p := range toolPrompts {
		wanted += bit(p.wanted)
	}
	if 2*wanted != len(toolPrompts) || len(toolPrompts) < LeastCalls {
		t.Errorf("%d of %d want a call", wanted, len(toolPrompts))
	}
}

func TestParsePrecision(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"bf16": "bf16", " BFloat16 ": "bf16", "Q8_0": "int8", "half": "fp16", "NVFP4": "int4", "f32": "fp32"} {
		p, err := ParsePrecision(in)
		if err != nil || p.String() != want {
			t.Errorf("%q: got %s, %v; want %s", in, p, err, want)
		}
	}
	for _, in := range []string{"", "int3", "bf16x"} {
		if _, err := ParsePrecision(in); err == nil {
			t.Errorf("%q is a precision", in)
		}
	}
}

// Coarser precisions are allowed more in every respect, and each says by what it was set.
func TestLimitsAreOrdered(t *testing.T) {
	t.Parallel()
	for i, p := range precisions[1:] {
		before := precisions[i]
		if p.divergence < before.divergence || p.deviation < before.deviation || p.agreement > before.agreement || p.gross < before.gross {
			t.Errorf("%s is allowed less than %s", p.name, before.name)
		}
		if p.source == "" {
			t.Errorf("nothing says where the limits of %s come from", p.name)
		}
	}
}

var limitRow = regexp.MustCompile(`(?m)^\| ([a-z0-9, ]+?) \| (\S+) \| (\S+) \| (\d+) % \|`)

// The page shows the limits that are kept.
func TestPageShowsTheLimits(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/PARITY.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	for _, m := range limitRow.FindAllStringSubmatch(string(page), -1) {
		for name := range strings.SplitSeq(m[1], ", ") {
			var d, e, a float64
			if n, err := fmt.Sscan(strings.Join(m[2:5], " "), &d, &e, &a); n != 3 {
				t.Fatalf("%s: %v", m[0], err)
			}
			shown[name] = fmt.Sprintf("%g %g %.2f", d, e, a/100)
		}
	}
	for _, p := range precisions {
		if want := fmt.Sprintf("%g %g %.2f", p.divergence, p.deviation, p.agreement); shown[p.name] != want {
			t.Errorf("docs/PARITY.md shows for %s: %s, want %s", p.name, shown[p.name], want)
		}
	}
}
