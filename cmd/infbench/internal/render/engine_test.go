package render_test

import (
	"strings"
	"testing"
	"time"

	"infbench/cmd/infbench/internal/render"
	"infbench/gates"
	"infbench/record"
	"infbench/record/recordtest"
)

// withEngine is a record of one serial level of two requests with an engine's account.
func withEngine(t *testing.T, p record.EngineParts, void ...string) record.PerfRecord {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	e, err := record.NewEngineWindow(p)
	must(err)
	_, model := recordtest.Measurements(2)
	l, err := record.NewLevel(record.LevelParts{
		Arrival: model, Window: 20 * time.Second, Samples: []record.Sample{recordtest.Sample(0), recordtest.Sample(10 * time.Second)}, TokenGapsWithheld: "not known", Engine: e, Void: void,
	})
	must(err)
	m, err := record.NewMeasurements(recordtest.Workload(), []record.Level{l})
	must(err)
	id := recordtest.Identity("sha256:aa", "rev1")
	required, verdicts := recordtest.Passing()
	g, err := recordtest.Ledger(id, required, verdicts).Gates()
	must(err)
	perf, err := record.NewPerfRecord(id, g, model, m)
	must(err)
	return perf
}

func timed(sum time.Duration, n int) record.EngineTimer {
	return record.EngineTimer{Sum: gates.SpanOf(sum), N: gates.CountOf(n)}
}

// What an engine told, the definitions' vector, and what it did not: a dash, never a 0.
func TestEngineTimers(t *testing.T) {
	t.Parallel()
	full := record.EngineParts{
		Source: "vllm", Prompt: gates.CountOf(185_776), Computed: gates.CountOf(5_016), Cached: gates.CountOf(180_760), Output: gates.CountOf(800), Finished: gates.CountOf(2), Preempted: gates.CountOf(0),
		Queue: timed(200*time.Millisecond, 2), Prefill: timed(2*time.Second, 2), Decode: timed(15960*time.Millisecond, 2), TTFT: timed(2200*time.Millisecond, 2), E2E: timed(10*time.Second, 2),
		Device: record.DeviceParts{By: "nvidia-smi", Devices: 1, Millijoules: gates.CountOf(4_000_000), For: gates.SpanOf(20 * time.Second), NoMemory: "unified memory"},
	}
	full.Running.See(1)
	full.Running.See(0)
	little := record.EngineParts{Source: "llama.cpp", Output: gates.CountOf(9000), Computed: gates.CountOf(5000), Prefill: record.EngineTimer{Sum: gates.SpanOf(2 * time.Second)}, Decode: record.EngineTimer{Sum: gates.SpanOf(16 * time.Second)}, Batched: true}
	for name, perf := range map[string]record.PerfRecord{
		"engine_full": withEngine(t, full), "engine_little": withEngine(t, little), "engine_void": withEngine(t, full, "2 of 2 answers were wrong"),
		"engine_lost": withEngine(t, record.EngineParts{Source: "llama.cpp", Lost: "the engine shows no page of metrics that is known (status 501)\x1b[2J"}),
	} {
		var b strings.Builder
		if err := render.Performance(&b, render.Style{}, perf); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.String())
	}
}
