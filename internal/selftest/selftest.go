// Package selftest proves the checks of stages 1 to 3 both ways: it runs them over an
// engine behind the fault proxy, with each fault in turn and without any, and makes the
// table of faults against checks.
//
// The one rule: a fault without a catcher and a healthy engine that trips a check are
// both defects of infbench, and the table names them.
package selftest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"infbench/gates"
	"infbench/internal/faultproxy"
	"infbench/internal/refengine"
	"infbench/stages/correctness"
	"infbench/stages/endpoint"
	"infbench/stages/hardware"
	"infbench/stages/smoke"
)

// Options say what is tested. The zero value tests every fault on the embedded engine.
type Options struct {
	// Target is a real engine to test on; nil means the embedded one.
	Target *url.URL
	// TargetOptions go with it.
	TargetOptions endpoint.TargetOptions
	// Model is asked, "" means the first one listed.
	Model string
	// Only are the specs of the faults to inject; empty means all, with their defaults.
	Only []string
	// Healthy is how often the engine is tested without any fault.
	Healthy int
	// Limits bound each request.
	Limits endpoint.Limits
	// Budget is the time for stage 3 in each row; 0 means [correctness.QuickBudget].
	Budget time.Duration
	// AtOnce is how many rows run at the same time on the embedded engine.
	AtOnce int
	// Named runs of each row the checks alone that name its fault among their own, and on a
	// healthy row all of those: a real engine takes its time over the others.
	Named bool
	// Seed is of the faults and the canaries.
	Seed uint64
	// Done, if not nil, is told of each row as it ends.
	Done func(Row)
}

// A Row is one engine, healthy or with a fault, and what the checks made of it.
type Row struct {
	// Fault is the spec of the fault, "" for a healthy engine.
	Fault string
	// Engine says what the engine was like.
	Engine string
	// Info describes the fault.
	Info faultproxy.Info
	// Verdicts are those of the checks that were run, up to the stage that must catch it.
	Verdicts []gates.Verdict
	// Unopened says why the endpoint could not be opened at all, which catches a fault too.
	Unopened string
	// Took is how long the row took.
	Took time.Duration
	// Real says that the engine is not the embedded one: what it lacks, a check may warn of.
	Real bool
	// standing are the alarms of the engine without a fault: they catch nothing.
	standing map[string]gates.Status
	through  int // the last stage that a row without a fault is run through
}

// opening stands for the catcher where an endpoint cannot even be opened.
const opening = "opening the endpoint"

// Caught returns the checks that failed or warned, those that failed first, and not those
// that do the same on the engine without a fault.
func (r Row) Caught() []string {
	var failed, warned []string
	if r.Unopened != "" {
		failed = append(failed, opening)
	}
	for _, v := range r.Verdicts {
		switch before := r.standing[v.Check()]; v.Status() {
		case gates.Failed:
			if before != gates.Failed {
				failed = append(failed, v.Check())
			}
		case gates.Warned:
			if before != gates.Failed && before != gates.Warned {
				warned = append(warned, v.Check())
			}
		case gates.Passed, gates.Skipped, gates.NotApplicable:
		}
	}
	return append(failed, warned...)
}

// harmless reports whether no check may object to the row.
func (r Row) harmless() bool { return r.Fault == "" || r.Info.Stage == 0 }

// last is the last stage that is run: the one that must catch the fault as it is, and
// all where a condition narrows it.
func (r Row) last() int {
	if r.Fault == "" && r.through > 0 {
		return r.through
	}
	if r.Fault == "" || r.Info.Stage == 0 || strings.Contains(r.Fault, ":") {
		return 3
	}
	return r.Info.Stage
}

// Problem says what is wrong with the row, "" when nothing is: a fault that nobody
// caught, or an alarm without a fault.
func (r Row) Problem() string {
	caught := r.Caught()
	switch {
	case r.Fault == "" && r.Real && !r.failed():
		return "" // a real engine that lacks something is rightly warned of
	case r.Fault == "" && len(caught) > 0:
		return fmt.Sprintf("the healthy engine (%s) trips %s", r.Engine, strings.Join(caught, ", "))
	case r.harmless() && len(caught) > 0:
		return fmt.Sprintf("%s is harmless, and trips %s", r.Fault, strings.Join(caught, ", "))
	case !r.harmless() && len(caught) == 0:
		return fmt.Sprintf("%s (%s) escapes stages 1 to %d", r.Fault, r.Info.Doc, r.last())
	}
	return r.misnamed()
}

// stand adds the alarms of a row without a fault to those that stand, and tells one with
// a fault which do.
func (r *Row) stand(standing map[string]gates.Status) {
	if r.Fault != "" {
		r.standing = standing
		return
	}
	for _, v := range r.Verdicts {
		if s := v.Status(); s == gates.Failed || s == gates.Warned && standing[v.Check()] != gates.Failed {
			standing[v.Check()] = s
		}
	}
}

