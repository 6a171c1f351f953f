package gates

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Capability is something that an endpoint may or may not be able to do, such as
// "tools". The package that makes the subjects defines the names.
type Capability string

// Able is implemented by subjects that know what they can do. Unable returns the
// reason why the subject lacks a capability, or "" when it has it. A subject that
// does not implement Able can do everything.
type Able interface {
	Unable(Capability) (why string)
}

// Check asks one claim of a subject of type S. Its fields are its documentation:
// the list of checks, their explanations and the reference page are printed from
// them.
type Check[S any] struct {
	// ID is "stage/name". It is never renamed or reused.
	ID string
	// Doc is the claim on the first line, lower case, no full stop, then a blank
	// line and the failure that it was drawn from.
	Doc string
	// Since is the version that brought the check.
	Since string
	// Cost is the time that it takes on a healthy subject of ordinary speed.
	Cost time.Duration
	// Needs lists the capabilities without which it is skipped.
	Needs []Capability
	// Modes lists the ids of the failure taxonomy, or of the static catalogue, that it covers.
	Modes []string
	// Faults names what it has been proven to fire on: its failing fixtures.
	Faults []string
	// Engines lists the engines in which the failure was reported; empty means any.
	Engines []string
	// Does lists what engines do with the defect, where it is known.
	Does []Consequence
	// Causes lists likely causes, likeliest first, printed when the check fails or warns.
	Causes []string
	// Next lists the commands to run after a failure.
	Next []string
	// Late says that it runs after the others of its stage: it judges what happened
	// meanwhile.
	Late bool
	// Run asks. An error means that the question could not be put to the subject.
	Run func(context.Context, S) (Finding, error)
}

// A Consequence is what one engine does when it meets the defect that a check looks
// for: it raises, warns, or serves on.
type Consequence struct {
	// Engine names the engine, and the version where it was seen.
	Engine string `json:"engine"`
	// Does says what it does, in words.
	Does string `json:"does"`
}

// Info is a check's documentation, free of its subject's type.
type Info struct {
	ID      string        `json:"id"`
	Stage   Stage         `json:"stage"`
	Title   string        `json:"title"`
	Why     string        `json:"why"`
	Since   string        `json:"since"`
	Cost    string        `json:"cost"`
	Engines []string      `json:"engines,omitempty"`
	Needs   []Capability  `json:"needs,omitempty"`
	Modes   []string      `json:"modes,omitempty"`
	Faults  []string      `json:"faults"`
	Does    []Consequence `json:"does,omitempty"`
	Causes  []string      `json:"causes,omitempty"`
	Next    []string      `json:"next,omitempty"`
}

// Info returns the check's documentation. The check must be valid.
func (c Check[S]) Info() Info {
	stage, _ := StageOf(c.ID)
	title, why, _ := strings.Cut(c.Doc, "\n\n")
	return Info{
		ID: c.ID, Stage: stage, Title: title, Why: strings.TrimSpace(why), Since: c.Since, Cost: c.Cost.String(),
		Engines: clone(c.Engines), Needs: append([]Capability(nil), c.Needs...), Modes: clone(c.Modes),
		Faults: clone(c.Faults), Does: append([]Consequence(nil), c.Does...), Causes: clone(c.Causes), Next: clone(c.Next),
	}
}

