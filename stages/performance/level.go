package performance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"infbench/arrival"
	"infbench/gates"
	"infbench/record"
	"infbench/stages/endpoint"
)

// levelResult is one load point and what the checks need to know of it.
type levelResult struct {
	arrival      arrival.ArrivalModel
	level        record.Level
	issued, good int // issued counts warm-up, good does not
	warmup       int
	serial       bool
	failed       map[record.Outcome]int
	example      string // of the first request that failed
	void         []string
	cachedKnown  bool
	cachedShare  float64 // of the prompt tokens of good answers, where it is told
	buffered     int     // good answers that came in one piece
	shortened    int     // good answers that ended before the output length
	held         int     // good answers that hold the code that they were asked for
	lag          time.Duration
	dead         bool
	// told is the number of output tokens that clients were told of, engine what the
	// engine's own counter moved by; absent where it has none.
	told   int
	engine gates.Count
}

// collector gathers samples. It is shared by the requests of one level.
type collector struct {
	mu      sync.Mutex
	w       *work
	answers []kept
	example string
	inARow  int  // requests without any sign of life between answers
	dead    bool // the server is gone
}

// kept is what is needed of a good answer once the origin is known.
type kept struct {
	began time.Time
	due   time.Time
	a     endpoint.Answer
	out   record.Outcome
	why   string
	slot  arrival.Slot
	n     int  // output tokens
	held  bool // the answer holds its code
	// prompt is the prompt's length as the server counted it, else as our tokenizer did.
	prompt gates.Count
}

// deadAfter is the number of requests in a row without a connection or an answer after
// which a server counts as gone. One that turns requests away is alive.
const deadAfter = 8

func (w *work) level(ctx context.Context, m arrival.ArrivalModel) (levelResult, error) {
	c := &collector{w: w, answers: make([]kept, 0, 4096)}
	supply, stopSupply := w.supply(max(4, 2*m.Sessions()))
	defer stopSupply()
	driving, endDriving := context.WithCancel(ctx)
	defer endDriving()
	asking, endAsking := context.WithCancelCause(context.WithoutCancel(ctx))
	defer endAsking(nil)
	defer context.AfterFunc(ctx, func() {
		// No new request starts now; those in flight get a little time to finish.
		time.AfterFunc(w.c.Grace, func() { endAsking(context.Cause(ctx)) })
	})()
	stop := arrival.Stop{After: w.expected(m), Requests: w.c.Requests}
	if m.Requests() > 0 {
		stop = arrival.Stop{}
	}
	before := w.generated(ctx)
	origin, _, err := arrival.Drive(driving, m, stop, func(_ context.Context, slot arrival.Slot) {
		p := <-supply
		w.dawdle(asking)
		a := w.ep.Send(asking, p.body)
		c.keep(slot, p, a)
		switch {
		case c.isDead():
			endDriving()
		case a.Failure != nil && a.Failure.Kind == endpoint.Busy && !m.Open():
			// A session that was turned away waits as it is told to, or a little: asking
			// again at once would only measure how fast the server says no.
			pause(driving, max(a.Failure.RetryAfter, busyPause))
		}
	})
	if err != nil {
		return levelResult{}, err
	}
	r, err := c.settle(m, origin)
	r.engine = w.moved(asking, before, r.told)
	return r, err
}

// generated returns the engine's own count of output tokens since it started.
func (w *work) generated(ctx context.Context) gates.Count {
	c, err := w.ep.Counters(ctx)
	if err != nil {
		return gates.Count{}
	}
	return c.Output
}

// moved returns how far the engine's counter moved. Counters may trail the last answer
// by a moment, so one that is short is read again a few times.
func (w *work) moved(ctx context.Context, before gates.Count, told int) gates.Count {
	was, ok := before.N()
	last := gates.Count{}
	for range 5 {
		is, known := w.generated(ctx).N()
		if !ok || !known || is < was { // it fell: the engine was restarted
			return gates.Count{}
		}
		if is-was >= told {
			return gates.CountOf(is - was)
		}
		last = gates.CountOf(is - was)
		pause(ctx, 200*time.Millisecond)
	}
	return last
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// dawdle makes the harness late where a test asks for it.
func (w *work) dawdle(ctx context.Context) {
	if w.c.late == 0 {
		return
	}
	pause(ctx, w.c.late)
}

// supply builds requests ahead of time, so that building falls outside of what is
// measured.
func (w *work) supply(ahead int) (<-chan prompt, func()) {
	out := make(chan prompt, ahead)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case out <- w.next():
			case <-done:
				return
			}
		}
	})
	return out, func() { close(done); wg.Wait() }
}

