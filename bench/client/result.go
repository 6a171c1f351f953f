package main

import (
	"fmt"
	"slices"
	"time"

	"infbench/gates"
	"infbench/record"
)

// result is summary.json. The first keys are those in which other load generators are
// summarised; a value that cannot be given is left out, and withheld says why.
type result struct {
	Peer         string   `json:"peer"`
	ExitCode     int      `json:"exit_code"`
	OK           int      `json:"ok"`
	Failed       int      `json:"failed"`
	OutputTokens int      `json:"output_tokens,omitempty"`
	TokS         float64  `json:"tok_s,omitempty"`
	TTFT         *figures `json:"ttft_ms,omitempty"`
	ITL          *figures `json:"itl_ms,omitempty"`
	Chunk        *figures `json:"chunk_ms,omitempty"`
	TPOT         *figures `json:"tpot_ms,omitempty"`
	E2E          *figures `json:"e2e_ms,omitempty"`
	ITLKind      string   `json:"itl_kind"`

	Outcomes    map[record.Outcome]int `json:"outcomes,omitempty"`
	Complaints  []string               `json:"complaints,omitempty"`
	Withheld    []string               `json:"withheld,omitempty"`
	Counts      counts                 `json:"counts"`
	Connections connections            `json:"connections"`

	ClientLimited bool                `json:"client_limited"`
	Calibration   *record.Calibration `json:"calibration,omitempty"`
	Pulse         *record.Calibration `json:"pulse,omitempty"`
	CPU           float64             `json:"cpu_s_of_load"`
	Wall          float64             `json:"wall_s"`
	CPUPer100k    float64             `json:"cpu_s_per_100k_tokens,omitempty"`
}

// figures are of nearest rank; p99 is left out below 100 values.
type figures struct {
	Mean float64  `json:"mean"`
	P50  float64  `json:"p50"`
	P99  *float64 `json:"p99,omitempty"`
}

// counts are the tokens of the good answers by each who counts, apart: twice the usage,
// several tokens in a chunk, and answers in one burst show.
type counts struct {
	Usage  *int `json:"usage,omitempty"`
	Own    *int `json:"tokenizer,omitempty"`
	Chunks int  `json:"chunks"`
	// Shared is the number of chunks that shared a read with an earlier one, Bursts that of
	// answers that came in one piece, Held that of answers with the code that was asked for.
	Shared int `json:"shared_reads"`
	Bursts int `json:"bursts"`
	Held   int `json:"codes_held"`
}

