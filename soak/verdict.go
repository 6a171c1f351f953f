package soak

import (
	"context"
	"fmt"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages"
	"infbench/stages/correctness"
	"infbench/stages/smoke"
)

// OverTime is the id of the check that a soak as a whole is.
const OverTime = "correctness/over-time"

var overTime = gates.Check[*History]{
	ID: OverTime,
	Doc: `what is right at first is right after hours of load, and nothing creeps

Cache entries go bad, state is spoilt by one request in thousands, memory leaks, an engine falls back to another device or is restarted unseen: a check of
a minute meets none of it. The checks of stages 2 and 3 take turns beside a light constant load whose answers are judged too; what fails after a clean start fails
with the time of its onset.`,
	Since:  "0.2.0",
	Cost:   8 * time.Hour,
	Modes:  []string{"CAC-04", "CON-07", "OPS-04", "OPS-05", "OPS-07", "OPS-08", "OPS-12"},
	Faults: []string{"wrong-digit:after=N", "crosstalk:after=N", "hang:after=N", "restart", "slower-with-age", "memory-grows", "drip:after=N"},
	Causes: []string{"state that stays until a restart: a cache, a grammar's masks, blocks that were freed in use", "a leak, or memory in pieces too small", "a crash loop, or a supervisor that restarts a hung engine"},
	Next:   []string{"the server's log around the onset", "restart the server and run stage 2: is it right again?", "infbench soak --target URL --keep-going: does it heal by itself?"},
	Run:    func(_ context.Context, h *History) (gates.Finding, error) { return h.finding(), nil },
}

// Infos returns the documentation of the check that a soak is.
func Infos() []gates.Info { return []gates.Info{overTime.Info()} }

// Verdict returns what the soak came to.
func (h *History) Verdict() gates.Verdict { return gates.Run(context.Background(), overTime, h) }

func (h *History) finding() gates.Finding {
	if len(h.failures) > 0 {
		return h.failure(h.failures[0])
	}
	end, over := h.Ended()
	if !over || end.Cause != "" {
		why := end.Cause
		if !over {
			why = "not ended"
		}
		return gates.Skip("%s after %v of %v: no failure in %s", why, h.Lasted().Round(time.Second), h.Plan().For, plural(h.Rounds(), "round"))
	}
	var reservations, unknown, evidence, causes []string
	for _, t := range h.Trends() {
		switch {
		case t.Word == Creeps:
			reservations = append(reservations, fmt.Sprintf("%s: %s", t.Metric, t.Why))
			causes = append(causes, t.causes()...)
		case t.Word == Unclear && t.weighty:
			unknown = append(unknown, t.Metric)
			evidence = append(evidence, fmt.Sprintf("%s: %s", t.Metric, t.Why))
		}
	}
	for _, d := range h.drifts {
		evidence = append(evidence, fmt.Sprintf("told after %v: %s: %s", d.At.Round(time.Second), d.Event.Metric, d.Event.Text))
	}
	if len(h.drifts) > 0 && reservations == nil {
		reservations = append(reservations, "something crept meanwhile")
	}
	if n := len(h.restarts); n > 0 {
		reservations = append(reservations, plural(n, "restart"))
		causes = append(causes, "a crash loop, or a supervisor that restarts a hung engine")
	}
	if unknown != nil {
		reservations = append(reservations, "too little to tell whether it creeps: "+strings.Join(unknown, ", "))
		causes = append(causes, "the soak was short, or the machine is busy with other things")
	}
	all := fmt.Sprintf("no new failure in %s over %v", plural(h.Rounds(), "round"), h.Lasted().Round(time.Second))
	if reservations == nil {
		return gates.Pass("%s, and nothing creeps", all)
	}
	f := gates.Warn("%s; %s", all, strings.Join(reservations, "; ")).Because(causes...)
	for _, r := range h.restarts {
		f = f.With("restarted after %v: %s", r.At.Round(time.Second), r.Event.What)
	}
	for _, line := range evidence {
		f = f.With("%s", line)
	}
	return f
}