// busyPause is the least that a session waits after it was turned away.
const busyPause = 250 * time.Millisecond

func (c *collector) isDead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

// keep judges an answer and stores it.
func (c *collector) keep(slot arrival.Slot, p prompt, a endpoint.Answer) {
	k := kept{began: a.Timing.Began, due: slot.Due, a: a, slot: slot}
	k.out, k.why = c.w.judge(p, a)
	k.n = c.w.outputTokens(a)
	k.prompt = a.Usage.Prompt
	if _, ok := k.prompt.N(); !ok {
		k.prompt = p.tokens
	}
	echo, _ := c.w.ep.Canaries().Judge(a.Content+a.Reasoning, p.want)
	k.held = echo == gates.Found
	k.a.Content, k.a.Reasoning = "", "" // judged; thousands of texts would be kept for nothing
	if k.began.IsZero() {
		k.began = slot.Due
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers = append(c.answers, k)
	switch k.out {
	case record.Unreached, record.TimedOut:
		c.inARow++
		c.dead = c.dead || c.inARow >= deadAfter
	default:
		c.inARow = 0
	}
	if k.out != record.OK && c.example == "" {
		c.example = fmt.Sprintf("request %d (%s): %s", slot.N, k.out, k.why)
	}
}

func (w *work) outputTokens(a endpoint.Answer) int {
	switch w.source {
	case record.EngineUsage:
		return a.Usage.Completion.Or(0)
	case record.ClientTokenizer:
		if n, err := w.c.CountTokens(a.Content + a.Reasoning); err == nil {
			return n
		}
	default:
	}
	return len(a.Timing.Marks)
}

// settle turns the answers into a level.
func (c *collector) settle(m arrival.ArrivalModel, origin time.Time) (levelResult, error) {
	r := levelResult{arrival: m, failed: map[record.Outcome]int{}, example: c.example, dead: c.dead}
	slices.SortFunc(c.answers, func(a, b kept) int { return a.slot.N - b.slot.N })
	parts := record.LevelParts{Arrival: m, TokenGapsWithheld: "the server does not say how many tokens an event holds"}
	if len(c.answers) == 0 {
		return r, errors.New("no request was started")
	}
	exact := true
	for _, k := range c.answers {
		s := c.sample(k, origin, m)
		parts.Samples = append(parts.Samples, s)
		parts.Window = max(parts.Window, s.End)
		r.lag = max(r.lag, s.Sent-s.Due)
		r.told += k.n
		if s.Outcome != record.OK {
			r.failed[s.Outcome]++
			continue
		}
		if s.Warmup {
			r.warmup++
			continue
		}
		r.good++
		r.note(k, c.w)
		gaps, tokens, ok := gapsOf(k.a.Timing.Marks)
		parts.ChunkGaps = append(parts.ChunkGaps, gaps...)
		parts.TokenGaps = append(parts.TokenGaps, tokens...)
		exact = exact && ok
	}
	r.issued = len(c.answers)
	if exact && r.good > 0 {
		parts.TokenGapsWithheld = ""
	} else {
		parts.TokenGaps = nil
	}
	if c.w.source == record.ChunkCount {
		parts.RatesWithheld = "nobody counted the tokens"
	}
	parts.SteadyTokens, parts.SteadyFor = c.steady()
	parts.Void = r.judgeLevel(parts, c.w.able)
	r.void = parts.Void
	var err error
	r.level, err = record.NewLevel(parts)
	r.serial = m.Sessions() == 1
	return r, err
}

func (r *levelResult) note(k kept, w *work) {
	cached, ok := k.a.Usage.Cached.N()
	r.cachedKnown = ok && (r.cachedKnown || r.good == 1) // every answer must tell
	if p, counted := k.prompt.N(); ok && counted && p > 0 {
		r.cachedShare += (float64(cached)/float64(p) - r.cachedShare) / float64(r.good) // running mean
	}
	t := k.a.Timing
	if k.n >= 16 && t.Ended > 0 && t.LastToken-t.FirstToken < t.Ended/50 {
		r.buffered++
	}
	if k.n < w.c.OutputTokens*95/100 {
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

// The budgets of the harness's own lag: over them the figures are void.
const (
	lagBudget = 5 * time.Millisecond // or 1 % of the TTFT
	lagMost   = 50 * time.Millisecond
	// closedShare is the share of a closed loop's time that may be lost to lag.
	closedShare = 0.01
)

// judgeLevel returns why the level's figures must not be used.
func (r *levelResult) judgeLevel(p record.LevelParts, able bool) []string {
	var void []string
	samples := p.Samples
	for _, o := range []record.Outcome{record.Wrong, record.Degenerate, record.Empty, record.Cut, record.ServerSaid, record.HTTPError, record.Unreached, record.TimedOut} {
		if n := r.failed[o]; n > 0 {
			void = append(void, fmt.Sprintf("%d of %d answers were %s", n, len(samples), o))
		}
	}
	if r.good > 0 && r.buffered*2 > r.good {
		void = append(void, fmt.Sprintf("%d of %d answers came in one piece: something buffers the stream", r.buffered, r.good))
	}
	if r.lostCodes(able) {
		void = append(void, fmt.Sprintf("only %d of %d answers hold the code that was asked for; alone, every one did", r.held, r.good))
	}
	if late := lateDispatch(p); late != "" {
		void = append(void, late)
	}
	return void
}

// lateDispatch says how the harness's own lag spoils a level, "" when it does not. In an
// open loop a late start hides the queue that it should have met, so single lags count.
// In a closed loop it only thins the load a little: there the share of time counts. A
// burst starts its requests one after another as fast as it can; its lag is what it is.
func lateDispatch(p record.LevelParts) string {
	var lags, ttfts []time.Duration
	var sum time.Duration
	for _, s := range p.Samples {
		lags = append(lags, s.Sent-s.Due)
		sum += s.Sent - s.Due
		if s.Outcome == record.OK {
			ttfts = append(ttfts, s.First-s.Sent)
		}
	}
	slices.Sort(lags)
	slices.Sort(ttfts)
	worst := lags[len(lags)-1]
	if n := p.Arrival.Sessions(); n > 0 {
		if share := float64(sum) / float64(p.Window) / float64(n); share > closedShare {
			return fmt.Sprintf("late_dispatch: the harness was late for %.1f %% of the sessions' time (at most %v at once)", 100*share, worst.Round(time.Millisecond))
		}
		return ""
	}
	if p.Arrival.Requests() > 0 {
		return ""
	}
	budget := lagBudget
	if n := len(ttfts); n > 0 {
		budget = max(budget, ttfts[n/2]/100)
	}
	if p99 := lags[(len(lags)*99+99)/100-1]; p99 > budget || worst > max(lagMost, budget) {
		return fmt.Sprintf("late_dispatch: the harness started requests up to %v late (p99 %v, budget %v)", worst.Round(time.Microsecond), p99.Round(time.Microsecond), budget)
	}
	return ""
}

func (c *collector) sample(k kept, origin time.Time, m arrival.ArrivalModel) record.Sample {
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
		Chunks: len(t.Marks), Fresh: t.Fresh, Warmup: k.slot.Turn == 0 && m.Sessions() > 0, Outcome: k.out,
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

// steady counts the tokens that arrived between the end of the last warm-up request
// and the last instant at which a request was started. A chunk whose tokens are
// not known carries its share of the answer's.
func (c *collector) steady() (int, time.Duration) {
	var from, to time.Time
	for _, k := range c.answers {
		if k.began.After(to) {
			to = k.began
		}
		if k.slot.Turn == 0 {
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
