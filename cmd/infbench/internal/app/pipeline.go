package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"infbench/arrival"
	"infbench/cmd/infbench/internal/render"
	"infbench/gates"
	"infbench/internal/tokens"
	"infbench/internal/whole"
	"infbench/record"
	"infbench/soak"
	"infbench/stages"
	"infbench/stages/correctness"
	"infbench/stages/endpoint"
	"infbench/stages/hardware"
	"infbench/stages/performance"
	"infbench/stages/smoke"
	"infbench/stages/static"
)

// pipeline is one command's run: its stages, where it is recorded and how it is shown.
type pipeline struct {
	c       console
	ctx     *cli.Context
	command string
	ses     *session
	id      string
	start   time.Time
	record  bool
	cache   string

	emit      func(stages.Event)
	store     *record.Store
	sweep     *performance.Sweep
	results   []stages.Result
	required  []string
	problem   string
	abilities []record.Ability
	kept      *keeper
	journals  journals
	beside    *beside // those that it takes turns with, nil for nobody
	perf      record.PerfRecord
	recorded  record.Run       // as it was kept
	looking   sync.WaitGroup   // for the look at this machine
	hardware  hardware.Subject // as stage 1 saw it
	memory    hardware.Memory  // that the checkpoint shall fit, stage 0 alone
}

// stagesOf builds the stages with the given numbers.
func (p *pipeline) stagesOf(numbers ...gates.Stage) ([]stages.Stage, error) {
	var out []stages.Stage
	for _, n := range numbers {
		s, err := p.stage(n)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
		p.required = append(p.required, s.Checks()...)
	}
	return out, nil
}

func (p *pipeline) stage(n gates.Stage) (stages.Stage, error) {
	switch n {
	case gates.Static:
		if !p.ses.hasCkpt {
			return stages.Skipped("no checkpoint was given (--checkpoint PATH)", static.Checks())
		}
		return stages.Bind(p.ses.inventory, static.Checks())
	case gates.Hardware:
		list := hardware.Checks()
		if p.ses.set.Target == "" { // what was compiled is looked at, and nobody is asked
			list = hardware.Offline()
		}
		return stages.Opened(p.openHardware, list)
	case gates.Smoke:
		return stages.Opened(p.openSmoke, smoke.Checks())
	case gates.Correctness:
		s, err := stages.Opened(p.openCorrectness, correctness.Checks())
		return s.States(), err
	default:
		if p.command == "baseline" {
			p.cache = performance.FrozenIntent
			return stages.Gated(p.measureFrozen, performance.Checks())
		}
		p.cache = performance.CacheIntent(performance.WorkloadOf(p.ses.set.workload, p.ses.set.arrivals))
		return stages.Gated(p.measure, performance.Checks())
	}
}

// openSmoke waits for the look at the machine, which goes on beside stage 0: no command runs
// beside the questions.
func (p *pipeline) openSmoke(ctx context.Context) (endpoint.Endpoint, error) {
	p.looking.Wait()
	return p.ses.open(ctx)
}

// openCorrectness sizes stage 3 by what the server can do and how fast.
func (p *pipeline) openCorrectness(ctx context.Context) (correctness.Subject, error) {
	ep, err := p.openProbed(ctx)
	if err != nil {
		return correctness.Subject{}, err
	}
	o := p.ses.correctness(func(e correctness.Estimate) {
		p.emit(stages.WorkStated{Stage: gates.Correctness, Requests: e.Requests, PromptTokens: e.PromptTokens, OutputTokens: e.OutputTokens, Expected: e.Expected, Budget: e.Budget, Text: e.String()})
	})
	return correctness.Open(ctx, ep, o)
}

// openProbed finds out what the server can do before the dearer stages: what it cannot is
// then skipped with its own words, and the record says what was there.
func (p *pipeline) openProbed(ctx context.Context) (endpoint.Endpoint, error) {
	ep, err := p.ses.open(ctx)
	if err != nil || !p.record || p.abilities != nil {
		return ep, err
	}
	for _, a := range ep.Probe(ctx) {
		p.abilities = append(p.abilities, record.Ability{Name: a.Name, State: string(a.State), Detail: p.ses.redactor.Text(a.Detail)})
	}
	return ep, nil
}