// Validate returns what is wrong with the check's metadata, all at once.
func (c Check[S]) Validate() error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if _, err := StageOf(c.ID); err != nil {
		errs = append(errs, err)
	}
	title, why, _ := strings.Cut(c.Doc, "\n\n")
	switch {
	case title == "" || strings.Contains(title, "\n"):
		bad("%s: the first line of Doc must be the claim, followed by a blank line", c.ID)
	case strings.HasSuffix(title, "."):
		bad("%s: the claim ends without a full stop", c.ID)
	case title[0] >= 'A' && title[0] <= 'Z' && !strings.HasPrefix(title, "TTFT"):
		bad("%s: the claim begins in lower case", c.ID)
	}
	if strings.TrimSpace(why) == "" {
		bad("%s: Doc must say which failure the check was drawn from", c.ID)
	}
	if c.Since == "" || c.Cost <= 0 || c.Run == nil {
		bad("%s: Since, Cost and Run are required", c.ID)
	}
	if len(c.Faults) == 0 {
		bad("%s: a check that has never failed proves nothing: name the faults it was seen to fire on", c.ID)
	}
	for _, d := range c.Does {
		if strings.TrimSpace(d.Engine) == "" || strings.TrimSpace(d.Does) == "" {
			bad("%s: a consequence names an engine and what it does", c.ID)
		}
	}
	return errors.Join(errs...)
}

// ErrStopped is the cause that a run's context is cancelled with when a person
// stops it: what was not asked by then is skipped, not failed.
var ErrStopped = errors.New("interrupted")

// Run asks one check of one subject and returns the verdict. A missing capability
// skips it, an error or a missing finding fails it, a panic fails it with the
// place where it happened in one line, and an interrupted run skips it.
func Run[S any](ctx context.Context, c Check[S], subject S) Verdict {
	v := Verdict{check: c.ID}
	start := time.Now()
	v.finding = ask(ctx, c, subject)
	v.took = time.Since(start)
	if s := v.finding.status; s == Failed || s == Warned {
		if v.finding.causes == nil {
			v.finding = v.finding.Because(c.Causes...)
		}
		if v.finding.next == nil {
			v.finding = v.finding.Then(c.Next...)
		}
	}
	return v
}

func ask[S any](ctx context.Context, c Check[S], subject S) (f Finding) {
	defer func() {
		if p := recover(); p != nil {
			// A value that was itself made from a panic holds a stack after its first line.
			what, _, _ := strings.Cut(fmt.Sprint(p), "\n")
			f = Fail("the check itself broke: %s", what).With("at %s", panicPlace()).
				Because("a defect in infbench, not in the endpoint").Then("report this with the output of --json")
		}
	}()
	if able, ok := any(subject).(Able); ok {
		for _, need := range c.Needs {
			if why := able.Unable(need); why != "" {
				return Skip("needs %s: %s", need, why)
			}
		}
	}
	f, err := c.Run(ctx, subject)
	stopped := errors.Is(context.Cause(ctx), ErrStopped)
	switch {
	case stopped && (err != nil || f.status == Failed || f.status == Warned):
		// What a check saw while its requests were being cancelled is no finding.
		return Skip("interrupted before it was answered")
	case err != nil:
		return unasked(err)
	case f.status == 0:
		return Fail("the check returned no finding")
	}
	return f
}

// panicPlace returns where the panic that is being recovered from happened, such
// as "needle.go:41 in correctness.needle". It is no stack trace and names no folder
// of the machine that built the program.
func panicPlace() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	panicking := false
	for {
		frame, more := frames.Next()
		inRuntime := strings.HasPrefix(frame.Function, "runtime.")
		if panicking && !inRuntime {
			return fmt.Sprintf("%s:%d in %s", filepath.Base(frame.File), frame.Line, frame.Function[strings.LastIndex(frame.Function, "/")+1:])
		}
		panicking = panicking || frame.Function == "runtime.gopanic"
		if !more {
			return "an unknown place"
		}
	}
}

// advised is implemented by errors that know what is behind them and what to do.
type advised interface {
	Advice() (causes, next []string)
}

// unasked is the finding about a question that could not be put.
func unasked(err error) Finding {
	f := Fail("could not be asked: %v", err)
	var a advised
	if errors.As(err, &a) {
		causes, next := a.Advice()
		return f.Because(causes...).Then(next...)
	}
	return f.Because("the request itself failed, before the claim could be judged").Then("look at the server's log around this request")
}
