package baseline_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"infbench/baseline"
	"infbench/baseline/baselinetest"
	"infbench/record"
)

// side makes a record, writes it and reads it back.
func side(t *testing.T, name string, p baselinetest.Parts) baseline.Side {
	t.Helper()
	raw, err := baselinetest.Run(p).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for run, err := range record.Read(bytes.NewReader(append(raw, '\n'))) {
		if err != nil {
			t.Fatal(err)
		}
		return baseline.NewSide(name, run)
	}
	t.Fatal("nothing was read")
	return baseline.Side{}
}

// after is a good second record with a change.
func after(change func(*baselinetest.Parts)) baselinetest.Parts {
	p := baselinetest.Standard(2)
	if change != nil {
		change(&p)
	}
	return p
}

func suite(repeats int, depths ...baseline.Depth) baseline.Suite {
	s, err := baseline.NewSuite("small", baseline.FrozenSeed, repeats, depths...)
	if err != nil {
		panic(err)
	}
	return s
}

// Each reason for a refusal, alone, with what stands on both sides.
func TestRefusals(t *testing.T) {
	t.Parallel()
	small := baselinetest.Small().Depths()
	for name, c := range map[string]struct {
		change func(*baselinetest.Parts)
		want   []string
	}{
		"another suite": {func(p *baselinetest.Parts) {
			p.Suite = suite(5, small[0], baseline.Depth{PromptTokens: 1025, MaxTokens: 32})
		}, []string{"workload: small with 5 repeats (sha256:", " after"}},
		"repeats": {func(p *baselinetest.Parts) { p.Suite = suite(6, small...) }, []string{"small with 5 repeats (", " before, small with 6 repeats ("}},
		"prompts": {func(p *baselinetest.Parts) { p.Prompts = "others" }, []string{"prompts (another tokenizer, or another list of words): sha256:prompts before, sha256:others after"}},
		"arrival": {func(p *baselinetest.Parts) { p.Think = time.Second }, []string{"arrival model: closed loop, 1 session, no think time before, closed loop, 1 session, ", "after"}},
		"token source": {
			func(p *baselinetest.Parts) { p.Source, p.TokenizedBy = record.ClientTokenizer, "go abc" },
			[]string{"who counted the tokens: engine usage before, client tokenizer go abc after"},
		},
		"free length":         {func(p *baselinetest.Parts) { p.Forced = false }, []string{"output length: forced before, free after"}},
		"cache":               {func(p *baselinetest.Parts) { p.Proven = false }, []string{"cache: cold proven, warm proven before, cold by construction, warm by construction after"}},
		"accelerator":         {func(p *baselinetest.Parts) { p.Accelerator = record.Known("sm_120 x1") }, []string{"accelerator: sm_90 x1 before, sm_120 x1 after"}},
		"unknown accelerator": {func(p *baselinetest.Parts) { p.Accelerator = record.Unknown("nobody says") }, []string{"accelerator (unknown counts as different; --same accelerator states that it is not): sm_90 x1 before, unknown after"}},
		"void":                {func(p *baselinetest.Parts) { p.Void = "late" }, []string{"the side after (b): its figures are void: late"}},
		"incomplete":          {func(p *baselinetest.Parts) { p.Stopped = "interrupted" }, []string{"the side after (b): the run is incomplete: interrupted"}},
		"no baseline":         {func(p *baselinetest.Parts) { p.Sweep = true }, []string{"the side after (b): it is no baseline: infbench baseline makes one"}},
		"a check of stage 4":  {func(p *baselinetest.Parts) { p.Failed = []string{"performance/answers"} }, []string{"gates of the side after (b): performance/answers failed"}},
		"gates": {
			func(p *baselinetest.Parts) { p.Failed = []string{"smoke/echo"} },
			[]string{"the side after (b): it holds no numbers: ", "smoke/echo failed: it did not hold"},
		},
		"the same run":   {func(p *baselinetest.Parts) { p.Number = 1 }, []string{"the run, which is compared with itself: 20260102T030405Z-00000001 on both sides"}},
		"a false hash":   {func(p *baselinetest.Parts) { p.Hash = "sha256:00" }, []string{"its suite is not the one that its hash names"}},
		"no suite":       {func(p *baselinetest.Parts) { p.Spec = `{"a":1}` }, []string{"its suite cannot be read"}},
		"another's spec": {func(p *baselinetest.Parts) { s := suite(5, small[0]); p.Spec, p.Hash = string(s.Canonical()), s.Hash() }, []string{"its cells are not those of its suite"}},
		"repeats short":  {func(p *baselinetest.Parts) { p.Missing = 1 }, []string{"4 repeats of a prompt of ", "where its suite has 5"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := baseline.Compare(side(t, "a", baselinetest.Standard(1)), side(t, "b", after(c.change)))
			var all []string
			for _, r := range got.Refused {
				all = append(all, r.String())
			}
			text := strings.Join(all, "\n")
			for _, w := range c.want {
				if !strings.Contains(text, w) {
					t.Errorf("refused with\n%s\nwant %q", text, w)
				}
			}
			if got.Exit() != 2 || len(got.Metrics) > 0 {
				t.Errorf("exit %d, %d metrics: a refusal has no number", got.Exit(), len(got.Metrics))
			}
		})
	}
}