func (p *pipeline) openHardware(ctx context.Context) (hardware.Subject, error) {
	set := p.ses.set.Hardware
	s := hardware.Subject{Device: set.Device, Auto: p.ses.set.auto, Log: set.EngineLog, Streams: max(hardware.DefaultStreams, p.ses.inFlight), Host: p.ses.host(ctx)}
	var err error
	if s.Kernels, err = stock(ctx, set); err != nil {
		return s, err
	}
	if p.ses.set.Target != "" {
		if s.Endpoint, err = p.ses.open(ctx); err != nil {
			return s, err
		}
	}
	p.hardware = s
	return s, nil
}

// measure proves that the record can be written, then measures.
func (p *pipeline) measure(ctx context.Context, proof gates.GateSet, emit func(stages.Event)) (*performance.Sweep, error) {
	ep, err := p.ses.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.openStore(); err != nil {
		return nil, err
	}
	if b := p.beside; b != nil {
		if err := b.turns.take(b.index); err != nil {
			return nil, err
		}
	}
	model, err := arrival.Sweep(p.ses.set.arrivals...)
	if err != nil {
		return nil, err
	}
	c, err := p.measuring(ctx)
	if err != nil {
		return nil, err
	}
	c.Keep = func(w record.Workload) (performance.Keeping, error) { return p.keeping(proof, w) }
	p.sweep, err = performance.Measure(ctx, ep, proof, model, c, p.progressed(emit))
	return p.sweep, err
}

// measuring returns how the measurement is made, whatever is sent.
func (p *pipeline) measuring(ctx context.Context) (performance.Config, error) {
	c := p.ses.set.workload
	c.Seed = p.ses.seed()
	if b := p.beside; b != nil {
		c.Seed, c.Beside = b.seed, b.caveats()
		c.Turn = func() error { return b.turns.take(b.index) }
	}
	if path := p.ses.set.Performance.Tokenizer; path != "" {
		t, err := tokens.Load(path)
		if err != nil {
			return c, fmt.Errorf("tokenizer: %w", err)
		}
		c.CountTokens, c.TokenizedBy = t.Count, t.Impl()+" "+t.Fingerprint()
	}
	c.Devices = p.ses.devices(ctx)
	return c, nil
}

// progressed tells how far a measurement is, and keeps what there is so far.
func (p *pipeline) progressed(emit func(stages.Event)) func(performance.Progress) {
	return func(g performance.Progress) {
		if !g.Live.IsZero() {
			emit(stages.LevelProgress{Index: g.Index, Of: g.Of, Depth: g.Depth, Expected: g.Expected, Left: g.Left, Live: g.Live})
			return
		}
		if g.Finished {
			emit(stages.LevelFinished{Index: g.Index, Of: g.Of, Depth: g.Depth, Issued: g.Issued, Good: g.Good})
			p.sweep = g.Sofar
			p.draft()
			return
		}
		emit(stages.LevelStarted{Index: g.Index, Of: g.Of, Depth: g.Depth, Arrival: g.Arrival, Expected: g.Expected, Restored: g.Restored})
	}
}

// identity returns who was examined, the host looked at: it goes into the record.
func (p *pipeline) identity() (record.Identity, error) {
	return p.ses.identity(p.cache, p.ses.host(p.ctx.Context))
}

// openStore finds out whether the record can be written.
func (p *pipeline) openStore() error {
	if p.store != nil || !p.record {
		return nil
	}
	path := p.ses.set.Out
	if path == "" {
		id, err := p.identity()
		if err != nil {
			return err
		}
		path = filepath.Join("bench", "runs", id.FileName())
	}
	var err error
	p.store, err = record.Open(path, p.id)
	return err
}

