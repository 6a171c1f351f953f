package soak

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"infbench/gates"
	"infbench/internal/faultproxy"
	"infbench/stages/correctness"
	"infbench/stages/endpoint"
)

// switched is one engine before which faults can be put and taken away.
type switched struct {
	engine http.Handler
	now    atomic.Pointer[http.Handler]
}

func newSwitched(t *testing.T) *switched {
	s := &switched{engine: engine(t)}
	s.now.Store(&s.engine)
	return s
}

func (s *switched) put(t *testing.T, faults ...string) {
	p, err := faultproxy.ForHandler(s.engine, faults, 1)
	if err != nil {
		t.Fatal(err)
	}
	var h http.Handler = p
	s.now.Store(&h)
}

func (s *switched) ServeHTTP(w http.ResponseWriter, r *http.Request) { (*s.now.Load()).ServeHTTP(w, r) }

// afterRound calls f when a round has ended.
func afterRound(n int, f func(p *place)) func(*place, Entry) {
	return func(p *place, e Entry) {
		if r, ok := e.Event.(Round); ok && r.N == n {
			f(p)
		}
	}
}

// What begins between two rounds is seen by the load, at once and not in the next round.
func TestLoadSeesItFirst(t *testing.T) {
	t.Parallel()
	for fault, summary := range map[string]string{"stale-cache": mixed, "http500:every=1": unanswered, "hang": unanswered, "cut": unanswered} {
		bubble(t, fault, func(t *testing.T) {
			p := at(t)
			s := newSwitched(t)
			p.net.Start(s)
			p.on = afterRound(4, func(*place) { s.put(t, fault) })
			h := p.run(hours())
			list := h.Failures()
			if len(list) != 1 || list[0].Event.Check != OverTime || list[0].Event.Summary != summary || list[0].AtStart {
				t.Fatalf("%+v", list)
			}
			// Round 4 began after 3 hours, round 5 would have after 4.
			if at := list[0].At; at < 3*time.Hour || at > 3*time.Hour+40*time.Minute {
				t.Errorf("told after %v", at)
			}
			if want := (fault == "stale-cache"); (list[0].Again.Right == 3) != want {
				t.Errorf("alone: %+v", list[0].Again)
			}
		})
	}
}

// What goes away again is told to have healed, and the soak has failed all the same.
func TestHeals(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"wrong-digit", "stale-cache", "http500:every=1"} {
		bubble(t, fault, func(t *testing.T) {
			p := at(t)
			s := newSwitched(t)
			p.net.Start(s)
			p.on = func(p *place, e Entry) {
				afterRound(3, func(*place) { s.put(t, fault) })(p, e)
				afterRound(5, func(*place) { s.put(t) })(p, e)
			}
			plan := hours()
			plan.KeepGoing = true
			h := p.run(plan)
			if h.Rounds() != 7 || h.Report().Exit() != 2 {
				t.Errorf("%d rounds, exit %d", h.Rounds(), h.Report().Exit())
			}
			for _, f := range h.Failures() {
				if f.Healed == nil || f.Healed.Event.Restart || f.Healed.Event.Round < 6 {
					t.Errorf("%s: healed %+v", f.Event.Check, f.Healed)
				}
			}
			if v := h.Verdict(); v.Status() != gates.Failed || !strings.Contains(strings.Join(v.Evidence(), "\n"), "healed by itself") {
				t.Errorf("%s: %s", v.Status(), v.Evidence())
			}
		})
	}
}

// restart kills the server after a round and starts another one in its place a while after
// that was noticed.
func restart(round int, after time.Duration, lines ...string) func(*place, Entry) {
	kill := afterRound(round, func(p *place) { p.net.Kill() })
	return func(p *place, e Entry) {
		kill(p, e)
		if _, ok := e.Event.(Away); ok && after > 0 {
			time.AfterFunc(after, func() { p.serve(lines...) })
		}
	}
}

