package performance

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"infbench/arrival"
	"infbench/gates"
	"infbench/internal/trend"
	"infbench/record"
	"infbench/stages/endpoint"
)

// settle turns the answers into a level that is measured from the end of its warm-up on.
func (c *collector) settle(m arrival.ArrivalModel, origin, warm time.Time, account record.EngineWindow, before, beside record.Calibration) (levelResult, error) {
	r := levelResult{arrival: m, failed: map[record.Outcome]int{}, example: c.example, dead: c.dead}
	slices.SortFunc(c.answers, func(a, b kept) int { return a.slot.N - b.slot.N })
	parts := record.LevelParts{
		Arrival: m, TokenGapsWithheld: "the server does not say how many tokens an event holds", Growing: c.w.script.grows(), Engine: account,
	}
	if len(c.answers) == 0 {
		return r, errors.New("no request was started")
	}
	for _, k := range c.answers {
		s := sampleOf(k, origin)
		s.Warmup = m.Sessions() > 0 && (s.Turn == 0 || k.began.Before(warm))
		parts.Samples = append(parts.Samples, s)
		parts.Window = max(parts.Window, s.End)
	}
	if from := warm.Sub(origin); m.Sessions() > 0 && from > 0 && from < parts.Window {
		parts.From = from
	}
	if parts.Mixed = c.w.mixed; parts.Mixed == "" {
		parts.Warmup = settleWarmup(parts.Samples, m)
		cutBlocks(parts.Samples, blocks)
	} else {
		parts.Warmup = "the first request"
		for i, k := range c.answers {
			parts.Samples[i].Cell, parts.Samples[i].Block, parts.Samples[i].Warmup = k.cell, k.block, i == 0
		}
	}
	exact := true
	for i, k := range c.answers {
		s := parts.Samples[i]
		r.lag = max(r.lag, s.Sent-s.Due)
		if s.Warmup {
			r.warmup++ // that of a failed answer too: it is in no figure, and voids the level all the same
		}
		if s.Outcome != record.OK {
			r.failed[s.Outcome]++
			continue
		}
		if s.Warmup {
			continue
		}
		r.good++
		r.waits, r.tokens = append(r.waits, s.End-s.Sent), r.tokens+k.n
		r.note(k)
		if parts.Mixed != "" {
			if r.cachedByCell == nil {
				r.cachedByCell = map[int][]gates.Count{}
			}
			r.cachedByCell[k.cell] = append(r.cachedByCell[k.cell], k.a.Usage.Cached)
		}
		gaps, tokens, ok := gapsOf(k.a.Timing.Marks)
		parts.ChunkGaps = append(parts.ChunkGaps, gaps...)
		parts.TokenGaps = append(parts.TokenGaps, tokens...)
		exact = exact && ok
	}
	r.issued, r.cold, r.promptTokens = len(c.answers), c.answers[0].a.Timing.FirstToken, c.answers[0].prompt.Or(0)
	r.measuredFor = parts.Window - parts.From
	if exact && r.good > 0 {
		parts.TokenGapsWithheld = ""
	} else {
		parts.TokenGaps = nil
	}
	if c.w.source == record.ChunkCount {
		parts.RatesWithheld = "nobody counted the tokens"
	}
	parts.SteadyTokens, parts.SteadyFor = c.steady(m, warm)
	r.agreement = record.CrossCheck(parts.Samples, c.w.source, account)
	if parts.RatesWithheld == "" {
		parts.RatesWithheld = r.agreement.NoRates()
	}
	parts.Void = append(r.judgeLevel(parts, c.w.able), r.agreement.Void()...)
	parts.Void = append(parts.Void, c.w.believed(&parts, before, beside)...)
	r.void = parts.Void
	if len(r.void) == 0 {
		parts.Saturated = overrun(parts)
		r.saturated = parts.Saturated
	}
	var err error
	r.level, err = record.NewLevel(parts)
	r.serial = m.Sessions() == 1
	return r, err
}

// blocks is the number of repeat blocks that a level is compared with itself in.
const blocks = 3

// settleWarmup marks what comes before the steady state besides the sessions' first turns,
// and says by what rule.
func settleWarmup(samples []record.Sample, m arrival.ArrivalModel) string {
	rule := "none"
	if m.Sessions() > 0 {
		rule = "up to the first answer of the last session"
	}
	var rest []*record.Sample
	var times []float64
	for i := range samples {
		if s := &samples[i]; s.Outcome == record.OK && !s.Warmup {
			rest, times = append(rest, s), append(times, float64(s.Last-s.Sent))
		}
	}
	if m.Requests() > 0 {
		return "none: a burst is a transient"
	}
	if len(times) < trend.LeastForWarmup {
		return fmt.Sprintf("%s; %d requests are too few for a test of the steady state", rule, len(times))
	}
	cut, steady := trend.Warmup(times)
	if !steady {
		return rule + "; no steady state was found (MSER-5): a longer level may have one"
	}
	for _, s := range rest[:cut] {
		s.Warmup = true
	}
	return fmt.Sprintf("%s, and %d requests by MSER-5", rule, cut)
}

