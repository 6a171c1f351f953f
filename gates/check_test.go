package gates_test

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"infbench/gates"
)

// lacking is a subject that knows what it cannot do.
type lacking map[gates.Capability]string

func (l lacking) Unable(c gates.Capability) string {
	if l[c] == "panic" {
		panic("capabilities are broken")
	}
	return l[c]
}

// check returns a valid check that runs run.
func check[S any](id string, run func(context.Context, S) (gates.Finding, error)) gates.Check[S] {
	return gates.Check[S]{
		ID: id, Doc: "it holds\n\nIt once did not.", Since: "0.1.0", Cost: time.Second, Faults: []string{"fault"},
		Causes: []string{"the usual cause"}, Next: []string{"the usual command"}, Run: run,
	}
}

func returns(f gates.Finding, err error) func(context.Context, lacking) (gates.Finding, error) {
	return func(context.Context, lacking) (gates.Finding, error) { return f, err }
}

func TestRun(t *testing.T) {
	t.Parallel()
	stopped, stop := context.WithCancelCause(t.Context())
	stop(gates.ErrStopped)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	broken := errors.New("connection refused")
	tests := []struct {
		name    string
		ctx     context.Context
		subject lacking
		needs   []gates.Capability
		run     func(context.Context, lacking) (gates.Finding, error)
		want    gates.Status
		summary string
		causes  string
		next    string
	}{
		{"pass", t.Context(), nil, nil, returns(gates.Pass("fine"), nil), gates.Passed, "fine", "[]", "[]"},
		{"not applicable", t.Context(), nil, nil, returns(gates.NotApply("dense"), nil), gates.NotApplicable, "dense", "[]", "[]"},
		{"skip", t.Context(), nil, nil, returns(gates.Skip("no lens"), nil), gates.Skipped, "no lens", "[]", "[]"},
		{"warn takes the defaults", t.Context(), nil, nil, returns(gates.Warn("slow"), nil), gates.Warned, "slow", "[the usual cause]", "[the usual command]"},
		{"fail takes the defaults", t.Context(), nil, nil, returns(gates.Fail("wrong"), nil), gates.Failed, "wrong", "[the usual cause]", "[the usual command]"},
		{
			"fail keeps its own", t.Context(), nil, nil, returns(gates.Fail("wrong").Because("mine").Then("do"), nil),
			gates.Failed, "wrong", "[mine]", "[do]",
		},
		{
			"pass keeps its own", t.Context(), nil, nil, returns(gates.Pass("fine").Because("mine"), nil),
			gates.Passed, "fine", "[mine]", "[]",
		},
		{
			"error", t.Context(), nil, nil, returns(gates.Pass("fine"), broken), gates.Failed, "could not be asked: connection refused",
			"[the request itself failed, before the claim could be judged]", "[look at the server's log around this request]",
		},
		{
			"error because the run was interrupted", stopped, nil, nil, returns(gates.Finding{}, fmt.Errorf("ask: %w", context.Canceled)),
			gates.Skipped, "interrupted before it was answered", "[]", "[]",
		},
		{"failure seen while requests were cancelled", stopped, nil, nil, returns(gates.Fail("wrong"), nil), gates.Skipped, "interrupted before it was answered", "[]", "[]"},
		{"answer in spite of the interruption", stopped, nil, nil, returns(gates.Pass("right"), nil), gates.Passed, "right", "[]", "[]"},
		{
			"error because of another cancellation", cancelled, nil, nil, returns(gates.Finding{}, context.Canceled), gates.Failed,
			"could not be asked: context canceled", "[the request itself failed, before the claim could be judged]", "[look at the server's log around this request]",
		},
		{"no finding", t.Context(), nil, nil, returns(gates.Finding{}, nil), gates.Failed, "the check returned no finding", "[the usual cause]", "[the usual command]"},
		{"no outcome", t.Context(), nil, nil, returns(gates.Finding{}.With("x"), nil), gates.Failed, "the check returned no finding", "[the usual cause]", "[the usual command]"},
		{
			"missing capability", t.Context(),
			lacking{"tools": "no parser is configured"},
			[]gates.Capability{"stream", "tools"},
			func(context.Context, lacking) (gates.Finding, error) { panic("asked in spite of it") },
			gates.Skipped, "needs tools: no parser is configured", "[]", "[]",
		},
		{"capability is there", t.Context(), lacking{"vision": "text only"}, []gates.Capability{"tools"}, returns(gates.Pass("fine"), nil), gates.Passed, "fine", "[]", "[]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := check("smoke/x", tt.run)
			c.Needs = tt.needs
			v := gates.Run(tt.ctx, c, tt.subject)
			if v.Status() != tt.want || v.Summary() != tt.summary {
				t.Errorf("got %s %q, want %s %q", v.Status(), v.Summary(), tt.want, tt.summary)
			}
			if fmt.Sprint(v.Causes()) != tt.causes || fmt.Sprint(v.Next()) != tt.next {
				t.Errorf("causes %v, next %v, want %s, %s", v.Causes(), v.Next(), tt.causes, tt.next)
			}
			if v.Check() != "smoke/x" || v.Stage() != gates.Smoke {
				t.Errorf("the verdict is of %s, stage %s", v.Check(), v.Stage())
			}
		})
	}
}

