package performance

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"infbench/arrival"
	"infbench/gates"
	"infbench/record"
)

// live counts a level as it goes, for a person who waits. It costs three atomic additions
// when a request starts and a short lock when one has ended, and nothing per token. The
// nil live counts nothing.
type live struct {
	proof   gates.GateSet
	model   arrival.ArrivalModel
	noRates string
	began   time.Time
	ends    chan<- kept // where they are kept, nil for nowhere

	// area is the sum over the requests of the time in flight, as far as it is over: a
	// request takes its start off and adds its end. So what runs has its time once
	// inFlight times the time of now is added.
	issued, inFlight, area atomic.Int64

	mu                  sync.Mutex
	good                int
	failed              map[record.Outcome]int
	ttft, decode, depth sketch
}

// newLive returns the counts of a level that begins now.
func newLive(proof gates.GateSet, m arrival.ArrivalModel, source record.TokenSource) *live {
	l := &live{proof: proof, model: m, began: time.Now(), failed: map[record.Outcome]int{}}
	if source == record.ChunkCount {
		l.noRates = "nobody counted the tokens"
	}
	return l
}

// started counts a request that is about to be sent.
func (l *live) started() {
	if l == nil {
		return
	}
	l.issued.Add(1)
	l.inFlight.Add(1)
	l.area.Add(-int64(time.Since(l.began)))
}

// milli is what rates are multiplied with, so that a sketch of whole numbers holds them.
const milli = 1000

// ended counts a request that was judged.
func (l *live) ended(k kept) {
	if l == nil {
		return
	}
	l.inFlight.Add(-1)
	l.area.Add(int64(time.Since(l.began)))
	select {
	case l.ends <- k:
	default: // nobody keeps it, or whoever does is too slow
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.out != record.OK {
		l.failed[k.out]++
		return
	}
	l.good++
	if k.slot.Turn == 0 && l.model.Sessions() > 0 { // warm-up
		return
	}
	t := k.a.Timing
	ttft := t.FirstToken
	if l.model.Open() {
		ttft += k.began.Sub(k.due)
	}
	l.ttft.add(int64(ttft))
	p, counted := k.prompt.N()
	if d := t.LastToken - t.FirstToken; k.n >= 2 && d > 0 && counted {
		l.decode.add(int64(milli * float64(k.n-1) / d.Seconds()))
		l.depth.add(int64(p + k.n/2))
	}
}

// look returns how far the level is.
func (l *live) look() (record.Live, error) {
	running := time.Since(l.began)
	inFlight := l.inFlight.Load()
	p := record.LiveParts{Running: running, Issued: int(l.issued.Load()), InFlight: int(inFlight), RatesWithheld: l.noRates}
	if running > 0 {
		p.InFlightMean = max(0, float64(l.area.Load()+inFlight*int64(running))/float64(running))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p.Good, p.Failed = l.good, l.failed // the constructor copies
	p.Counted, p.TTFT = l.ttft.n, time.Duration(l.ttft.median())
	p.Rated, p.TokensPerSecond, p.DepthTokens = l.decode.n, float64(l.decode.median())/milli, int(l.depth.median())
	return record.NewLive(l.proof, l.model, p)
}

// lookEvery is the time between two looks.
const lookEvery = 500 * time.Millisecond

// watch tells of the level twice a second, until stop is called; nothing is told after that.
func (l *live) watch(tell func(record.Live)) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if look, err := l.look(); err == nil {
				tell(look)
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

// watched measures a load point and tells of it: before, meanwhile, and not after; later is
// what is expected to follow it. One of an earlier sitting is not measured again.
func (w *work) watched(ctx context.Context, at Progress, m arrival.ArrivalModel, later time.Duration, progress func(Progress), measure func() (levelResult, error)) (levelResult, error) {
	if r, ok := w.restored(at.step(), m); ok {
		at.Restored = true
		progress(at)
		return r, nil
	}
	if w.c.Turn != nil {
		if err := w.c.Turn(); err != nil {
			return levelResult{}, err
		}
		if ctx.Err() != nil {
			return levelResult{}, errors.New(why(ctx))
		}
	}
	progress(at)
	w.live = newLive(w.proof, m, w.source)
	stopKeeping := w.keeping(at.step(), w.live)
	stopWatching := w.live.watch(func(l record.Live) {
		look := at
		look.Live, look.Left = l, max(0, at.Expected-l.Running())+later
		progress(look)
	})
	r, err := measure()
	stopWatching()
	stopKeeping()
	w.live = nil
	switch {
	case err != nil:
	case ctx.Err() != nil:
		w.cutShort = at.Arrival
	case !r.dead:
		w.keepStep(at.step(), r)
	}
	return r, err
}
