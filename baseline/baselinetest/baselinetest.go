// Package baselinetest makes records of baselines for tests, by the public path only.
package baselinetest

import (
	"fmt"
	"time"

	"infbench/arrival"
	"infbench/baseline"
	"infbench/gates"
	"infbench/record"
	"infbench/record/recordtest"
)

// Parts are what a test wants of a record. [Standard] has what most want.
type Parts struct {
	// Number makes the run's id.
	Number int
	// Suite is what was sent, Prompts stands for the digest of the prompts that came of it.
	Suite   baseline.Suite
	Prompts string
	// TTFT and TPOT are the times of a request of a depth in a repeat.
	TTFT, TPOT func(d baseline.Depth, warm bool, repeat int) time.Duration
	// Outcome is how a request ended, nil for a good one.
	Outcome func(d baseline.Depth, warm bool, repeat int) record.Outcome
	// Output is how many tokens came, nil for all that were asked for.
	Output func(d baseline.Depth) int
	// Proven says that cold and warm were seen in the server's count.
	Proven      bool
	Forced      bool
	Source      record.TokenSource
	TokenizedBy string
	Accelerator record.Part
	Model       string
	// Think is the think time between the requests.
	Think time.Duration
	// Void withdraws the figures, Stopped ends the run early.
	Void, Stopped string
	// Failed names checks that failed: of stages 0 to 3, whereupon there are no numbers, or of stage 4.
	Failed []string
	// Sweep makes it the record of a sweep instead, which is no baseline.
	Sweep bool
	// Hash replaces that of the suite, and Spec its canonical form.
	Hash, Spec string
	// Missing leaves out the last so many requests.
	Missing int
}

// Small is a suite of two depths in five repeats.
func Small() baseline.Suite {
	return must(baseline.NewSuite("small", baseline.FrozenSeed, 5, baseline.Depth{PromptTokens: 128, MaxTokens: 16}, baseline.Depth{PromptTokens: 1024, MaxTokens: 32}))
}

// jitter are the relative deviations of the repeats: made up, and none of them twice.
var jitter = []float64{0, .011, -.009, .004, -.013, .007, -.003, .002, -.006, .012}

// Scattered is a time with a deviation of about 1 % that hangs on the repeat.
func Scattered(d time.Duration, repeat int) time.Duration {
	return d + time.Duration(float64(d)*jitter[repeat%len(jitter)])
}

// Standard returns the parts of a good record: 10 ms and 100 ms a thousand tokens to compute a
// prompt, 20 ms a token.
func Standard(number int) Parts {
	return Parts{
		Number: number, Suite: Small(), Prompts: "prompts", Proven: true, Forced: true, Source: record.EngineUsage, Accelerator: record.Known("sm_90 x1"), Model: "tiny",
		TTFT: func(d baseline.Depth, warm bool, repeat int) time.Duration {
			if warm {
				return Scattered(12*time.Millisecond, repeat)
			}
			return Scattered(10*time.Millisecond+time.Duration(d.PromptTokens)*100*time.Microsecond, repeat)
		},
		TPOT: func(_ baseline.Depth, _ bool, repeat int) time.Duration {
			return Scattered(20*time.Millisecond, repeat)
		},
	}
}

// Run returns the record of a run.
func Run(p Parts) record.Run {
	id := must(record.NewIdentity(record.IdentityParts{
		Endpoint: "http://loopback:8000", Model: p.Model, Engine: record.Known("testengine"), Build: record.Known("1.0"), Image: record.Known("sha256:0123456789ab"),
		Checkpoint: record.Known("abc"), Accelerator: p.Accelerator, Config: record.Known("c0ffee"), Process: record.Known(fmt.Sprint("p", p.Number)), Cache: record.Known("each prompt cold by its nonce, then warm"),
	}))
	required, verdicts := recordtest.Passing()
	for _, f := range p.Failed {
		required, verdicts = append(required, f), append(verdicts, recordtest.Verdict(f, gates.Fail("it did not hold")))
	}
	ledger := recordtest.Ledger(id, required, verdicts)
	ending := record.Ending{Complete: p.Stopped == "", Cause: p.Stopped}
	run := must(record.NewRun(record.RunParts{
		ID: fmt.Sprintf("20260102T030405Z-%08x", p.Number), Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Took: time.Minute, Command: "baseline", Harness: "infbench test",
		Identity: id, Ledger: ledger, Ending: ending,
	}))
	proof, err := ledger.Gates()
	if err != nil {
		return run
	}
	m, model := measured(p)
	return must(run.With(must(record.NewPerfRecord(id, proof, model, m))))
}

func measured(p Parts) (record.Measurements, arrival.ArrivalModel) {
	if p.Sweep {
		return recordtest.Measurements(12)
	}
	model := must(arrival.Sessions(1, p.Think, "test"))
	level := record.LevelParts{Arrival: model, TokenGapsWithheld: "tokens per chunk are not known", Mixed: "requests of several lengths"}
	if p.Void != "" {
		level.Void = []string{p.Void}
	}
	at := time.Duration(0)
	for repeat := range p.Suite.Repeats() {
		for _, depth := range p.Suite.Order(repeat) {
			d := p.Suite.Depths()[depth]
			for warm := range 2 {
				s := record.Sample{Due: at, Sent: at, Outcome: record.OK, Cell: 2*depth + warm, Block: repeat, PromptTokens: gates.CountOf(d.PromptTokens), OutputTokens: d.MaxTokens, Chunks: d.MaxTokens}
				if p.Output != nil {
					s.OutputTokens = p.Output(d)
					s.Chunks = s.OutputTokens
				}
				s.First = at + p.TTFT(d, warm == 1, repeat)
				s.FirstAnswer, s.Last = s.First, s.First+time.Duration(s.OutputTokens-1)*p.TPOT(d, warm == 1, repeat)
				s.End = s.Last
				if p.Outcome != nil {
					if o := p.Outcome(d, warm == 1, repeat); o != record.OK {
						s = record.Sample{Due: at, Sent: at, End: s.End, Outcome: o, Cell: s.Cell, Block: repeat}
					}
				}
				level.Samples = append(level.Samples, s)
				at = s.End + p.Think
			}
		}
	}
	level.Window = at
	level.Samples = level.Samples[:len(level.Samples)-p.Missing]
	w := recordtest.Workload()
	w.Name, w.ForcedLength, w.TokenSource, w.TokenizedBy = "frozen/"+p.Suite.Name(), p.Forced, p.Source, p.TokenizedBy
	f := record.Frozen{Name: p.Suite.Name(), Spec: p.Suite.Canonical(), Hash: p.Suite.Hash(), Materialised: "sha256:" + p.Prompts}
	if p.Hash != "" {
		f.Hash = p.Hash
	}
	if p.Spec != "" {
		f.Spec = []byte(p.Spec)
	}
	for _, d := range p.Suite.Depths() {
		for warm := range 2 {
			f.Cells = append(f.Cells, record.Cell{PromptTokens: d.PromptTokens, TrueTokens: d.PromptTokens, MaxTokens: d.MaxTokens, Warm: warm == 1, Proven: p.Proven})
		}
	}
	return must(must(record.NewMeasurements(w, []record.Level{must(record.NewLevel(level))})).WithFrozen(f)), model
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
