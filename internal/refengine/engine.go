package refengine

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"infbench/internal/batching"
)

// An Engine serves the OpenAI API. Make one with New, end it with Close. Safe for
// concurrent use.
type Engine struct {
	config Config
	mux    *http.ServeMux
	epoch  time.Time // instant 0 of the engine's clock

	mu    sync.Mutex // guards sched and feeds
	sched *batching.Scheduler
	feeds map[*batching.Sequence]*feed
	wake  chan struct{} // one slot: "look at the queue"
	stop  chan struct{}
	once  sync.Once
	loops sync.WaitGroup

	meters  *meters
	truths  truthLog
	serials serials
}

var (
	errFull   = errors.New("the request queue is full")
	errClosed = errors.New("the engine is closed")
)

// New starts an engine, or says everything that is wrong with its configuration.
func New(c Config) (*Engine, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	sched, err := batching.NewScheduler(c.limits())
	if err != nil {
		return nil, err
	}
	e := &Engine{
		config: c, epoch: time.Now(), sched: sched,
		feeds: make(map[*batching.Sequence]*feed),
		wake:  make(chan struct{}, 1), stop: make(chan struct{}),
		meters: newMeters(),
	}
	e.truths.sink = c.Truth
	e.serials.seed, e.serials.names = c.Seed, uint64(e.epoch.UnixNano())
	e.mux = e.routes()
	e.loops.Go(e.loop)
	return e, nil
}

// Close stops the clock and waits for it. Requests still running end with an
// error. Closing twice is harmless. It never fails.
func (e *Engine) Close() error {
	e.once.Do(func() { close(e.stop) })
	e.loops.Wait()
	return nil
}

// Epoch is the instant 0 of the times in a Truth, with its monotonic part: a client
// in the same process can put its own stamps on the engine's clock.
func (e *Engine) Epoch() time.Time { return e.epoch }

// ServeHTTP implements http.Handler.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) { e.mux.ServeHTTP(w, r) }

func (e *Engine) now() time.Duration { return time.Since(e.epoch) }

// submit queues a sequence and returns where its tokens will be announced.
func (e *Engine) submit(q *batching.Sequence) (*feed, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.stop:
		return nil, errClosed
	default:
	}
	if e.sched.Load().Waiting >= e.config.MaxQueue {
		return nil, errFull
	}
	if err := e.sched.Add(q); err != nil {
		return nil, err
	}
	f := &feed{ready: make(chan struct{}, 1)}
	e.feeds[q] = f
	select {
	case e.wake <- struct{}{}:
	default:
	}
	return f, nil
}

// withdraw takes a sequence out at once: finished, or its client went away.
func (e *Engine) withdraw(q *batching.Sequence) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sched.Remove(q)
	delete(e.feeds, q)
}

// maxLag is how far the schedule may fall behind the wall before it is moved: a
// process that was suspended must not replay the missed steps in a burst.
const maxLag = 50 * time.Millisecond

// loop runs the batch. Steps follow each other on an absolute schedule, each
// starting when the one before was due to end and not when the timer happened to
// fire, so timer overshoot does not add up.
func (e *Engine) loop() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var clock time.Duration
	for {
		step, ok := e.plan(&clock)
		if !ok {
			select {
			case <-e.wake:
				continue
			case <-e.stop:
				return
			}
		}
		clock += e.config.Cost.Of(step)
		timer.Reset(clock - e.now())
		select {
		case <-timer.C:
		case <-e.stop:
			return
		}
		e.commit(step, clock)
		if now := e.now(); now-clock > maxLag {
			clock = now
		}
	}
}

// plan returns the step that begins at the clock. After an idle time the clock is
// first moved to the arrival that ended it.
func (e *Engine) plan(clock *time.Duration) (batching.Step, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	step := e.sched.Plan(*clock)
	if step.Empty() {
		if _, ok := e.sched.NextArrival(); !ok {
			return step, false
		}
		*clock = e.now()
		step = e.sched.Plan(*clock)
	}
	return step, !step.Empty()
}

func (e *Engine) commit(step batching.Step, end time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, q := range e.sched.Commit(step) {
		if f := e.feeds[q]; f != nil {
			f.announce(end)
		}
	}
}

// A feed tells one request which of its tokens exist. The batch never waits for a
// slow reader: announcements pile up here instead.
type feed struct {
	mu    sync.Mutex
	due   []time.Duration // when each token not yet collected was due
	ready chan struct{}
}

func (f *feed) announce(due time.Duration) {
	f.mu.Lock()
	f.due = append(f.due, due)
	f.mu.Unlock()
	select {
	case f.ready <- struct{}{}:
	default:
	}
}

// collect appends the new announcements to dst and empties the feed.
func (f *feed) collect(dst []time.Duration) []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	dst = append(dst, f.due...)
	f.due = f.due[:0]
	return dst
}