// run runs the plan, shows it and leaves its record.
func (p *pipeline) run(numbers ...gates.Stage) error {
	defer p.ses.close()
	defer p.looking.Wait()
	if p.wantsHost() {
		p.looking.Go(func() { p.ses.host(p.ctx.Context) })
	}
	list, err := p.stagesOf(numbers...)
	if err != nil {
		return err
	}
	plan, err := stages.NewPlan(func() gates.Subject { return p.ses.subject(p.cache) }, p.ses.redactor.Text, list...)
	if err != nil {
		return err
	}
	p.start = time.Now()
	if p.id == "" {
		p.id = record.NewRunID(p.start)
	}
	p.record = p.record || p.ses.set.Out != ""
	if err := errors.Join(p.ses.set.reportable(), p.probeStore(), p.openPast()); err != nil {
		return usageError{p.ses.redactor.Text(err.Error())}
	}
	var asked *asking
	if p.ctx.Bool("explain") {
		asked = &asking{}
	}
	p.kept = newKeeper(p)
	p.ses.observe = func(x endpoint.Exchange) {
		asked.exchange(x)
		p.kept.exchange(x)
	}
	if err := p.agrees(p.ctx.Context); err != nil {
		p.endJournals(io.Discard, false)
		return usageError{p.ses.redactor.Text(err.Error())}
	}
	if err := p.suits(p.ctx.Context); err != nil {
		return usageError{p.ses.redactor.Text(err.Error())}
	}
	emit, closeProgress := p.progress()
	p.emit = emit
	rep := plan.Run(p.ctx.Context, func(e stages.Event) {
		emit(e)
		p.kept.event(e)
		if s, ok := e.(stages.CheckStarted); ok {
			asked.begin(s.ID)
		}
		if f, ok := e.(stages.StageFinished); ok {
			p.results = append(p.results, f.Result)
			p.draft()
		}
	})
	closeProgress()
	p.kept.complain(p.c.err)
	err = p.finish(rep)
	if asked != nil && !p.ses.set.json && !p.ses.set.line {
		asked.show(p.c.out, p.ses.redactor.Text)
	}
	return err
}

// wantsHost says that the machine is shown or recorded.
func (p *pipeline) wantsHost() bool {
	return p.record || p.ses.set.Out != "" || p.showsHost()
}

func (p *pipeline) showsHost() bool {
	return p.ses.set.json || p.ses.set.report != "" || p.ctx.Bool("all")
}

// shownHost is the machine where it is shown.
func (p *pipeline) shownHost() record.Host {
	if !p.showsHost() {
		return record.Host{}
	}
	return p.ses.host(p.ctx.Context)
}

// besides is what the document tells besides the verdicts.
func (p *pipeline) besides() render.Beside {
	return render.Beside{Checkpoint: p.checkpoint(), Kernels: p.kernels(), Host: p.shownHost()}
}

// kernels returns the compiled code that was read, where stage 1 is all there is.
func (p *pipeline) kernels() *render.Kernels {
	if p.command != "stage1" || len(p.hardware.Kernels) == 0 || p.ses.set.quiet && !p.ses.set.json {
		return nil
	}
	d, _, _ := p.hardware.On() // none where none is known
	return &render.Kernels{Inventories: p.hardware.Kernels, Device: d}
}

// probeStore tries the record file before anything is asked, as far as its name is
// known by then.
func (p *pipeline) probeStore() error {
	if !p.record {
		return nil
	}
	path := p.ses.set.Out
	if path != "" {
		return p.openStore()
	}
	probe, err := record.Open(filepath.Join("bench", "runs", "probe-"+p.id+".jsonl"), p.id)
	if err != nil {
		return fmt.Errorf("%w; name another place with --out", err)
	}
	return probe.Remove()
}

// progress returns the sink of events that fits stderr.
func (p *pipeline) progress() (func(stages.Event), func()) {
	switch {
	case p.ses.set.quiet:
		return func(stages.Event) {}, func() {}
	case drawable(p.c.err):
		t := render.NewTerminal(p.c.err, render.Style{Colour: coloured(p.ctx, p.c.err)})
		return t.Emit, t.Close
	}
	return render.Plain(p.c.err), func() {}
}