// causes are what is likely behind something that creeps.
func (t Trend) causes() []string {
	switch {
	case t.Mode == "OPS-05":
		return []string{"a silent change to another device, such as the CPU"}
	case t.Mode == "OPS-08":
		return []string{"a leak, or memory in pieces too small"}
	}
	return []string{"what was begun is not given back: slots, blocks, requests that nobody waits for"}
}

// failure is the finding about the first failure.
func (h *History) failure(first Failure) gates.Finding {
	e := first.Event
	if first.AtStart {
		return gates.Fail("it failed from the beginning, not over time: %s: %s", e.Check, e.Summary)
	}
	f := gates.Fail("right at first, and after %v not any more: %s: %s", first.At.Round(time.Second), e.Check, e.Summary).Under(gates.Time)
	f = f.With("%s", h.onset(first))
	for _, line := range e.Evidence {
		f = f.With("%s", line)
	}
	const stays = "state that stays until a restart: a cache, a grammar's masks, blocks that were freed in use"
	if a := first.Again; a != nil {
		f = f.With("%s", a.String())
		switch {
		case a.Right < a.Asked:
			f = f.Because(stays, "the weights or the device are damaged since")
		case a.Status == gates.Passed:
			f = f.Because("a fault that comes and goes: it takes company, an order of requests or a state of the cache")
		}
	}
	switch {
	case first.Healed != nil && first.Healed.Event.Restart:
		f = f.With("healed by a restart, in round %d", first.Healed.Event.Round).Because(stays)
	case first.Healed != nil:
		f = f.With("healed by itself, in round %d, after %v", first.Healed.Event.Round, first.Healed.At.Round(time.Second))
	}
	for _, other := range h.failures[1:] {
		f = f.With("after %v: %s: %s", other.At.Round(time.Second), other.Event.Check, other.Event.Summary)
	}
	return f
}

// onset says between which moments a failure began.
func (h *History) onset(f Failure) string {
	text := fmt.Sprintf("onset %s, round %d", f.Time.Format(time.RFC3339), f.Event.Round)
	for _, r := range h.readings {
		if r.seen.Round == f.Event.LastRight {
			return fmt.Sprintf("%s; it held last in round %d, after %v", text, r.seen.Round, r.at.Round(time.Second))
		}
	}
	return text
}

// String says what came of asking once more.
func (a Again) String() string {
	text := fmt.Sprintf("alone, a plain question was answered rightly %d times of %d", a.Right, a.Asked)
	if a.Status != 0 {
		text += fmt.Sprintf("; asked once more, the check %s: %s", a.Status, a.Summary)
	}
	return text
}

// Report returns the soak as the stages that it ran: each check with the verdict that the
// soak keeps of it.
func (h *History) Report() stages.Report {
	end, over := h.Ended()
	rep := stages.Report{Started: h.Started(), Took: h.Lasted(), Interrupted: !over || end.Stopped}
	result := func(stage gates.Stage, ids []string) stages.Result {
		res := stages.Result{Stage: stage}
		for _, id := range ids {
			v := gates.Unasked(id, "the soak ended before it was asked")
			for _, t := range h.tallies {
				if t.Check == id {
					v = t.Worst
				}
			}
			res.Verdicts = append(res.Verdicts, v)
			res.Took += v.Took()
		}
		res.Status, _ = gates.Summarise(res.Verdicts)
		rep.Required = append(rep.Required, ids...)
		return res
	}
	rep.Results = append(rep.Results, result(gates.Smoke, ids(smoke.Infos())))
	list := ids(correctness.Infos())
	if rep.Results[0].Status == gates.Failed {
		rep.Required = append(append(rep.Required, list...), OverTime)
		rep.Results = append(rep.Results, stages.Result{Stage: gates.Correctness, NotRun: "stage 2 failed"})
		return rep
	}
	three := result(gates.Correctness, list)
	three.Verdicts = append(three.Verdicts, h.Verdict())
	three.Status, _ = gates.Summarise(three.Verdicts)
	three.Took = h.Lasted()
	rep.Required = append(rep.Required, OverTime)
	rep.Results = append(rep.Results, three)
	return rep
}

func ids(infos []gates.Info) []string {
	var out []string
	for _, i := range infos {
		out = append(out, i.ID)
	}
	return out
}
