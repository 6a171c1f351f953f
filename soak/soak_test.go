package soak

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"go.uber.org/goleak"

	"infbench/gates"
	"infbench/record"
	"infbench/stages/correctness"
	"infbench/stages/endpoint"
	"infbench/stages/endpoint/endpointtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hours is a soak of seven rounds that many tests can afford.
func hours() Plan {
	return Plan{For: 6 * time.Hour, Every: time.Hour, Sessions: 2, Think: 3 * time.Minute}
}

// place is where a soak of a test happens.
type place struct {
	t       *testing.T
	net     *endpointtest.Network
	way     http.RoundTripper
	entries []Entry
	seal    Sealer
	on      func(p *place, e Entry) // is told of each event
	past    *History
	limits  endpoint.Limits
}

// at starts what the lines describe, as fixtures do.
func at(t *testing.T, lines ...string) *place {
	p := &place{t: t, net: endpointtest.NewNetwork(t), seal: record.NewRedactor([]byte(strings.Repeat("k", 32))), limits: endpointtest.Limits()}
	p.way = p.net.Transport()
	p.serve(lines...)
	return p
}

// serve starts another process in the place of the one that listens.
func (p *place) serve(lines ...string) { p.net.Start(engine(p.t, lines...)) }

// engine is what the lines describe, with a context that a test can afford.
func engine(t *testing.T, lines ...string) http.Handler {
	text := "\n" + strings.Join(lines, "\n") + "\n"
	if !strings.Contains(text, "\nengine: ") {
		text += "engine:\n"
	}
	return endpointtest.Handler(t, &txtar.Archive{Comment: []byte(strings.Replace(text, "\nengine:", "\nengine: context=4096", 1))})
}

func (p *place) open(ctx context.Context, wait time.Duration) (Opened, error) {
	target, err := endpoint.ParseTarget("http://127.0.0.1:1", endpoint.TargetOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	o := endpoint.Options{InFlight: 4, Seed: 1, Limits: p.limits, Transport: p.way}
	out := Opened{}
	parts := gates.SubjectParts{Endpoint: target.String()}
	if wait > 0 {
		err = endpoint.Await(ctx, target, o, wait, nil)
	}
	if err == nil {
		out.Endpoint, err = endpoint.Open(ctx, target, o)
	}
	if err == nil {
		b := out.Endpoint.Build()
		parts.Engine, parts.Model, parts.Config, parts.Process = out.Endpoint.Engine().Name()+" "+b.Version, out.Endpoint.Model(), b.Config, b.Process
	}
	s, err2 := gates.NewSubject(parts)
	out.Subject = s
	return out, errors.Join(err, err2)
}

// run runs a soak to its end.
func (p *place) run(plan Plan) *History {
	p.t.Helper()
	h, err := Run(p.t.Context(), p.options(plan))
	if err != nil {
		p.t.Fatal(err)
	}
	return h
}

func (p *place) options(plan Plan) Options {
	return Options{Plan: plan, Run: "20261130T080000Z-00000000", Harness: "test", Open: p.open, Past: p.past, Seal: p.seal, Emit: func(e Entry) {
		p.entries = append(p.entries, e)
		if p.on != nil {
			p.on(p, e)
		}
	}}
}

// events returns the events of one kind.
func events[E Event](p *place) []E {
	var out []E
	for _, e := range p.entries {
		if v, ok := e.Event.(E); ok {
			out = append(out, v)
		}
	}
	return out
}

// bubble runs a test on a clock of its own, on which hours take no time.
func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, f)
	})
}

