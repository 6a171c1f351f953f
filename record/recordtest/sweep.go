package recordtest

import (
	"time"

	"infbench/arrival"
	"infbench/gates"
	"infbench/record"
)

// Sweep returns the record of several levels that were held to tiers.
func Sweep(id record.Identity, o record.Objectives, parts ...record.LevelParts) record.PerfRecord {
	var levels []record.Level
	for _, p := range parts {
		if p.TokenGaps == nil && p.TokenGapsWithheld == "" {
			p.TokenGapsWithheld = "tokens per chunk are not known"
		}
		levels = append(levels, must(record.NewLevel(p)))
	}
	m := must(must(record.NewMeasurements(Workload(), levels)).HeldTo(o))
	required, verdicts := Passing()
	return must(record.NewPerfRecord(id, must(Ledger(id, required, verdicts).Gates()), must(m.Arrival()), m))
}

// Requests returns the parts of a level of n requests of 1,000 prompt tokens, half of them
// from the cache, and 101 output tokens: first token after 500 ms, 20 ms a token, no gap
// over 40 ms. They follow one another at 3 s, and change may spoil some.
func Requests(m arrival.ArrivalModel, n int, change func(i int, s *record.Sample)) record.LevelParts {
	p := record.LevelParts{Arrival: m}
	for i := range n {
		at := time.Duration(i) * 3 * time.Second
		s := record.Sample{
			Due: at, Sent: at, First: at + 500*time.Millisecond, FirstAnswer: at + 500*time.Millisecond, Last: at + 2500*time.Millisecond, End: at + 2600*time.Millisecond,
			PromptTokens: gates.CountOf(1000), CachedTokens: gates.CountOf(500), OutputTokens: 101, Chunks: 101, MaxGap: 40 * time.Millisecond, Code: record.CodeHeld, Outcome: record.OK,
		}
		if change != nil {
			change(i, &s)
		}
		p.Samples = append(p.Samples, s)
		p.Window = max(p.Window, s.End)
	}
	return p
}

// Sessions returns the closed loop of n sessions without think time.
func Sessions(n int) arrival.ArrivalModel { return must(arrival.Sessions(n, 0, "test")) }