func TestRestarts(t *testing.T) {
	t.Parallel()
	plans := map[string]func(*Plan){
		"default":        func(*Plan) {},
		"allow-restarts": func(p *Plan) { p.AllowRestarts = true },
		"keep-going":     func(p *Plan) { p.KeepGoing = true },
	}
	for _, c := range []struct {
		plan   string
		name   string
		away   time.Duration // 0: for good
		with   []string      // what comes in its place
		status gates.Status
		says   string
		rounds int // 0: any
	}{
		{"default", "back in ten seconds", 10 * time.Second, nil, gates.Failed, "after 3h", 4},
		{"default", "for good", 0, nil, gates.Failed, "the server is away, and did not come back", 4},
		{"allow-restarts", "back in ten seconds", 10 * time.Second, nil, gates.Warned, "1 restart", 0},
		{"allow-restarts", "back in an hour", time.Hour, nil, gates.Warned, "1 restart", 0},
		{"allow-restarts", "for good", 0, nil, gates.Failed, "the server is away, and did not come back", 4},
		{"allow-restarts", "broken", time.Minute, []string{"fault: wrong-digit"}, gates.Failed, "right at first", 0},
		{"allow-restarts", "another configuration", time.Minute, []string{"engine: no-prefix-cache"}, gates.Failed, "the server was restarted", 4},
		{"keep-going", "back in ten seconds", 10 * time.Second, nil, gates.Failed, "the server was restarted", 0},
	} {
		bubble(t, c.plan+", "+c.name, func(t *testing.T) {
			p := at(t)
			p.on = restart(4, c.away, c.with...)
			plan := hours()
			plans[c.plan](&plan)
			h := p.run(plan)
			v := h.Verdict()
			if v.Status() != c.status || !strings.Contains(v.Summary(), c.says) || c.rounds > 0 && h.Rounds() != c.rounds {
				t.Errorf("%s after %d rounds: %s\n%s", v.Status(), h.Rounds(), v.Summary(), strings.Join(v.Evidence(), "\n"))
			}
			if c.away > 0 && len(h.Restarts()) != 1 || len(events[Away](p)) != 1 {
				t.Errorf("restarts %+v, away %+v", h.Restarts(), events[Away](p))
			}
			if c.status == gates.Warned && h.Lasted() < 6*time.Hour {
				t.Errorf("it lasted %v", h.Lasted())
			}
			if _, err := h.Report().Ledger(h.Subject()); err != nil {
				t.Errorf("the report makes no ledger: %v", err)
			}
		})
	}
}

// Without a start time, counters that fall show a restart; where connections are refused and
// the same process is there again, it was none.
func TestWhatIsARestart(t *testing.T) {
	t.Parallel()
	hide := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/metrics" {
				w = &without{w, "process_start_time_seconds"}
			}
			h.ServeHTTP(w, r)
		})
	}
	bubble(t, "counters fall", func(t *testing.T) {
		p := at(t)
		p.net.Start(hide(engine(t)))
		p.on = afterRound(4, func(p *place) {
			next := hide(engine(t))
			// Nobody asks meanwhile: the swap itself is not seen.
			time.AfterFunc(time.Millisecond, func() { p.net.Start(next) })
		})
		h := p.run(hours())
		if v := h.Verdict(); v.Status() != gates.Failed || !strings.Contains(strings.Join(v.Evidence(), "\n"), "its count of generated tokens has fallen") {
			t.Errorf("%s: %s %s", v.Status(), v.Summary(), v.Evidence())
		}
	})
	bubble(t, "refused", func(t *testing.T) {
		p := at(t)
		server := engine(t)
		p.net.Start(server)
		p.on = afterRound(4, func(p *place) {
			p.net.Kill()
			time.AfterFunc(5*time.Minute, func() { p.net.Start(server) })
		})
		plan := hours()
		plan.KeepGoing = true
		h := p.run(plan)
		if list := h.Failures(); len(list) != 1 || list[0].Event.Summary != refused || list[0].Healed == nil || len(h.Restarts()) != 0 {
			t.Errorf("%+v, restarts %+v", list, h.Restarts())
		}
	})
}

// without drops the lines of a page that begin with a name.
type without struct {
	http.ResponseWriter
	name string
}

func (w *without) Write(b []byte) (int, error) {
	var out bytes.Buffer
	for line := range bytes.Lines(b) {
		if !bytes.HasPrefix(line, []byte(w.name)) {
			out.Write(line)
		}
	}
	_, err := w.ResponseWriter.Write(out.Bytes())
	return len(b), err
}