func (r Row) failed() bool {
	return r.Unopened != "" || slices.ContainsFunc(r.Verdicts, func(v gates.Verdict) bool { return v.Status() == gates.Failed })
}

// A Table is the rows of one self-test.
type Table struct {
	Rows []Row
	// All says that every fault was tried on the embedded engine, so that a check which
	// nothing depends on can be told.
	All bool
}

// Problems returns what is wrong with the rows, and the checks of stages 2 and 3 without
// which every fault would still be caught: nothing proves that those see anything.
func (t Table) Problems() []string {
	var out []string
	for _, r := range t.Rows {
		if p := r.Problem(); p != "" {
			out = append(out, p)
		}
	}
	sole := t.Sole()
	for _, id := range Checks() {
		if s, err := gates.StageOf(id); t.All && err == nil && s >= gates.Smoke && len(sole[id]) == 0 {
			out = append(out, "no fault escapes without "+id+": nothing proves that it sees what others do not")
		}
	}
	return out
}

// Sole returns, for each check, the faults that it alone catches: what would escape
// without it.
func (t Table) Sole() map[string][]string {
	out := map[string][]string{}
	for _, r := range t.Rows {
		if c := r.Caught(); !r.harmless() && len(c) == 1 {
			out[c[0]] = append(out[c[0]], r.Fault)
		}
	}
	return out
}

// Checks returns the ids of the checks that a self-test runs.
func Checks() []string {
	var out []string
	for _, list := range [][]gates.Info{hardware.Infos(), smoke.Infos(), correctness.Infos()} {
		for _, i := range list {
			out = append(out, i.ID)
		}
	}
	return out
}

// narrow are faults under a condition, so that one check alone can see them: stage 2 and
// 3 look at many things twice, and a check that only ever repeats another's alarm would
// prove nothing.
var narrow = []string{
	"needle-loss:after=112", "nondeterministic:after=112", "stale-cache:stream=0", "wrong-digit-in-text:warm=1", "stops-early:words=7", "abort-leaks:slots=14",
	"json-blanks:above=3", "guided-500:above=1", "logprobs-500:above=1", "block-edge-wrong:block=128", "rare-script:depth=2000,share=40", "dies-deep:depth=60000",
}

// Rows returns the rows that a self-test will have, without verdicts, or what is wrong
// with the specs.
func Rows(o Options) ([]Row, error) {
	var rows []Row
	for range max(o.Healthy, 1) {
		rows = append(rows, Row{Engine: "as it is", Real: o.Target != nil})
	}
	if o.Target == nil {
		rows = append(rows, Row{Engine: "thinks"})
	}
	specs := o.Only
	if len(specs) == 0 {
		for _, f := range faultproxy.Faults() {
			specs = append(specs, f.ID)
		}
		specs = append(specs, narrow...)
	}
	if err := faultproxy.Check(specs); err != nil {
		return nil, fmt.Errorf("%w (infbench faultproxy --list shows all)", err)
	}
	infos := map[string]faultproxy.Info{}
	for _, f := range faultproxy.Faults() {
		infos[f.ID] = f
	}
	for _, spec := range specs {
		id, _, _ := strings.Cut(strings.TrimSpace(spec), ":")
		info := infos[strings.TrimSpace(id)]
		if info.Stage == 4 {
			continue // a matter of time, which stages 1 to 3 do not see
		}
		row := Row{Fault: spec, Info: info, Engine: "as it is", Real: o.Target != nil}
		if o.Target == nil && slices.ContainsFunc(info.Modes, func(m string) bool { return strings.HasPrefix(m, "RSN") }) {
			row.Engine = "thinks"
		}
		if o.Target == nil && slices.Contains(info.Modes, "USG-07") {
			row.Engine = slowPrefill
		}
		rows = append(rows, row)
	}
	// A real engine takes its time: without a fault it is run as far as with one.
	furthest := 0
	for _, r := range rows {
		if r.Fault != "" {
			furthest = max(furthest, r.last())
		}
	}
	for i := range rows {
		if rows[i].Fault == "" && rows[i].Real {
			rows[i].through = max(furthest, 2)
		}
	}
	return rows, nil
}

// slowPrefill is an engine that takes its time over prompts, so that a cache shows in
// times on a busy machine too.
const slowPrefill = "computes prompts slowly"

