package performance

import (
	"context"
	"fmt"
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
	// agreement is how clients and the engine's own account stand to each other.
	agreement record.Agreement
	// saturated says why the load was more than the server can take.
	saturated string
	// waits are the whole times of the good requests, tokens theirs, of a level that was measured
	// for so long.
	waits       []time.Duration
	tokens      int
	measuredFor time.Duration
	// promptTokens is the length of the first prompt, 0 where nobody counted.
	promptTokens int
	// cachedByCell are the cached tokens of the good requests of a suite's cells.
	cachedByCell map[int][]gates.Count
	// cold is how long the level's first answer took to begin.
	cold time.Duration
}

// collector gathers samples. It is shared by the requests of one level.
type collector struct {
	mu      sync.Mutex
	w       *work
	answers []kept
	example string
	inARow  int  // requests without any sign of life between answers
	dead    bool // the server is gone
	judging sync.WaitGroup
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
	// asked is how many tokens were asked for, cell and block the request's place in a suite.
	asked, cell, block int
	// prompt is the prompt's length as the server counted it, else as our tokenizer did.
	prompt gates.Count
}

// deadAfter is the number of requests in a row without a connection or an answer after
// which a server counts as gone. One that turns requests away is alive.
const deadAfter = 8

func (w *work) level(ctx context.Context, m arrival.ArrivalModel) (levelResult, error) {
	c := &collector{w: w, answers: make([]kept, 0, 4096)}
	defer w.script.ready(m.Sessions())()
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
	before := w.calibrate(driving, m)
	warm := newWarming(m.Sessions(), w.expected(m), w.patience(m), endDriving)
	defer warm.stop()
	if m.Sessions() > 0 {
		stop.After += w.patience(m) // the warm-up's own end comes before
	}
	win := startWindow(asking, w.ep, w.c.Devices)
	defer win.close()
	beside := w.pulse(driving)
	origin, _, err := arrival.Drive(driving, m, stop, func(_ context.Context, slot arrival.Slot) {
		p := w.script.next(slot.Session)
		if p.opens {
			slot.Due = time.Now() // it has waited for the turn of its target
		}
		w.dawdle(asking)
		w.live.started()
		a := w.ep.Send(asking, p.body)
		if a.Failure == nil {
			slot.Received(a.Timing.Began.Add(a.Timing.Ended))
		}
		if a.Failure != nil {
			c.keep(slot, p, a)
		} else { // a session's next request does not wait until its last answer is judged
			c.judging.Go(func() { c.keep(slot, p, a) })
		}
		if slot.Turn == 0 {
			warm.finished()
		}
		switch {
		case c.isDead():
			endDriving()
		case a.Failure != nil && a.Failure.Kind == endpoint.Busy && !m.Open():
			// A session that was turned away waits as it is told to, or a little: asking
			// again at once would only measure how fast the server says no.
			pause(driving, max(a.Failure.RetryAfter, busyPause))
		}
	})
	c.judging.Wait()
	pulse := beside.ended()
	if err != nil {
		return levelResult{}, err
	}
	return c.settle(m, origin, warm.over(), win.end(asking, c.seen()), before, pulse)
}

// patienceFactor is how many times the first prompt that was tried a session's may take: an
// agent's are up to eight times as long.
const patienceFactor = 10

// patience is how long a closed loop's first turns are waited for at most.
func (w *work) patience(m arrival.ArrivalModel) time.Duration {
	return max(w.c.PerLevel, patienceFactor*w.cold*time.Duration(m.Sessions()))
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

// busyPause is the least that a session waits after it was turned away.
const busyPause = 250 * time.Millisecond

func (c *collector) isDead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

// keep judges an answer and stores it.
func (c *collector) keep(slot arrival.Slot, p prompt, a endpoint.Answer) {
	k := kept{began: a.Timing.Began, due: slot.Due, a: a, slot: slot, asked: p.output, cell: p.cell, block: p.block}
	k.out, k.why = c.w.judge(p, a)
	k.n = c.w.outputTokens(a)
	k.prompt = a.Usage.Prompt
	if _, ok := k.prompt.N(); !ok {
		k.prompt = p.tokens
	}
	echo, _ := c.w.ep.Canaries().Judge(a.Content+a.Reasoning, p.want, p.own...)
	k.held = echo == gates.Found
	k.a.Content, k.a.Reasoning = "", "" // judged; thousands of texts would be kept for nothing
	if k.began.IsZero() {
		k.began = slot.Due
	}
	c.w.live.ended(k)
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