type connections struct {
	Opened  int     `json:"opened_ahead"`
	DialP50 float64 `json:"dial_p50_ms,omitempty"`
	DialMax float64 `json:"dial_max_ms,omitempty"`
	Fresh   int     `json:"fresh"`
	Resent  int     `json:"resent"`
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func figuresOf(values []time.Duration) *figures {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	sum := time.Duration(0)
	for _, v := range values {
		sum += v
	}
	rank := func(percent int) float64 { return millis(values[(len(values)*percent+99)/100-1]) }
	f := &figures{Mean: millis(sum) / float64(len(values)), P50: rank(50)}
	if len(values) >= 100 {
		p99 := rank(99)
		f.P99 = &p99
	}
	return f
}

// settle judges the load as a whole, and names its speed if it has one.
func (r *result) settle(run *runner) {
	r.ITLKind, r.Outcomes = "token", map[record.Outcome]int{}
	var s samples
	for _, k := range run.kept {
		r.Outcomes[k.outcome]++
		r.Connections.add(k)
		if k.outcome != record.OK {
			r.Failed++
			continue
		}
		r.OK++
		s.add(k, &r.Counts)
	}
	r.Counts.sum(run.kept)
	r.judge(run, s)
	if s.tokens > 0 {
		r.CPUPer100k = r.CPU / float64(s.tokens) * 1e5
	}
	if len(r.Withheld) > 0 {
		return
	}
	r.TTFT, r.E2E, r.Chunk = figuresOf(s.ttft), figuresOf(s.e2e), figuresOf(s.chunks)
	if s.counted {
		r.OutputTokens, r.TPOT = s.tokens, figuresOf(s.tpot)
		if d := s.ended.Sub(s.began).Seconds(); d > 0 {
			r.TokS = float64(s.tokens) / d
		}
	}
	if s.exact {
		r.ITL = figuresOf(s.itl)
	}
	r.trust(s)
}

// samples are the times of the good answers.
type samples struct {
	ttft, e2e, tpot, chunks, itl []time.Duration
	tokens                       int
	counted, exact, any          bool
	began, ended                 time.Time
}

func (s *samples) add(k kept, c *counts) {
	t := k.timing
	n, counted := tokensOf(k)
	if !s.any {
		s.any, s.counted, s.exact, s.began = true, true, true, k.began
	}
	s.counted = s.counted && counted
	s.tokens += n
	if k.began.Before(s.began) {
		s.began = k.began
	}
	if end := k.began.Add(t.LastToken); end.After(s.ended) {
		s.ended = end
	}
	s.ttft, s.e2e = append(s.ttft, t.FirstToken), append(s.e2e, t.LastToken)
	if n > 1 {
		s.tpot = append(s.tpot, (t.LastToken-t.FirstToken)/time.Duration(n-1))
	}
	for i, m := range t.Marks {
		s.exact = s.exact && m.Tokens > 0
		if i == 0 {
			continue
		}
		gap := m.At - t.Marks[i-1].At
		if m.Read == t.Marks[i-1].Read {
			c.Shared++
		} else {
			s.chunks = append(s.chunks, gap)
		}
		for range m.Tokens {
			s.itl = append(s.itl, gap/time.Duration(m.Tokens))
		}
	}
	if n >= 16 && t.LastToken-t.FirstToken < t.Ended/50 {
		c.Bursts++
	}
}

// tokensOf returns the tokens of an answer: the server's count, no more than our own where
// there is one, so that a count that is too large makes nothing faster. Chunks are no
// tokens: they are returned where nobody counted.
func tokensOf(k kept) (n int, counted bool) {
	claimed, byServer := k.claimed.N()
	own, byUs := k.own.N()
	switch {
	case byServer && byUs:
		return min(claimed, own), true
	case byServer:
		return claimed, true
	case byUs:
		return own, true
	}
	return len(k.timing.Marks), false
}

func (c *connections) add(k kept) {
	if k.timing.Fresh {
		c.Fresh++
	}
	if k.timing.Resent {
		c.Resent++
	}
}

func (c *counts) sum(all []kept) {
	add := func(to **int, n gates.Count) {
		if v, ok := n.N(); ok {
			if *to == nil {
				*to = new(int)
			}
			**to += v
		}
	}
	for _, k := range all {
		if k.outcome != record.OK {
			continue
		}
		add(&c.Usage, k.claimed)
		add(&c.Own, k.own)
		c.Chunks += len(k.timing.Marks)
		if k.held {
			c.Held++
		}
	}
}

// judge says what is wrong with the load as a whole; a load that is not what was asked for
// has no speed.
func (r *result) judge(run *runner, s samples) {
	void := func(format string, a ...any) {
		why := fmt.Sprintf(format, a...)
		r.Complaints, r.Withheld, r.ExitCode = append(r.Complaints, why), append(r.Withheld, why), harmful
	}
	for _, o := range slices.Sorted(func(yield func(record.Outcome) bool) {
		for o := range r.Outcomes {
			if !yield(o) {
				return
			}
		}
	}) {
		if o == record.OK {
			continue
		}
		example := slices.IndexFunc(run.kept, func(k kept) bool { return k.outcome == o })
		void("%d of %d answers were %s: %s", r.Outcomes[o], len(run.kept), o, run.kept[example].why)
	}
	if n := len(run.kept); n < run.requests {
		void("%d of %d requests were sent", n, run.requests)
	}
	if r.Counts.Bursts*2 > r.OK {
		void("%d of %d answers came in one piece: something buffers the stream", r.Counts.Bursts, r.OK)
	}
	if run.able && r.OK >= 4 && r.Counts.Held*2 < r.OK {
		void("%d of %d answers hold the code that was asked for; alone it was given back", r.Counts.Held, r.OK)
	}
	if c := r.Counts; c.Usage != nil && c.Own != nil {
		if off := max(*c.Usage-*c.Own, *c.Own-*c.Usage); off > 8 && off*100 > *c.Own {
			why := fmt.Sprintf("usage counts %d tokens and the tokenizer %d; the smaller is taken", *c.Usage, *c.Own)
			r.Complaints, r.ExitCode = append(r.Complaints, why), max(r.ExitCode, limited)
		}
	}
}

// trust takes away what the client's own error spoils.
func (r *result) trust(s samples) {
	ttft, tpot := time.Duration(0), time.Duration(0)
	if n := len(s.ttft); n > 0 {
		ttft = s.ttft[(n-1)/2] // sorted by now
	}
	if n := len(s.tpot); n > 0 {
		tpot = slices.Sorted(slices.Values(s.tpot))[(n-1)/2]
	}
	trust := record.ClientTrust{ITLUntrusted: record.JudgeCoalesced(r.Counts.Shared, r.Counts.Chunks)}
	trust = trust.And(record.JudgeBoth(or(r.Calibration), or(r.Pulse), ttft, tpot))
	if why := trust.ITLUntrusted; why != "" {
		r.ITL, r.Chunk = nil, nil
		r.Withheld = append(r.Withheld, why)
	}
	if why := trust.Void(); why != nil {
		r.ClientLimited = true
		r.TTFT, r.ITL, r.Chunk, r.TPOT, r.E2E, r.TokS = nil, nil, nil, nil, nil, 0
		r.Complaints, r.Withheld, r.ExitCode = append(r.Complaints, why...), append(r.Withheld, why...), max(r.ExitCode, limited)
	}
}

func or(c *record.Calibration) record.Calibration {
	if c == nil {
		return record.Calibration{}
	}
	return *c
}