// Run runs the self-test. Rows that were not run before ctx ended are left out.
func Run(ctx context.Context, o Options) (Table, error) {
	rows, err := Rows(o)
	if err != nil {
		return Table{}, err
	}
	atOnce := max(o.AtOnce, 1)
	if o.Target != nil {
		atOnce = 1 // one row's load is another row's company
	}
	done := make([]bool, len(rows))
	standing := map[string]gates.Status{}
	var told sync.Mutex
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range rows {
		group.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			if err := o.run(ctx, &rows[i]); err != nil {
				return err
			}
			told.Lock()
			defer told.Unlock()
			if rows[i].Real { // one row after another, those without a fault first
				rows[i].stand(standing)
			}
			if done[i] = ctx.Err() == nil; done[i] && o.Done != nil {
				o.Done(rows[i])
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return Table{}, err
	}
	t := Table{All: o.Target == nil && len(o.Only) == 0 && ctx.Err() == nil}
	for i, r := range rows {
		if done[i] {
			t.Rows = append(t.Rows, r)
		}
	}
	return t, nil
}

// run fills one row.
func (o Options) run(ctx context.Context, r *Row) error {
	start := time.Now()
	address, stop, err := o.serve(ctx, r, r.Fault)
	if err != nil {
		return err
	}
	defer stop()
	target, err := endpoint.ParseTarget(address, o.TargetOptions)
	if err != nil {
		return err
	}
	how := endpoint.Options{Model: o.Model, InFlight: 4, Seed: cmp.Or(o.Seed, 1), Limits: o.Limits}
	ep, err := endpoint.Open(ctx, target, how)
	if err != nil {
		r.Unopened, r.Took = gates.Printable(err.Error(), 160), time.Since(start)
		return nil
	}
	defer ep.Close()
	// Stage 1 draws codes of its own: what it asks must not change what the later stages ask.
	how.Seed++
	first, err := endpoint.Open(ctx, target, how)
	if err != nil {
		r.Unopened, r.Took = gates.Printable(err.Error(), 160), time.Since(start)
		return nil
	}
	defer first.Close()
	last := r.last()
	verdicts(ctx, r, named(o, r, hardware.Checks()), hardware.Subject{Endpoint: first, Streams: first.InFlight(), Limit: 5 * time.Minute}) // a busy machine leaves nothing out
	if last >= 2 {
		verdicts(ctx, r, named(o, r, smoke.Checks()), ep)
	}
	if last >= 3 && ctx.Err() == nil {
		reference, end := o.reference(r)
		defer end()
		how := correctness.Options{Budget: cmp.Or(o.Budget, longer[r.Fault], correctness.QuickBudget), Reference: reference, Claim: sameWeights}
		if !r.Real && r.Engine != slowPrefill { // a busy machine must not make the checks smaller than what catches the fault
			how.Speeds = correctness.EmbeddedSpeeds
		}
		s, err := correctness.Open(ctx, ep, how)
		if err != nil {
			r.Unopened = gates.Printable(err.Error(), 160)
		} else {
			verdicts(ctx, r, named(o, r, correctness.Checks()), s)
		}
	}
	r.Took = time.Since(start)
	return nil
}

// longer are the budgets of faults that show only where more is asked than once.
var longer = map[string]time.Duration{"calls-less": 2 * time.Minute}

// named returns the checks that are run on a row.
func named[S any](o Options, r *Row, checks []gates.Check[S]) []gates.Check[S] {
	if !o.Named {
		return checks
	}
	faults := o.Only
	if r.Fault != "" {
		faults = []string{r.Fault}
	}
	return slices.DeleteFunc(checks, func(c gates.Check[S]) bool {
		return !slices.ContainsFunc(faults, func(spec string) bool {
			id, _, _ := strings.Cut(spec, ":")
			return slices.Contains(c.Faults, id)
		})
	})
}

func verdicts[S any](ctx context.Context, r *Row, checks []gates.Check[S], subject S) {
	for _, c := range checks {
		if ctx.Err() != nil {
			return
		}
		r.Verdicts = append(r.Verdicts, gates.Run(ctx, c, subject))
	}
}

// serve puts a fault, "" for none, before the row's engine on the loopback.
func (o Options) serve(ctx context.Context, r *Row, fault string) (address string, stop func(), err error) {
	var specs []string
	if fault != "" {
		specs = []string{fault}
	}
	seed := cmp.Or(o.Seed, 1)
	var proxy *faultproxy.Proxy
	end := func() {}
	if o.Target != nil {
		proxy, err = faultproxy.ForURL(o.Target, specs, seed)
	} else {
		var e *refengine.Engine
		config := refengine.Config{Version: "selftest", Thinks: r.Engine == "thinks"}
		if r.Engine == slowPrefill {
			config.Cost = refengine.SlowPrefill()
		}
		if e, err = refengine.New(config); err == nil {
			end = func() { _ = e.Close() }
			proxy, err = faultproxy.ForHandler(e, specs, seed)
		}
	}
	if err != nil {
		end()
		return "", nil, err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		end()
		return "", nil, err
	}
	s := &http.Server{Handler: proxy, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.Serve(l) }() // ends with the Close below
	return "http://" + l.Addr().String(), func() {
		_ = s.Close()
		proxy.Close()
		end()
	}, nil
}

// Modes returns the modes of the taxonomy that some fault imitates, with the faults.
func Modes() map[string][]string {
	out := map[string][]string{}
	for _, f := range faultproxy.Faults() {
		for _, m := range f.Modes {
			out[m] = append(out[m], f.ID)
		}
	}
	for _, m := range slices.Collect(maps.Keys(out)) {
		slices.Sort(out[m])
	}
	return out
}