// draft lays the run so far beside the record file: what a kill leaves behind.
func (p *pipeline) draft() {
	// Before the endpoint is opened the record has no name yet, and nothing to keep.
	if !p.record || p.ses.set.Out == "" && p.ses.ep == (endpoint.Endpoint{}) || p.openStore() != nil {
		return
	}
	rep := stages.Report{Started: p.start, Took: time.Since(p.start), Required: p.required, Results: p.results}
	ran := map[gates.Stage]bool{}
	for _, r := range p.results {
		ran[r.Stage] = true
	}
	for _, id := range p.required {
		if s, err := gates.StageOf(id); err == nil && !ran[s] {
			ran[s] = true
			rep.Results = append(rep.Results, stages.Result{Stage: s, NotRun: "the run was killed before its end"})
		}
	}
	if r, _, err := p.compose(rep, record.Ending{Cause: "the run was killed before its end"}); err == nil {
		_ = p.store.Draft(r)
	}
}

// compose makes the record of a report, with numbers where there are any to keep.
func (p *pipeline) compose(rep stages.Report, ending record.Ending) (record.Run, record.PerfRecord, error) {
	id, err := p.identity()
	if err != nil {
		return record.Run{}, record.PerfRecord{}, err
	}
	ledger, err := rep.Ledger(id.Subject())
	if err != nil {
		return record.Run{}, record.PerfRecord{}, err
	}
	run, err := record.NewRun(record.RunParts{
		ID: p.id, Started: rep.Started, Took: rep.Took, Command: p.command, Harness: harness(), Identity: id, Ledger: ledger, Ending: ending, Exit: rep.Exit(),
		Abilities: p.abilities, Host: p.ses.host(p.ctx.Context),
	})
	if err != nil || p.sweep == nil || p.sweep.Levels() == 0 || p.sweep.Changed() {
		return run, record.PerfRecord{}, err
	}
	m, err := p.sweep.Measurements()
	if err != nil {
		return run, record.PerfRecord{}, err
	}
	perf, err := performanceOf(id, ledger, m)
	if err != nil {
		return run, record.PerfRecord{}, err
	}
	withNumbers, err := run.With(perf)
	return withNumbers, perf, err
}

func performanceOf(id record.Identity, ledger gates.Ledger, m record.Measurements) (record.PerfRecord, error) {
	proof, err := ledger.Gates()
	if err != nil {
		return record.PerfRecord{}, err
	}
	model, err := m.Arrival()
	if err != nil {
		return record.PerfRecord{}, err
	}
	return record.NewPerfRecord(id, proof, model, m)
}

// finish records and shows what came of the run.
func (p *pipeline) finish(rep stages.Report) error {
	var run record.Run
	var perf record.PerfRecord
	var err error
	if p.record {
		run, perf, err = p.compose(rep, p.ending(rep))
	}
	rep = p.kept.hinted(rep)
	where := ""
	if p.record {
		switch {
		case err != nil:
			p.problem = "no record: " + err.Error()
		default:
			where, p.problem = p.keep(run)
		}
	}
	p.perf, p.recorded = perf, run
	p.endJournals(p.c.err, where != "" && run.Parts().Ending.Complete)
	exit := rep.Exit()
	if rep.Interrupted && errors.Is(context.Cause(p.ctx.Context), errDeadline) && p.problem == "" {
		p.problem = fmt.Sprintf("the deadline of %v has passed, and not everything was asked", p.ses.set.deadline)
	}
	if p.problem != "" {
		exit = stages.ExitFailed
		p.problem = p.ses.redactor.Text(p.problem)
		fmt.Fprintf(p.c.err, "infbench: %s\n", p.problem)
	}
	if path := p.ses.set.report; path != "" {
		if err := p.writeReport(path, exit, rep, where, perf); err != nil {
			fmt.Fprintf(p.c.err, "infbench: the report could not be written: %v\n", err)
			exit = stages.ExitFailed
		}
	}
	if p.ses.set.line {
		render.Line(p.c.out, p.command, p.ses.subject(p.cache), rep, exit, p.problem)
		return exitOf(exit)
	}
	if p.ses.set.json {
		if err := render.JSON(p.c.out, p.command, exit, p.problem, p.ses.subject(p.cache), p.besides(), rep, about, where, perf); err != nil {
			return reportError{exit, err}
		}
		return exitOf(exit)
	}
	return p.show(rep, perf, exit, where)
}

