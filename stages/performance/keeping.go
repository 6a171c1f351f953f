package performance

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"infbench/arrival"
	"infbench/gates"
	"infbench/record"
)

// Keeping is where a measurement is kept while it goes on. The zero Keeping keeps nothing.
type Keeping struct {
	// Journal takes every request as it ends and every load point; nil takes nothing.
	Journal *record.Journal
	// Restored holds the load points of an earlier sitting: they are not measured again.
	Restored *record.Restored
	// Caveats say what a reader of the numbers must know of it.
	Caveats []string
}

// step names the load point in a journal.
func (p Progress) step() string {
	if p.Depth > 0 {
		return "depth " + strconv.Itoa(p.Depth)
	}
	return "level " + strconv.Itoa(p.Index)
}

// restored returns a load point of an earlier sitting.
func (w *work) restored(step string, m arrival.ArrivalModel) (levelResult, bool) {
	level, raw, ok := w.keep.Restored.Step(step)
	if !ok {
		return levelResult{}, false
	}
	var f levelFacts
	if err := json.Unmarshal(raw, &f); err != nil { // of a version that knew less
		return levelResult{}, false
	}
	return f.result(m, level), true
}

// queued is how many requests may wait to be written: at more than this the journal lacks
// some, and the measurement goes on undisturbed.
const queued = 4096

// keeping writes what ends into the journal, away from what is measured. stop waits for it.
func (w *work) keeping(step string, l *live) (stop func()) {
	if w.keep.Journal == nil {
		return func() {}
	}
	ended := make(chan kept, queued)
	l.ends = ended
	var wg sync.WaitGroup
	wg.Go(func() {
		for k := range ended {
			w.keep.Journal.Sample(step, sampleOf(k, l.began))
		}
	})
	return func() { close(ended); wg.Wait() }
}

// keepStep keeps a load point that has ended. That it could not be kept is told by
// [record.Journal.Lost], and ends nothing.
func (w *work) keepStep(step string, r levelResult) {
	if w.keep.Journal == nil {
		return
	}
	facts, err := json.Marshal(factsOf(r))
	if err == nil {
		_ = w.keep.Journal.Done(step, r.level, facts)
	}
}

// levelFacts is the written form of what the checks need to know of a level besides its
// samples. It stands in seals only.
type levelFacts struct {
	Issued      int                    `json:"issued"`
	Good        int                    `json:"good"`
	Warmup      int                    `json:"warmup"`
	Serial      bool                   `json:"serial"`
	Failed      map[record.Outcome]int `json:"failed"`
	Example     string                 `json:"example"`
	Void        []string               `json:"void"`
	CachedKnown bool                   `json:"cached_known"`
	CachedShare float64                `json:"cached_share"`
	Buffered    int                    `json:"buffered"`
	Shortened   int                    `json:"shortened"`
	Held        int                    `json:"held"`
	Lag         time.Duration          `json:"lag_ns"`
	Dead        bool                   `json:"dead"`
	Agreement   record.Agreement       `json:"agreement"` // as the checks read it
	Saturated   string                 `json:"saturated"`
	Waits       []time.Duration        `json:"waits_ns"`
	Tokens      int                    `json:"tokens"`
	MeasuredFor time.Duration          `json:"measured_for_ns"`
	PromptTok   int                    `json:"prompt_tokens"`
	Cold        time.Duration          `json:"cold_ns"`
	ByCell      map[int][]gates.Count  `json:"cached_by_cell"`
}

func factsOf(r levelResult) levelFacts {
	return levelFacts{
		r.issued, r.good, r.warmup, r.serial, r.failed, r.example, r.void, r.cachedKnown, r.cachedShare, r.buffered, r.shortened, r.held, r.lag, r.dead, r.agreement,
		r.saturated, r.waits, r.tokens, r.measuredFor, r.promptTokens, r.cold, r.cachedByCell,
	}
}

func (f levelFacts) result(m arrival.ArrivalModel, level record.Level) levelResult {
	return levelResult{
		arrival: m, level: level, issued: f.Issued, good: f.Good, warmup: f.Warmup, serial: f.Serial, failed: f.Failed, example: f.Example, void: f.Void,
		cachedKnown: f.CachedKnown, cachedShare: f.CachedShare, buffered: f.Buffered, shortened: f.Shortened, held: f.Held, lag: f.Lag, dead: f.Dead, agreement: f.Agreement,
		saturated: f.Saturated, waits: f.Waits, tokens: f.Tokens, measuredFor: f.MeasuredFor, promptTokens: f.PromptTok, cold: f.Cold, cachedByCell: f.ByCell,
	}
}

// Asked says in words what a configuration asks for, the levels apart: where the words are
// the same, so is the measurement.
func (c Config) Asked() string {
	return fmt.Sprintf("workload %q, prompts of %d and answers of %d tokens, %v a level, at most %d requests, depths %v, past saturation %v, counted by %q",
		c.Workload, c.PromptTokens, c.OutputTokens, c.PerLevel, c.Requests, c.Depths, c.PastSaturation, c.TokenizedBy)
}