// cutBlocks deals what is not warm-up into blocks of as many requests, in their order.
func cutBlocks(samples []record.Sample, n int) {
	var measured []*record.Sample
	for i := range samples {
		if !samples[i].Warmup {
			measured = append(measured, &samples[i])
		}
	}
	for i, s := range measured {
		s.Block = i * n / len(measured)
	}
}

func (r *levelResult) note(k kept) {
	cached, ok := k.a.Usage.Cached.N()
	r.cachedKnown = ok && (r.cachedKnown || r.good == 1) // every answer must tell
	if p, counted := k.prompt.N(); ok && counted && p > 0 {
		r.cachedShare += (float64(cached)/float64(p) - r.cachedShare) / float64(r.good) // running mean
	}
	t := k.a.Timing
	if k.n >= 16 && t.Ended > 0 && t.LastToken-t.FirstToken < t.Ended/50 {
		r.buffered++
	}
	if k.n < k.asked*95/100 {
		r.shortened++
	}
	if k.held {
		r.held++
	}
}

// lostCodes reports whether most answers of the level lack their code although the
// model gives it back alone, from prompts of the same shape.
func (r *levelResult) lostCodes(able bool) bool {
	return able && r.good >= 4 && r.held*2 < r.good
}

func sampleOf(k kept, origin time.Time) record.Sample {
	t := k.a.Timing
	sent := k.began.Sub(origin)
	at := func(d time.Duration) time.Duration {
		if d == 0 {
			return 0
		}
		return sent + d
	}
	s := record.Sample{
		Session: k.slot.Session, Turn: k.slot.Turn, Due: max(0, k.due.Sub(origin)), Sent: sent, First: at(t.FirstToken), FirstAnswer: at(t.FirstAnswer),
		Last: at(t.LastToken), End: sent + t.Ended, PromptTokens: k.prompt, OutputTokens: k.n, CachedTokens: k.a.Usage.Cached,
		Chunks: len(t.Marks), Fresh: t.Fresh, Dialled: t.Dialled, Outcome: k.out, Code: record.CodeMissing,
	}
	s.EngineQueue, s.EnginePrefill, s.EngineDecode = ownTimes(t.Engine)
	if k.held {
		s.Code = record.CodeHeld
	}
	s.Sent = max(s.Sent, s.Due)
	for i, mark := range t.Marks {
		if i > 0 {
			s.MaxGap = max(s.MaxGap, mark.At-t.Marks[i-1].At)
			if mark.Read == t.Marks[i-1].Read {
				s.Coalesced++
			}
		}
	}
	return s
}

// gapsOf returns the gaps between reads with text, and the gaps between tokens: the
// gap before a chunk of m tokens counts m times a m-th of it. exact is false when a
// chunk's tokens are not known.
func gapsOf(marks []endpoint.Mark) (chunks, tokens []time.Duration, exact bool) {
	exact = len(marks) > 0
	for i := 1; i < len(marks); i++ {
		gap := marks[i].At - marks[i-1].At
		if marks[i].Read != marks[i-1].Read {
			chunks = append(chunks, gap)
		}
		n := marks[i].Tokens
		if n <= 0 {
			exact = false
			continue
		}
		for range n {
			tokens = append(tokens, gap/time.Duration(n))
		}
	}
	return chunks, tokens, exact
}

// steady counts the tokens that arrived between the end of the warm-up, in an open loop of
// its first request, and the last instant at which a request was started. A chunk whose tokens are
// not known carries its share of the answer's.
func (c *collector) steady(m arrival.ArrivalModel, warm time.Time) (int, time.Duration) {
	var from, to time.Time
	if m.Sessions() > 0 {
		from = warm
	}
	for _, k := range c.answers {
		if k.began.After(to) {
			to = k.began
		}
		if k.slot.Turn == 0 && from.IsZero() {
			if end := k.began.Add(k.a.Timing.Ended); end.After(from) {
				from = end
			}
		}
	}
	if !to.After(from) {
		return 0, 0
	}
	total := 0.0
	for _, k := range c.answers {
		if k.out != record.OK || len(k.a.Timing.Marks) == 0 {
			continue
		}
		share := float64(k.n) / float64(len(k.a.Timing.Marks))
		for _, m := range k.a.Timing.Marks {
			at := k.began.Add(m.At)
			if at.Before(from) || !at.Before(to) {
				continue
			}
			if m.Tokens > 0 {
				total += float64(m.Tokens)
			} else {
				total += share
			}
		}
	}
	return int(total), to.Sub(from)
}