func nilMap() int {
	var m map[string]int
	m["x"] = 1 //nolint:staticcheck // the panic is what is tested
	return len(m)
}

// A panic fails the check; what a person sees is one line about it, never a stack
// trace and never a folder of the machine that built the program.
func TestRunPanics(t *testing.T) {
	t.Parallel()
	var none *strings.Builder
	for name, tt := range map[string]struct {
		run     func(context.Context, lacking) (gates.Finding, error)
		summary string
		place   string
	}{
		"own panic": {
			func(context.Context, lacking) (gates.Finding, error) { panic("impossible case") },
			"the check itself broke: impossible case", "in gates_test.TestRunPanics",
		},
		"index out of range": {
			func(_ context.Context, s lacking) (gates.Finding, error) {
				return gates.Pass("%v", []int{}[len(s)]), nil
			},
			"the check itself broke: runtime error: index out of range [0] with length 0", "in gates_test.TestRunPanics",
		},
		"nil map": {
			func(context.Context, lacking) (gates.Finding, error) { return gates.Pass("%d", nilMap()), nil },
			"the check itself broke: assignment to entry in nil map", "in gates_test.nilMap",
		},
		"nil pointer": {
			func(context.Context, lacking) (gates.Finding, error) { return gates.Pass("%d", none.Len()), nil },
			"the check itself broke: runtime error: invalid memory address or nil pointer dereference", "in strings.(*Builder).Len",
		},
		"panic of a panic": {
			func(context.Context, lacking) (gates.Finding, error) {
				panic(fmt.Errorf("worker broke\n\n%s", debug.Stack()))
			},
			"the check itself broke: worker broke", "in gates_test.TestRunPanics",
		},
		"no function": {nil, "the check itself broke: runtime error: invalid memory address or nil pointer dereference", "check.go:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := gates.Run(t.Context(), check("smoke/x", tt.run), lacking{})
			if v.Status() != gates.Failed || v.Summary() != tt.summary {
				t.Errorf("got %s %q, want failed %q", v.Status(), v.Summary(), tt.summary)
			}
			evidence := v.Evidence()
			if len(evidence) != 1 || !strings.HasPrefix(evidence[0], "at ") || !strings.Contains(evidence[0], ".go:") || !strings.Contains(evidence[0], tt.place) {
				t.Errorf("evidence %q, want one line with the place %q", evidence, tt.place)
			}
			for _, s := range append(evidence, v.Summary()) {
				if strings.Contains(s, "goroutine") || strings.Contains(s, "/") || strings.Contains(s, `\n`) {
					t.Errorf("a stack or a path reached the user: %s", s)
				}
			}
			if got := fmt.Sprint(v.Causes()); got != "[a defect in infbench, not in the endpoint]" {
				t.Errorf("causes %s", got)
			}
		})
	}
	t.Run("the subject's capabilities", func(t *testing.T) {
		t.Parallel()
		c := check("smoke/x", returns(gates.Pass("fine"), nil))
		c.Needs = []gates.Capability{"tools"}
		if v := gates.Run(t.Context(), c, lacking{"tools": "panic"}); v.Status() != gates.Failed || v.Summary() != "the check itself broke: capabilities are broken" {
			t.Errorf("got %s %q", v.Status(), v.Summary())
		}
	})
}

func TestRunMeasuresHowLongItTook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := gates.Run(t.Context(), check("smoke/x", func(ctx context.Context, _ int) (gates.Finding, error) {
			<-time.After(1500 * time.Millisecond)
			return gates.Pass("late"), nil
		}), 0)
		if v.Took() != 1500*time.Millisecond {
			t.Errorf("took %v, want 1.5s", v.Took())
		}
	})
}

func TestUnasked(t *testing.T) {
	t.Parallel()
	v := gates.Unasked("static/x", "no checkpoint was given: 100%\n")
	if v.Status() != gates.Skipped || v.Summary() != `no checkpoint was given: 100%\n` || v.Stage() != gates.Static || v.Took() != 0 {
		t.Errorf("got %s %q of stage %s", v.Status(), v.Summary(), v.Stage())
	}
}