// After a restart that is allowed, what creeps is looked at anew: the memory of the first
// process is no memory of the second.
func TestRestartBeginsTrendsAnew(t *testing.T) {
	t.Parallel()
	bubble(t, "memory", func(t *testing.T) {
		p := at(t, "fault: memory-grows:mib=1000,per-hour=0")
		p.on = restart(3, time.Second, "fault: memory-grows:mib=8000,per-hour=0")
		plan := hours()
		plan.Every = 45 * time.Minute
		plan.AllowRestarts = true
		h := p.run(plan)
		for _, tr := range h.Trends() {
			if tr.Metric == "resident memory" && (tr.Word != Steady || tr.Rounds > 6) {
				t.Errorf("%+v", tr)
			}
		}
	})
}

// While times are taken and an idle server is judged, the load rests; beside the other
// checks it goes on, with no more sessions than were asked for.
func TestLoadRests(t *testing.T) {
	t.Parallel()
	bubble(t, "at rest", func(t *testing.T) {
		var mu sync.Mutex
		flying, probed, alone, company, most := map[string]int{}, 0, 0, 0, 0
		server := engine(t)
		p := at(t)
		p.net.Start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			text := gjson.GetBytes(body, "messages.0.content").Str
			kind := "load"
			switch {
			case text == "":
				server.ServeHTTP(w, r)
				return
			case strings.HasPrefix(text, "Note "):
				kind = "probe"
			case strings.HasPrefix(text, "Idle"), strings.HasPrefix(text, "Beside"):
				kind = text[:6]
			case !strings.Contains(text, "The secret code is "): // how fast the server is
				kind = "speed"
			}
			mu.Lock()
			flying[kind]++
			switch kind {
			case "probe", "Idle 0":
				if flying["load"] != 0 || flying[kind] != 1 {
					t.Errorf("beside %s: %v", kind, flying)
				}
				probed++
			case "Beside":
				company += flying["load"]
				alone++
			}
			most = max(most, flying["load"])
			mu.Unlock()
			server.ServeHTTP(w, r)
			mu.Lock()
			flying[kind]--
			mu.Unlock()
		}))
		o := p.options(Plan{For: 20 * time.Second, Every: 4 * time.Second, Sessions: 3, Think: 20 * time.Millisecond})
		asks := func(id, text string) gates.Check[correctness.Subject] {
			return plain(id, func(ctx context.Context, s correctness.Subject) error {
				for range 20 {
					if err := s.Complete(ctx, endpoint.Chat(text).MaxTokens(16)).Err(); err != nil {
						return err
					}
				}
				return nil
			})
		}
		o.suite.checks = []gates.Check[correctness.Subject]{
			plain(sameServer, func(context.Context, correctness.Subject) error { return nil }), asks(idle[0], "Idle 0: count."), asks("correctness/x", "Beside others: count."),
		}
		h, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(h.Failures()); n != 0 || probed != (probes+20)*h.Rounds() || company < alone/2 || most != 3 {
			t.Errorf("%d failures; %d questions at rest in %d rounds, beside %d others %d of the load, at most %d at once", n, probed, h.Rounds(), alone, company, most)
		}
	})
}

// plain is a check that passes when its question can be put.
func plain(id string, f func(context.Context, correctness.Subject) error) gates.Check[correctness.Subject] {
	return gates.Check[correctness.Subject]{
		ID: id, Doc: "x\n\ny", Since: "0", Cost: time.Second, Faults: []string{"x"},
		Run: func(ctx context.Context, s correctness.Subject) (gates.Finding, error) {
			return gates.Pass("it passes"), f(ctx, s)
		},
	}
}

func TestNoMoreSessionsThanSlots(t *testing.T) {
	t.Parallel()
	for slots, want := range map[int]int{0: 6, 1: 1, 4: 4, 8: 6} {
		m, err := Plan{For: time.Hour, Every: time.Minute, Sessions: 6, Think: time.Second}.load(slots)
		if err != nil || m.Sessions() != want {
			t.Errorf("%d slots: %d sessions, want %d (%v)", slots, m.Sessions(), want, err)
		}
	}
}

