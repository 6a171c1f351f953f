// Package recordtest makes valid records for other packages' tests, by the public
// path only: a test that needs a number has to bring the verdicts for it.
package recordtest

import (
	"context"
	"time"

	"infbench/arrival"
	"infbench/gates"
	"infbench/record"
)

// check returns a check that finds f.
func check(id string, f gates.Finding) gates.Check[struct{}] {
	return gates.Check[struct{}]{
		ID: id, Doc: "a test says so\n\nNothing was drawn from.", Since: "0", Cost: time.Second, Faults: []string{"none"},
		Run: func(context.Context, struct{}) (gates.Finding, error) { return f, nil },
	}
}

// Verdict returns a verdict under a check's id.
func Verdict(id string, f gates.Finding) gates.Verdict {
	return gates.Run(context.Background(), check(id, f), struct{}{})
}

// Passing returns the ids and verdicts of a small run in which all passed.
func Passing() (required []string, verdicts []gates.Verdict) {
	for _, id := range []string{"static/idx.parse", "hardware/generates", "smoke/known-answer", "correctness/canaries", "performance/ttft"} {
		required = append(required, id)
		verdicts = append(verdicts, Verdict(id, gates.Pass("it held")))
	}
	return required, verdicts
}

// Identity returns an identity with the given image digest and checkpoint.
func Identity(image, checkpoint string) record.Identity {
	return must(record.NewIdentity(record.IdentityParts{
		Endpoint: "http://loopback:8000", Model: "tiny", Engine: record.Known("testengine"), Build: record.Known("1.0"), Image: record.Known(image),
		Checkpoint: record.Known(checkpoint), Accelerator: record.Known("sm_90 x1"), Config: record.Known("c0ffee"), Process: record.Known("p1"),
		Cache: record.Known("cold by nonce"),
	}))
}

// Ledger returns the ledger of verdicts about an identity.
func Ledger(id record.Identity, required []string, verdicts []gates.Verdict, notRun ...gates.NotRun) gates.Ledger {
	return must(gates.NewLedger(id.Subject(), required, verdicts, notRun))
}

// Run returns a complete run without numbers.
func Run(id record.Identity, ledger gates.Ledger) record.Run {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return must(record.NewRun(record.RunParts{
		ID: "20260102T030405Z-0123abcd", Started: start, Took: time.Minute, Command: "run", Harness: "infbench test", Identity: id, Ledger: ledger,
		Ending: record.Ending{Complete: true},
	}))
}

// Host returns a host with eight accelerators.
func Host() record.Host {
	return must(record.NewHost(record.HostParts{
		Target: record.Here, TargetBy: "a loopback address", OS: "Ubuntu 22.04", Kernel: "Linux 5.15.0-1063-nvidia", AcceleratorsBy: "nvidia-smi",
		CPU:          record.HostCPU{Model: "a processor", Arch: "x86_64", Cores: 224, Level: "x86-64-v4", Flags: []string{"avx2", "avx512f"}},
		Memory:       record.HostMemory{TotalBytes: 2 << 40, Model: record.Separate, ModelBy: "nvidia-smi gives memory of its own"},
		Accelerators: []record.Accelerator{{Name: "NVIDIA H100 80GB HBM3", Arch: "sm_90", Count: 8, MemoryBytes: 81559 << 20}},
		Versions:     []record.Version{{Name: "NVIDIA driver", Version: "550.90.07"}},
	}))
}

// Hosted returns a complete run with numbers and the host that it was made on.
func Hosted(id record.Identity) record.Run {
	run := PerfRun(id)
	parts := run.Parts()
	parts.Host = Host()
	perf, _ := run.Performance()
	return must(must(record.NewRun(parts)).With(perf))
}

// Sample returns a good request that takes the round figures of the definitions'
// test vector: 92,888 prompt tokens of which 90,380 were cached, first token after
// 1.10 s, 400 tokens, last one after 9.08 s.
func Sample(sent time.Duration) record.Sample {
	return record.Sample{
		Due: sent, Sent: sent, First: sent + 1100*time.Millisecond, FirstAnswer: sent + 1100*time.Millisecond, Last: sent + 9080*time.Millisecond,
		End: sent + 9100*time.Millisecond, PromptTokens: gates.CountOf(92_888), OutputTokens: 400, CachedTokens: gates.CountOf(90_380), Chunks: 400, Outcome: record.OK,
	}
}

// Measurements returns one serial level of n requests and its arrival model.
func Measurements(n int) (record.Measurements, arrival.ArrivalModel) {
	model := must(arrival.Sessions(1, 0, "test"))
	var samples []record.Sample
	for i := range n {
		samples = append(samples, Sample(time.Duration(i)*10*time.Second))
	}
	level := must(record.NewLevel(record.LevelParts{
		Arrival: model, Window: time.Duration(n) * 10 * time.Second, Samples: samples,
		TokenGapsWithheld: "tokens per chunk are not known", ChunkGaps: []time.Duration{20 * time.Millisecond, 20 * time.Millisecond},
		SteadyTokens: 400 * n, SteadyFor: time.Duration(n) * 10 * time.Second,
	}))
	return must(record.NewMeasurements(Workload(), []record.Level{level})), model
}

// Workload returns a workload for tests.
func Workload() record.Workload {
	return record.Workload{Name: "test/1", Seed: "s", PromptTokens: 92_888, OutputTokens: 400, CacheIntent: "warm", TokenSource: record.EngineUsage, Client: "test"}
}

// PerfRun returns a complete run with numbers.
func PerfRun(id record.Identity) record.Run {
	required, verdicts := Passing()
	ledger := Ledger(id, required, verdicts)
	m, model := Measurements(12)
	return must(Run(id, ledger).With(must(record.NewPerfRecord(id, must(ledger.Gates()), model, m))))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