func TestHealthy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := at(t)
		plan := Plan{For: 8 * time.Hour, Every: 30 * time.Minute, Sessions: 2, Think: 2 * time.Minute}
		h := p.run(plan)
		if v := h.Verdict(); v.Status() != gates.Passed || h.Report().Exit() != 0 {
			t.Errorf("%s: %s\n%s", v.Status(), v.Summary(), strings.Join(v.Evidence(), "\n"))
		}
		// Rounds at 0, 30 minutes, …, 8 hours: 17 of them.
		if h.Rounds() != 17 || h.Lasted() < 8*time.Hour || h.Lasted() > 8*time.Hour+time.Minute {
			t.Errorf("%d rounds in %v", h.Rounds(), h.Lasted())
		}
		for i, e := range p.entries {
			if r, ok := e.Event.(Reading); ok && (e.At < time.Duration(r.Round-1)*30*time.Minute || e.At > time.Duration(r.Round-1)*30*time.Minute+10*time.Second) {
				t.Errorf("entry %d: round %d was read after %v", i, r.Round, e.At)
			}
		}
		// Two sessions with a mean think time of two minutes for eight hours ask about 480 times.
		if a := h.Load(); a.Asked != a.Right || a.Asked < 350 || a.Asked > 620 {
			t.Errorf("load: %+v", a)
		}
		seen := map[string][]int{}
		for _, r := range events[Round](p) {
			for _, v := range r.Answers.Verdicts() {
				seen[v.Check()] = append(seen[v.Check()], r.N)
			}
		}
		for _, c := range correctness.Checks() {
			rounds := seen[c.ID]
			if len(rounds) == 0 || rounds[0] != 1 || rounds[len(rounds)-1] != 17 {
				t.Errorf("%s was asked in the rounds %v", c.ID, rounds)
			}
			for i := 1; i < len(rounds); i++ {
				if gap := rounds[i] - rounds[i-1]; gap > turns || c.Cost <= cheap && gap != 1 {
					t.Errorf("%s was asked in the rounds %v", c.ID, rounds)
				}
			}
		}
		for _, r := range events[Round](p)[1:] {
			if first := r.Answers.Verdicts()[0].Check(); first != sameServer {
				t.Errorf("round %d begins with %s", r.N, first)
			}
		}
		for _, tr := range h.Trends() {
			if want := (tr.Metric == "resident memory"); (tr.Word == Unshown) != want || !want && tr.Word != Steady {
				t.Errorf("%+v", tr)
			}
		}
	})
}

// Each alarm goes off on its fault; TestHealthy is the other way. Faults begin after some
// hundred requests, beyond stage 2 and the first round, or grow with the hours.
func TestAlarms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault  string
		status gates.Status
		says   string // the summary holds
		saw    string // so does the evidence
		check  string // that failed
		when   gates.Condition
	}{
		{"wrong-digit:after=1000", gates.Failed, "right at first, and after ", "alone, a plain question was answered rightly 0 times of 3", "", gates.Time},
		{"crosstalk:after=1000", gates.Failed, "right at first", "alone, a plain question was answered rightly 3 times of 3", "correctness/canaries", gates.Time},
		{"malformed-call:after=1000", gates.Failed, "right at first", "it held last in round", "smoke/tool-call", gates.Time},
		{"http500:after=1000,every=1", gates.Failed, "right at first", "500", "", gates.Time},
		{"hang:after=1000", gates.Failed, "right at first", "did not come within", "", gates.Time},
		{"restart:after=1000", gates.Failed, "the server was restarted", "server process was started", sameServer, gates.Time},
		{"slower-with-age:per-hour=100ms", gates.Warned, "first token: it grows by more than 10 % an hour", "told after ", "", 0},
		{"memory-grows:per-hour=1024", gates.Warned, "resident memory: it grows by more than 10 % an hour", "told after ", "", 0},
		{"memory-grows:per-hour=40", gates.Passed, "nothing creeps", "", "", 0},
		{"drip:delay=5ms,after=1000", gates.Warned, "decode speed: in the last 3 rounds it decodes less than half as fast", "", "", 0},
		{"one-token", gates.Failed, "it failed from the beginning, not over time: smoke/", "", "", 0},
		{"wrong-digit:warm=1", gates.Failed, "it failed from the beginning, not over time: correctness/", "", "", 0},
		{"reject:above=8", gates.Passed, "nothing creeps", "", "", 0},
	} {
		bubble(t, c.fault, func(t *testing.T) {
			p := at(t, "fault: "+c.fault)
			h := p.run(hours())
			v := h.Verdict()
			saw := strings.Join(v.Evidence(), "\n")
			if v.Status() != c.status || !strings.Contains(v.Summary(), c.says) || !strings.Contains(v.Summary()+saw, c.saw) || v.Condition() != c.when {
				t.Errorf("%s (%s): %s\n%s", v.Status(), v.Condition(), v.Summary(), saw)
			}
			list := h.Failures()
			if (c.status == gates.Failed) != (len(list) > 0) || c.check != "" && list[0].Event.Check != c.check {
				t.Errorf("failures: %+v", list)
			}
			want := map[gates.Status]int{gates.Passed: 0, gates.Warned: 1, gates.Failed: 2}[c.status]
			if exit := h.Report().Exit(); exit != want {
				t.Errorf("exit %d, want %d", exit, want)
			}
			if _, err := h.Report().Ledger(h.Subject()); err != nil {
				t.Errorf("the report makes no ledger: %v", err)
			}
			if c.status == gates.Failed && h.Lasted() > 5*time.Hour+30*time.Minute {
				t.Errorf("it was not ended by the failure, but after %v", h.Lasted())
			}
		})
	}
}