// A round that is late begins at once, and the ticks that went by are not made up; the first
// that begins when the time is over is the last one.
func TestLateRounds(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	for name, c := range map[string]struct {
		slow map[int]time.Duration // how long a round takes, 0 being stage 2
		want []time.Duration       // when the rounds begin
	}{
		"in time":              {nil, []time.Duration{0, hour, 2 * hour, 3 * hour, 4 * hour, 5 * hour}},
		"one is late":          {map[int]time.Duration{2: hour * 3 / 2}, []time.Duration{0, hour, hour * 5 / 2, 3 * hour, 4 * hour, 5 * hour}},
		"beyond the end":       {map[int]time.Duration{1: 6 * hour}, []time.Duration{0, 6 * hour}},
		"before the first one": {map[int]time.Duration{0: 6 * hour}, []time.Duration{6 * hour, 6 * hour}},
		"the last one is":      {map[int]time.Duration{6: 9 * hour}, []time.Duration{0, hour, 2 * hour, 3 * hour, 4 * hour, 5 * hour}},
		"just before the end":  {map[int]time.Duration{4: hour * 19 / 10}, []time.Duration{0, hour, 2 * hour, 3 * hour, hour * 49 / 10, 5 * hour}},
	} {
		bubble(t, name, func(t *testing.T) {
			p := at(t)
			o := p.options(Plan{For: 5 * hour, Every: hour, Sessions: 1, Think: time.Minute})
			n := 0
			o.suite.smoke = []gates.Check[endpoint.Endpoint]{{
				ID: "smoke/slow", Doc: "x\n\ny", Since: "0", Cost: hour, Faults: []string{"x"},
				Run: func(context.Context, endpoint.Endpoint) (gates.Finding, error) {
					time.Sleep(c.slow[0])
					return gates.Pass("it passes"), nil
				},
			}}
			o.suite.checks = []gates.Check[correctness.Subject]{plain(sameServer, func(ctx context.Context, _ correctness.Subject) error {
				n++
				select {
				case <-time.After(c.slow[n]):
				case <-ctx.Done():
				}
				return nil
			})}
			o.suite.checks[0].Cost = hour // a check is ended after twenty times what it costs
			h, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			var began []time.Duration
			for _, r := range h.readings {
				began = append(began, r.at.Round(time.Minute))
			}
			if !slices.Equal(began, c.want) {
				t.Errorf("rounds began at %v, want %v", began, c.want)
			}
		})
	}
}

// Ctrl-C: what was seen by then is kept, and it can be gone on with.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"in stage 2", "in a round", "between rounds"} {
		bubble(t, when, func(t *testing.T) {
			p := at(t)
			ctx, stop := context.WithCancelCause(t.Context())
			p.on = func(p *place, e Entry) {
				r, isRound := e.Event.(Round)
				_, isBegun := e.Event.(Begun)
				_, isReading := e.Event.(Reading)
				switch {
				case when == "in stage 2" && isBegun, when == "in a round" && isReading && p.h().Rounds() == 3:
					stop(gates.ErrStopped)
				case when == "between rounds" && isRound && r.N == 3:
					time.AfterFunc(time.Minute, func() { stop(gates.ErrStopped) })
				}
			}
			h, err := Run(ctx, p.options(hours()))
			if err != nil {
				t.Fatal(err)
			}
			end, ok := h.Ended()
			if !ok || !end.Stopped || end.Cause != interrupted || h.Report().Exit() != 130 || h.Resumable() != nil {
				t.Errorf("%+v, exit %d, %v", end, h.Report().Exit(), h.Resumable())
			}
			if v := h.Verdict(); v.Status() != gates.Skipped || !strings.HasPrefix(v.Summary(), "interrupted after ") {
				t.Errorf("%s: %s", v.Status(), v.Summary())
			}
			if n := len(h.Failures()); n != 0 {
				t.Errorf("%d failures for a soak that was stopped: %+v", n, h.Failures())
			}
			if _, err := h.Report().Ledger(h.Subject()); err != nil {
				t.Errorf("the report makes no ledger: %v", err)
			}
		})
	}
}

// h returns the history of what was emitted so far.
func (p *place) h() *History {
	h := &History{}
	for _, e := range p.entries {
		if err := h.Add(e); err != nil {
			p.t.Fatal(err)
		}
	}
	return h
}