// writeReport writes the JSON report to a file.
func (p *pipeline) writeReport(path string, exit int, rep stages.Report, where string, perf record.PerfRecord) error {
	return whole.Write(path, func(w io.Writer) error {
		return render.JSON(w, p.command, exit, p.problem, p.ses.subject(p.cache), p.besides(), rep, about, where, perf)
	})
}

func (p *pipeline) ending(rep stages.Report) record.Ending {
	switch {
	case rep.Interrupted:
		return record.Ending{Cause: "interrupted"}
	case p.sweep != nil && p.sweep.Stopped() != "":
		return record.Ending{Cause: p.ses.redactor.Text(p.sweep.Stopped())}
	}
	return record.Ending{Complete: true}
}

// keep appends the run. Where the file cannot take it any more, the line goes to
// stderr: what was measured is not lost.
func (p *pipeline) keep(run record.Run) (where, problem string) {
	err := p.openStore()
	if err == nil {
		if err = p.store.Append(run); err == nil {
			return p.store.Path() + "#" + p.id, ""
		}
	}
	if line, lineErr := run.MarshalJSON(); lineErr == nil {
		fmt.Fprintf(p.c.err, "%s\n", line)
	}
	return "", "the record could not be written: " + err.Error() + "; it stands on stderr, save it to a file of its own"
}

func (p *pipeline) show(rep stages.Report, perf record.PerfRecord, exit int, where string) error {
	style := render.Style{Colour: coloured(p.ctx, p.c.out), Quiet: p.ses.set.quiet, All: p.ctx.Bool("all")}
	head(p.c.out, p.command, p.ses.subject(p.cache))
	if style.All {
		render.Host(p.c.out, p.shownHost())
	}
	render.Verdicts(p.c.out, style, rep, about)
	if k := p.kernels(); k != nil {
		render.KernelList(p.c.out, style, *k)
	}
	if c := p.checkpoint(); c != nil {
		render.Inventory(p.c.out, style, *c)
		render.Estimate(p.c.out, style, *c)
	}
	if !perf.IsZero() {
		if err := render.Figures(p.c.out, style, perf); err != nil {
			return reportError{exit, err}
		}
	}
	render.Exit(p.c.out, style, exit, where)
	return exitOf(exit)
}

// checkpoint returns what stage 0 alone shows besides its verdicts.
func (p *pipeline) checkpoint() *render.Checkpoint {
	if p.command != "stage0" || !p.ses.hasCkpt || p.ses.set.quiet && !p.ses.set.json {
		return nil
	}
	inv := p.ses.inventory
	c := &render.Checkpoint{
		Name: inv.Name(), Revision: inv.Revision(), Kind: inv.Kind().String(), Fingerprint: inv.Fingerprint(),
		Grid: static.GridOf(inv), Estimate: static.EstimateOf(inv), Memory: p.memory,
	}
	c.Context, _ = inv.Config().Count("max_position_embeddings", "n_positions", "seq_length", "max_seq_len", "model_max_length")
	return c
}

func head(w io.Writer, command string, s gates.Subject) {
	if s.IsZero() {
		fmt.Fprintf(w, "infbench %s\n", command)
		return
	}
	fmt.Fprintf(w, "infbench %s · %s\n", command, s)
}

func exitOf(code int) error {
	if code == stages.ExitHealthy {
		return nil
	}
	return exitError{code}
}

// allInfos returns the documentation of every check of every stage.
func allInfos() []gates.Info {
	var out []gates.Info
	for _, list := range [][]gates.Info{static.Infos(), hardware.Infos(), smoke.Infos(), correctness.Infos(), soak.Infos(), performance.Infos()} {
		out = append(out, list...)
	}
	return out
}

// about returns the documentation of a check, for a failed verdict.
func about(id string) gates.Info {
	for _, i := range allInfos() {
		if i.ID == id {
			return i
		}
	}
	return gates.Info{}
}
