package recordtest

import (
	"encoding/json"
	"testing"
	"time"

	"infbench/arrival"
	"infbench/gates"
	"infbench/record"
)

// serial returns a serial level of samples that were sent one after another, the first of
// which is warm-up.
func serial(mixed string, samples ...record.Sample) record.Level {
	at := time.Duration(0)
	for i := range samples {
		s := &samples[i]
		for _, d := range []*time.Duration{&s.Due, &s.Sent, &s.First, &s.FirstAnswer, &s.Last, &s.End} {
			*d += at
		}
		s.Turn, s.Warmup = i, i == 0
		at = s.End
	}
	return must(record.NewLevel(record.LevelParts{
		Arrival: model(), Window: at, From: samples[0].End, Samples: samples, TokenGapsWithheld: "tokens per chunk are not known", Warmup: "the first request", Mixed: mixed,
	}))
}

func model() arrival.ArrivalModel { return must(arrival.Sessions(1, 0, "test")) }

// Answer returns a good request of so many prompt tokens, of which so many were cached: its
// first token comes after ttft, and n tokens each tpot apart.
func Answer(prompt, cached int, ttft, tpot time.Duration, n int) record.Sample {
	last := ttft + time.Duration(n-1)*tpot
	return record.Sample{
		First: ttft, FirstAnswer: ttft, Last: last, End: last + time.Millisecond, PromptTokens: gates.CountOf(prompt), OutputTokens: n, CachedTokens: gates.CountOf(cached),
		Chunks: n, Outcome: record.OK, Code: record.CodeHeld,
	}
}

// Laddered returns measurements with a ladder of three depths, whose TPOT is 2 ms and 20 µs for
// each 1,000 tokens.
func Laddered() record.Measurements {
	m, _ := Measurements(12)
	var rungs []record.Rung
	for _, depth := range []int{1000, 8000, 16000} {
		tpot := 2*time.Millisecond + time.Duration(depth+5)*20*time.Nanosecond
		rungs = append(rungs, record.Rung{AimTokens: depth, Level: serial("",
			Answer(depth, 0, time.Duration(depth)*16*time.Microsecond, tpot, 10), Answer(depth, depth-20, 4*time.Millisecond, tpot, 10), Answer(depth, depth-20, 4*time.Millisecond, tpot, 10))})
	}
	return must(m.WithLadder(rungs, []string{"not measured at 32768 tokens and more: the context holds 32768"}))
}

// Frozen returns the measurements of a frozen workload of one depth, two repeats.
func Frozen() record.Measurements {
	cell := func(s record.Sample, n, block int) record.Sample { s.Cell, s.Block = n, block; return s }
	cold, warm := Answer(8192, 0, 860*time.Millisecond, 20*time.Millisecond, 32), Answer(8192, 8100, 60*time.Millisecond, 20*time.Millisecond, 32)
	level := serial("told by cell", cold, cell(cold, 0, 0), cell(warm, 1, 0), cell(cold, 0, 1), cell(warm, 1, 1))
	m := must(record.NewMeasurements(Workload(), []record.Level{level}))
	return must(m.WithFrozen(record.Frozen{
		Name: "test", Spec: json.RawMessage(`{"schema":"infbench.workload/v1"}`), Hash: "sha256:aa", Materialised: "sha256:bb",
		Cells: []record.Cell{{PromptTokens: 8192, TrueTokens: 8192, MaxTokens: 32, Proven: true}, {PromptTokens: 8192, TrueTokens: 8192, MaxTokens: 32, Warm: true, Proven: true}},
	}))
}

// Calibrated returns measurements with the client's own error before and beside their level.
func Calibrated() record.Measurements {
	parts := record.CalibrationParts{
		Streams: 1, TTFT: 50 * time.Millisecond, TPOT: 5 * time.Millisecond, OutputTokens: 20, Lags: []time.Duration{60 * time.Microsecond, 80 * time.Microsecond},
		TTFTErrors: []time.Duration{90 * time.Microsecond}, Late: []time.Duration{10 * time.Microsecond},
	}
	before := must(record.NewCalibration(parts))
	parts.During = true
	beside := must(record.NewCalibration(parts))
	var samples []record.Sample
	for i := range 12 {
		samples = append(samples, Sample(time.Duration(i)*10*time.Second))
		samples[i].Block = i / 4
	}
	level := must(record.NewLevel(record.LevelParts{
		Arrival: model(), Window: 2 * time.Minute, Samples: samples, TokenGapsWithheld: "tokens per chunk are not known", Calibrations: []record.Calibration{before, beside},
	}))
	return must(record.NewMeasurements(Workload(), []record.Level{level}))
}

// Line returns a complete run with measurements as it is written.
func Line(t *testing.T, id record.Identity, m record.Measurements) []byte {
	t.Helper()
	required, verdicts := Passing()
	ledger := Ledger(id, required, verdicts)
	perf := must(record.NewPerfRecord(id, must(ledger.Gates()), must(m.Arrival()), m))
	line, err := json.Marshal(must(Run(id, ledger).With(perf)))
	if err != nil {
		t.Fatal(err)
	}
	return line
}