// killed runs a soak and returns what its journal holds when it was killed after so many
// rounds: the rest never happened.
func (p *place) killed(plan Plan, rounds int) []byte {
	p.t.Helper()
	ctx, kill := context.WithCancel(p.t.Context())
	var journal bytes.Buffer
	dead := false
	o := p.options(plan)
	o.Emit = func(e Entry) {
		if dead {
			return
		}
		line, err := e.MarshalJSON()
		if err != nil {
			p.t.Error(err)
		}
		journal.Write(append(line, '\n'))
		if r, ok := e.Event.(Round); ok && r.N == rounds {
			dead = true
			kill()
		}
	}
	if _, err := Run(ctx, o); err != nil {
		p.t.Fatal(err)
	}
	return journal.Bytes()
}

// A soak that was killed goes on with the time that is left and with what it knew.
func TestGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	bubble(t, "growing old", func(t *testing.T) {
		p := at(t, "fault: slower-with-age:per-hour=30ms")
		journal := p.killed(hours(), 4) // after 3 hours
		time.Sleep(2 * time.Hour)       // the server goes on growing old
		past, skipped, err := Read(bytes.NewReader(append(journal, `{"schema":"infbench.soak/v1","ti`...)))
		if err != nil || len(skipped) != 1 || !strings.Contains(skipped[0].Error(), "torn") {
			t.Fatalf("%v, skipped %v", err, skipped)
		}
		p.past, p.entries = past, nil
		start := time.Now()
		h := p.run(Plan{})
		// 6 hours, of which 3 had gone by.
		if took := time.Since(start); took < 2*time.Hour+59*time.Minute || took > 3*time.Hour+10*time.Minute {
			t.Errorf("it went on for %v", took)
		}
		if h.Lasted() < 6*time.Hour || h.Lasted() > 6*time.Hour+10*time.Minute || h.Resumed() != 1 || h.Plan() != hours() {
			t.Errorf("lasted %v, resumed %d times, plan %+v", h.Lasted(), h.Resumed(), h.Plan())
		}
		if len(events[Begun](p)) != 0 || len(events[Resumed](p)) != 1 {
			t.Error("it began once more")
		}
		// Stage 2 is not the beginning again, the numbers of the rounds go on, and the times are
		// compared with the first round of all: 8 hours at 30 ms an hour, on about 20 ms.
		rounds := events[Round](p)
		if rounds[0].N != 5 {
			t.Errorf("the first round is %d", rounds[0].N)
		}
		readings := events[Reading](p)
		last, _ := readings[len(readings)-1].FirstToken.Times()
		first, _ := h.readings[0].seen.FirstToken.Times()
		if readings[0].Anchor != "" || first != 1 || last < 5 {
			t.Errorf("first token: ×%v at first, ×%v at last; a new anchor: %q", first, last, readings[0].Anchor)
		}
		for _, tr := range h.Trends() {
			if tr.Metric == "first token" && (tr.Word != Creeps || tr.Rounds != len(h.readings)) {
				t.Errorf("%+v", tr)
			}
		}
	})
	bubble(t, "another machine", func(t *testing.T) {
		p := at(t, "fault: slower-with-age:per-hour=30ms")
		past, _, err := Read(bytes.NewReader(p.killed(hours(), 2)))
		if err != nil {
			t.Fatal(err)
		}
		p.past, p.entries, p.seal = past, nil, nil
		h := p.run(Plan{})
		readings := events[Reading](p)
		if r, _ := readings[0].FirstToken.Times(); readings[0].Anchor == "" || r != 1 {
			t.Errorf("the times of another machine are compared with: %+v", readings[0])
		}
		for _, tr := range h.Trends() {
			if tr.Metric == "first token" && tr.Rounds != len(readings) {
				t.Errorf("%+v, want the %d rounds of this machine alone", tr, len(readings))
			}
		}
	})
	bubble(t, "restarted meanwhile", func(t *testing.T) {
		p := at(t)
		past, _, err := Read(bytes.NewReader(p.killed(hours(), 2)))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		p.serve()
		p.past, p.entries = past, nil
		h := p.run(Plan{})
		if v := h.Verdict(); v.Status() != gates.Failed || !strings.Contains(v.Summary(), "the server was restarted") || len(h.Restarts()) != 1 {
			t.Errorf("%s: %s", v.Status(), v.Summary())
		}
	})
	bubble(t, "another server", func(t *testing.T) {
		p := at(t)
		past, _, err := Read(bytes.NewReader(p.killed(hours(), 2)))
		if err != nil {
			t.Fatal(err)
		}
		p.serve("engine: no-prefix-cache")
		p.past, p.entries = past, nil
		_, err = Run(t.Context(), p.options(Plan{}))
		var other *MismatchError
		if !errors.As(err, &other) || !strings.Contains(err.Error(), "config was ") || !strings.Contains(err.Error(), ", is ") || len(p.entries) != 0 {
			t.Errorf("%v, %d entries", err, len(p.entries))
		}
	})
	bubble(t, "before the start was clean", func(t *testing.T) {
		p := at(t)
		past, _, err := Read(bytes.NewReader(p.killed(hours(), 0)))
		if err != nil || past.Clean() {
			t.Fatal(err, past.Clean())
		}
		p.past, p.entries = past, nil
		h := p.run(Plan{})
		if rounds := events[Round](p); rounds[0].N != 0 || !h.Clean() || h.Verdict().Status() != gates.Passed {
			t.Errorf("first round %d, %s: %s", rounds[0].N, h.Verdict().Status(), h.Verdict().Summary())
		}
	})
	bubble(t, "over", func(t *testing.T) {
		p := at(t)
		p.past = p.run(Plan{For: time.Minute, Every: time.Minute, Sessions: 1, Think: time.Second})
		if _, err := Run(t.Context(), p.options(Plan{})); err == nil || !strings.Contains(err.Error(), "came to its end after ") {
			t.Errorf("%v", err)
		}
	})
}