func TestVerdictSlicesAreCopies(t *testing.T) {
	t.Parallel()
	v := gates.Run(t.Context(), check("smoke/x", returns(gates.Fail("wrong").With("seen"), nil)), nil)
	v.Evidence()[0], v.Causes()[0], v.Next()[0] = "x", "x", "x"
	if got := slices.Concat(v.Evidence(), v.Causes(), v.Next()); slices.Contains(got, "x") {
		t.Errorf("a returned slice is no copy: %v", got)
	}
}

func TestRedacted(t *testing.T) {
	t.Parallel()
	v := gates.Run(t.Context(), check("smoke/x", returns(gates.Fail("key sk-1").With("host sk-1").Because("c sk-1").Then("n sk-1"), nil)), nil)
	red := v.Redacted(func(s string) string { return strings.ReplaceAll(s, "sk-1", "\x1b***") })
	got := fmt.Sprint(red.Summary(), red.Evidence(), red.Causes(), red.Next())
	if want := `key \u{1b}***[host \u{1b}***] [c \u{1b}***] [n \u{1b}***]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if v.Summary() != "key sk-1" || v.Evidence()[0] != "host sk-1" {
		t.Errorf("the verdict itself was changed: %s %v", v.Summary(), v.Evidence())
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*gates.Check[int])
		want   string // "" means valid
	}{
		{"valid", func(*gates.Check[int]) {}, ""},
		{"TTFT may begin the claim", func(c *gates.Check[int]) { c.Doc = "TTFT is real\n\nIt was not." }, ""},
		{"no id", func(c *gates.Check[int]) { c.ID = "" }, "want stage/name"},
		{"unknown stage", func(c *gates.Check[int]) { c.ID = "warmup/x" }, "want stage/name"},
		{"capital in the id", func(c *gates.Check[int]) { c.ID = "smoke/Known" }, "want stage/name"},
		{"id with a slash more", func(c *gates.Check[int]) { c.ID = "smoke/a/b" }, "want stage/name"},
		{"no doc", func(c *gates.Check[int]) { c.Doc = "" }, "must be the claim"},
		{"claim of two lines", func(c *gates.Check[int]) { c.Doc = "one\ntwo\n\nWhy." }, "must be the claim"},
		{"full stop", func(c *gates.Check[int]) { c.Doc = "it holds.\n\nWhy." }, "without a full stop"},
		{"capital", func(c *gates.Check[int]) { c.Doc = "It holds\n\nWhy." }, "lower case"},
		{"no failure", func(c *gates.Check[int]) { c.Doc = "it holds\n\n  " }, "drawn from"},
		{"no version", func(c *gates.Check[int]) { c.Since = "" }, "Since, Cost and Run"},
		{"no cost", func(c *gates.Check[int]) { c.Cost = 0 }, "Since, Cost and Run"},
		{"nothing to run", func(c *gates.Check[int]) { c.Run = nil }, "Since, Cost and Run"},
		{"a consequence", func(c *gates.Check[int]) { c.Does = []gates.Consequence{{Engine: "vLLM 0.32", Does: "nothing"}} }, ""},
		{"a consequence of nobody", func(c *gates.Check[int]) { c.Does = []gates.Consequence{{Does: "nothing"}} }, "names an engine"},
		{"a consequence without words", func(c *gates.Check[int]) { c.Does = []gates.Consequence{{Engine: "vLLM 0.32", Does: " "}} }, "names an engine"},
		{"never failed", func(c *gates.Check[int]) { c.Faults = nil }, "proves nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := check("smoke/x", func(context.Context, int) (gates.Finding, error) { return gates.Pass("1"), nil })
			tt.change(&c)
			err := c.Validate()
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	all := gates.Check[int]{}.Validate()
	for _, want := range []string{"want stage/name", "must be the claim", "drawn from", "Since, Cost and Run", "proves nothing"} {
		if !strings.Contains(all.Error(), want) {
			t.Errorf("the refusal of an empty check does not say %q:\n%v", want, all)
		}
	}
}

func TestInfo(t *testing.T) {
	t.Parallel()
	c := check("correctness/needle", returns(gates.Pass("1"), nil))
	c.Needs, c.Engines = []gates.Capability{"tools"}, []string{"vllm"}
	c.Does = []gates.Consequence{{Engine: "vLLM 0.32", Does: "raises"}}
	i := c.Info()
	if len(i.Does) != 1 || i.Does[0] != c.Does[0] {
		t.Errorf("consequences %v", i.Does)
	}
	if i.ID != "correctness/needle" || i.Stage != gates.Correctness || i.Title != "it holds" || i.Why != "It once did not." || i.Cost != "1s" {
		t.Errorf("got %+v", i)
	}
	i.Faults[0], i.Needs[0], i.Engines[0] = "x", "x", "x"
	i.Does[0].Does = "x"
	if c.Does[0].Does != "raises" || c.Faults[0] != "fault" || c.Needs[0] != "tools" || c.Engines[0] != "vllm" {
		t.Errorf("Info shares its slices with the check: %+v", c)
	}
}
