package performance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"infbench/arrival"
	"infbench/internal/pacer"
	"infbench/record"
	"infbench/stages/endpoint"
)

// Shape is the load of a level, as far as the client's own error depends on it.
type Shape struct {
	// Arrival is how the level's requests are started.
	Arrival arrival.ArrivalModel
	// Streams is how many are in flight at once; of an open loop its rate times the time
	// that a request takes.
	Streams int
	// TTFT, TPOT and OutputTokens are those of one request.
	TTFT, TPOT   time.Duration
	OutputTokens int
}

// Calibrate finds out what the measuring client's own error is under the load of a level: it
// drives the client, by the path that measured requests take, against a truth server in this
// process, for some two seconds.
func Calibrate(ctx context.Context, shape Shape) (record.Calibration, error) {
	p, err := planFor(shape)
	if err != nil {
		return record.Calibration{}, err
	}
	r, err := newRuler(ctx, p.pace, p.tokens, endpoint.Options{InFlight: p.streams})
	if err != nil {
		return record.Calibration{}, err
	}
	defer r.close()
	if _, err := r.ep.Warm(ctx, p.streams); err != nil {
		return record.Calibration{}, fmt.Errorf("calibrate with %d streams: %w", p.streams, err)
	}
	before := readStalls()
	var (
		all    sync.WaitGroup
		failed [2]error
	)
	stop := arrival.Stop{After: calibrationWindow}
	if p.steady.Sessions() > 0 {
		all.Go(func() {
			_, _, failed[0] = arrival.Drive(ctx, p.steady, stop, func(ctx context.Context, slot arrival.Slot) {
				if slot.Turn == 0 { // spread over the time of one answer, as they are after a while
					pause(ctx, p.lasts*time.Duration(slot.Session)/time.Duration(p.steady.Sessions()))
				}
				r.ask(ctx, slot, slot.Turn > 0, shape.Arrival.Sessions() > 0)
			})
		})
	}
	if p.clocked {
		all.Go(func() {
			_, _, failed[1] = arrival.Drive(ctx, shape.Arrival, stop, func(ctx context.Context, slot arrival.Slot) { r.ask(ctx, slot, true, true) })
		})
	}
	all.Wait()
	if err := errors.Join(failed[0], failed[1], ctx.Err()); err != nil {
		return record.Calibration{}, fmt.Errorf("calibrate: %w", err)
	}
	parts, err := r.compare()
	if err != nil {
		return record.Calibration{}, err
	}
	parts.WorstPause, parts.SchedulingP99 = readStalls().since(before)
	parts.Streams, parts.TTFT, parts.TPOT, parts.OutputTokens = p.streams, p.pace.TTFT, p.pace.ITL, p.tokens
	return record.NewCalibration(parts)
}

// calibrationWindow is how long a calibration starts requests; the last take up to a third
// as long again.
const calibrationWindow = 1200 * time.Millisecond

// plan is a load that fits into the window and is no easier than the level's.
type plan struct {
	pace    pacer.Pace
	streams int
	tokens  int
	lasts   time.Duration // one answer
	// steady keeps the streams in flight that a clock does not start; clocked says that the
	// level's own model starts requests as well.
	steady  arrival.ArrivalModel
	clocked bool
}

const (
	maxStreams = 4096
	// leastObserved is the number of tokens in a window, so that there is a 99th percentile.
	leastObserved = 400
	// leastAnswers is the number of answers in a window over all streams, for the errors of
	// the TTFT; no stream gives more than mostTurns of them, or fewer than leastTurns.
	leastAnswers          = 64
	leastTurns, mostTurns = 3, 12
)

// sharing is how much slower the streams are paced than the level's. The truth server costs this
// machine as much for each token as the client does (bench/README.md), so that both at half the rate
// load it as the client does alone.
const sharing = 2

// planFor returns the load of a calibration. The streams are as many as the level's; the
// answers are shorter where too few would end within the window, and a slow stream is paced
// faster where too few tokens would be seen.
func planFor(s Shape) (plan, error) {
	if s.Arrival.IsZero() || len(s.Arrival.Levels()) != 1 || s.Arrival.Kind() == "sweep" {
		return plan{}, errors.New("calibrate: a level has one arrival model")
	}
	if s.Streams < 1 || s.OutputTokens < 1 || s.TTFT < 0 || s.TPOT < 0 {
		return plan{}, fmt.Errorf("calibrate: %d streams of %d tokens, TTFT %v and TPOT %v", s.Streams, s.OutputTokens, s.TTFT, s.TPOT)
	}
	p := plan{streams: min(s.Streams, maxStreams), tokens: s.OutputTokens}
	room := calibrationWindow / time.Duration(min(mostTurns, max(leastTurns, leastAnswers/p.streams)))
	p.pace.TTFT = rounded(min(s.TTFT, room/4))
	p.pace.ITL = rounded(min(sharing*s.TPOT, calibrationWindow*time.Duration(p.streams)/leastObserved))
	if p.pace.ITL > 0 {
		p.tokens = max(1, min(p.tokens, 1+int((room-p.pace.TTFT)/p.pace.ITL)))
	}
	p.lasts = p.pace.TTFT + time.Duration(p.tokens-1)*p.pace.ITL
	steady := p.streams
	if s.Arrival.Open() && s.Arrival.Requests() == 0 {
		// Those that the level's clock starts are in flight for a shorter time here, and so
		// fewer; the others make up for them.
		p.clocked = true
		steady -= int(time.Duration(p.streams) * p.lasts / max(p.lasts, s.TTFT+time.Duration(s.OutputTokens-1)*s.TPOT, 1))
	}
	if steady < 1 {
		return p, nil
	}
	var err error
	p.steady, err = arrival.Sessions(steady, calibrationThink, arrival.DefaultSeed)
	return p, err
}