// An unreachable target is a failure from the beginning, as in any stage.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	bubble(t, "nothing listens", func(t *testing.T) {
		p := at(t)
		p.net.Kill()
		h := p.run(hours())
		if rep := h.Report(); rep.Exit() != 2 || rep.Results[1].NotRun != "stage 2 failed" || !h.Failures()[0].AtStart {
			t.Errorf("exit %d, %+v", rep.Exit(), rep.Results[1])
		}
		if v := h.Report().Results[0].Verdicts[0]; !strings.Contains(v.Summary(), "could not be asked: nothing listens") {
			t.Error(v.Summary())
		}
	})
}

// No key and no host name is written: each text goes through the redactor.
func TestEventsAreRedacted(t *testing.T) {
	t.Parallel()
	bubble(t, "redacted", func(t *testing.T) {
		p := at(t)
		s := newSwitched(t)
		p.net.Start(s)
		p.on = afterRound(2, func(*place) { s.put(t, "http500:every=1") })
		o := p.options(hours())
		o.Scrub = func(s string) string { return strings.ReplaceAll(s, "internal server error", "«hidden»") }
		if _, err := Run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		hidden := 0
		for _, e := range p.entries {
			line, err := e.MarshalJSON()
			if err != nil || bytes.Contains(line, []byte("internal server error")) {
				t.Errorf("%s, %v", line, err)
			}
			hidden += bytes.Count(line, []byte("«hidden»"))
		}
		if hidden == 0 {
			t.Error("nothing was hidden: the test shows nothing")
		}
	})
}

// No line of a journal and no text of a report holds a latency or a rate.
func TestNoAbsoluteTimes(t *testing.T) {
	t.Parallel()
	bubble(t, "slow", func(t *testing.T) {
		p := at(t, "fault: slow-first:delay=1234ms")
		h := p.run(Plan{For: time.Hour, Every: 10 * time.Minute, Sessions: 1, Think: time.Minute})
		var all strings.Builder
		for _, e := range p.entries {
			if r, ok := e.Event.(Reading); ok {
				line, _ := Entry{e.Time, 0, r}.MarshalJSON()
				all.Write(line)
			}
		}
		for _, tr := range h.Trends() {
			fmt.Fprintf(&all, "%+v", tr)
		}
		fmt.Fprint(&all, h.Verdict().Summary(), h.Verdict().Evidence())
		for _, absolute := range []string{"1.23", "1.24", "1.25", "123", "124", "125"} {
			if strings.Contains(all.String(), absolute) {
				t.Errorf("a first token after about 1.24 s shows as %s: %s", absolute, all.String())
			}
		}
	})
}