func TestAllReasonsAtOnce(t *testing.T) {
	t.Parallel()
	got := baseline.Compare(side(t, "a", baselinetest.Standard(1)), side(t, "b", after(func(p *baselinetest.Parts) {
		p.Prompts, p.Think, p.Source, p.Forced, p.Proven, p.Void, p.Stopped = "others", time.Second, record.ChunkCount, false, false, "late", "interrupted"
		p.Accelerator, p.Failed = record.Known("other"), []string{"performance/answers"}
	})))
	if len(got.Refused) != 9 {
		t.Errorf("%d reasons, want 9: %v", len(got.Refused), got.Refused)
	}
	// Without numbers on one side what is known of both is told all the same.
	got = baseline.Compare(side(t, "a", baselinetest.Standard(1)), side(t, "b", after(func(p *baselinetest.Parts) {
		p.Failed, p.Accelerator = []string{"smoke/echo"}, record.Known("other")
	})))
	if len(got.Refused) != 2 {
		t.Errorf("%d reasons, want no numbers and the accelerator: %v", len(got.Refused), got.Refused)
	}
}

func TestWhatMayDiffer(t *testing.T) {
	t.Parallel()
	unknown := func(p *baselinetest.Parts) { p.Accelerator = record.Unknown("nobody says") }
	before := baselinetest.Standard(1)
	unknown(&before)
	if got := baseline.Compare(side(t, "a", before), side(t, "b", after(unknown))); len(got.Refused) != 1 || !strings.HasSuffix(got.Refused[0].String(), "unknown on both sides") {
		t.Errorf("two unknown accelerators: %v", got.Refused)
	}
	if got := baseline.Compare(side(t, "a", before), side(t, "b", after(unknown)), "accelerator"); len(got.Refused) > 0 {
		t.Errorf("stated to be the same, and refused: %v", got.Refused)
	}
	// What was stated does not hide a difference that is known.
	other := after(func(p *baselinetest.Parts) { p.Accelerator = record.Known("other") })
	if got := baseline.Compare(side(t, "a", baselinetest.Standard(1)), side(t, "b", other), "accelerator"); len(got.Refused) != 1 {
		t.Errorf("two known ones that differ: %v", got.Refused)
	}
	// The name of a suite is no part of it, and a seed may hold what JSON escapes.
	named := func(name string) func(*baselinetest.Parts) {
		return func(p *baselinetest.Parts) {
			var err error
			if p.Suite, err = baseline.NewSuite(name, "a<b>&c", 5, baselinetest.Small().Depths()...); err != nil {
				t.Fatal(err)
			}
		}
	}
	before = baselinetest.Standard(1)
	named("one")(&before)
	if got := baseline.Compare(side(t, "a", before), side(t, "b", after(named("two")))); len(got.Refused) > 0 {
		t.Errorf("equal suites of two names: %v", got.Refused)
	}
}