// calibrationThink lets a timer start each request, as those of a level are.
const calibrationThink = 2 * time.Millisecond

// rounded rounds down to two thirds of the steps between powers of ten, the series E12 of
// preferred numbers. A calibration is shown without a proof: what it was set to must not give
// a level's own figures away, nor be easier than they are.
func rounded(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for unit <= d/10 {
		unit *= 10
	}
	for i := len(preferred) - 1; i >= 0 && unit >= 10; i-- {
		if step := unit / 10 * preferred[i]; step <= d {
			return step
		}
	}
	return 0 // below ten nanoseconds
}

var preferred = [...]time.Duration{10, 12, 15, 18, 22, 27, 33, 39, 47, 56, 68, 82}

// ruler is the measuring client before a server of known timing.
type ruler struct {
	server *pacer.Server
	ep     endpoint.Endpoint
	body   endpoint.Prepared
	tokens int

	mu      sync.Mutex
	taken   []taken
	failure error
}

// taken is what the client says of one answer. timed says that a clock started it.
type taken struct {
	a     endpoint.Answer
	due   time.Time
	timed bool
}

// newRuler returns a client and its server. Both are of this process alone.
func newRuler(ctx context.Context, pace pacer.Pace, tokens int, o endpoint.Options) (*ruler, error) {
	server, url, err := pacer.Start(ctx, pace, maxRuled)
	if err != nil {
		return nil, err
	}
	r := &ruler{server: server, tokens: tokens}
	target, err := endpoint.ParseTarget(url, endpoint.TargetOptions{})
	if err == nil {
		r.ep, err = endpoint.Open(ctx, target, o)
	}
	if err == nil {
		r.body, err = r.ep.Prepare(endpoint.Chat("go on").MaxTokens(tokens).PerChunkUsage(), true)
	}
	if err != nil {
		r.close()
		return nil, fmt.Errorf("calibrate: the truth server: %w", err)
	}
	return r, nil
}

// maxRuled bounds the answers that are kept of a calibration.
const maxRuled = 1 << 17

func (r *ruler) close() {
	if r.ep != (endpoint.Endpoint{}) {
		r.ep.Close()
	}
	r.server.Close()
}

// ask sends one request and keeps what the client says of it, unless it is only there to
// load. It reports whether an answer came.
func (r *ruler) ask(ctx context.Context, slot arrival.Slot, keep, timed bool) bool {
	a := r.ep.Send(ctx, r.body)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case a.Failure != nil && r.failure == nil:
		r.failure = a.Failure
	case keep && len(r.taken) < maxRuled:
		r.taken = append(r.taken, taken{a, slot.Due, timed})
	}
	return a.Failure == nil
}

// compare holds what the client says against what happened.
func (r *ruler) compare() (record.CalibrationParts, error) {
	r.server.Settle()
	r.mu.Lock()
	defer r.mu.Unlock()
	var p record.CalibrationParts
	if r.failure != nil {
		return p, fmt.Errorf("calibrate: the client failed before its own truth server: %w", r.failure)
	}
	pace, origin := r.server.Pace(), r.server.Origin()
	for _, t := range r.taken {
		sent, ok := r.server.Sent(t.a.ID)
		if !ok {
			continue
		}
		marks := t.a.Timing.Marks
		if len(marks) != len(sent.Tokens) || len(marks) == 0 || !paced(t.a.Content, len(marks)) {
			return p, fmt.Errorf("calibrate: %d tokens were sent and the client read %d, with another text", len(sent.Tokens), len(marks))
		}
		began := t.a.Timing.Began.Sub(origin)
		p.TTFTErrors = append(p.TTFTErrors, marks[0].At-(sent.Tokens[0]-sent.Arrival))
		if t.timed {
			p.DispatchLags = append(p.DispatchLags, max(0, t.a.Timing.Began.Sub(t.due)))
		}
		for k, m := range marks {
			p.Lags = append(p.Lags, began+m.At-sent.Tokens[k])
			p.Late = append(p.Late, sent.Tokens[k]-(sent.Arrival+pace.TTFT+time.Duration(k)*pace.ITL))
			// Tokens that left together because the server was late are not the client's doing.
			if k > 0 && m.Read == marks[k-1].Read && sent.Tokens[k]-sent.Tokens[k-1] > pace.ITL/2 {
				p.Coalesced++
			}
		}
	}
	if len(p.Lags) == 0 {
		return p, errors.New("calibrate: no answer ended in time")
	}
	return p, nil
}

// paced reports whether a text is the server's.
func paced(text string, tokens int) bool {
	for k := range tokens {
		w := pacer.Word(k)
		if len(text) < len(w) || text[:len(w)] != w {
			return false
		}
		text = text[len(w):]
	}
	return text == ""
}
