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
	r, err := newRuler(ctx, p.pace, endpoint.Options{InFlight: p.streams + spare})
	if err != nil {
		return record.Calibration{}, err
	}
	defer r.close()
	if _, err := r.ep.Warm(ctx, p.streams+spare); err != nil {
		return record.Calibration{}, fmt.Errorf("calibrate with %d streams: %w", p.streams, err)
	}
	began := time.Now()
	var standing sync.WaitGroup
	for i := range p.streams {
		offset := p.ramp * time.Duration(i) / time.Duration(p.streams)
		body := r.body(p.standing(offset))
		standing.Go(func() {
			pause(ctx, offset)
			r.ask(ctx, body, stands, time.Time{})
		})
	}
	fresh := r.body(p.tokens)
	pause(ctx, p.ramp+settling)
	before, from := readStalls(), time.Now()
	_, _, err = arrival.Drive(ctx, p.fresh, arrival.Stop{After: calibrationWindow}, func(ctx context.Context, slot arrival.Slot) {
		r.ask(ctx, fresh, p.starts, slot.Due)
	})
	after := readStalls()
	standing.Wait()
	if err := errors.Join(err, ctx.Err()); err != nil {
		return record.Calibration{}, fmt.Errorf("calibrate: %w", err)
	}
	parts, err := r.compare(from, from.Add(calibrationWindow))
	if err != nil {
		return record.Calibration{}, fmt.Errorf("%w (after %v)", err, time.Since(began).Round(time.Millisecond))
	}
	parts.WorstPause, parts.SchedulingP99 = after.since(before)
	parts.Streams, parts.TTFT, parts.TPOT, parts.OutputTokens = p.streams, p.pace.TTFT, p.pace.ITL, p.tokens
	return record.NewCalibration(parts)
}

// plan is a load that fits into the window and costs the machine what the level does: streams
// that stand from before the window to its end, so that no answer need be cut short, and
// requests that come in it.
type plan struct {
	pace    pacer.Pace
	streams int
	ramp    time.Duration // over which the streams start
	fresh   arrival.ArrivalModel
	tokens  int // of each fresh request
	starts  role
}

const (
	calibrationWindow = 1200 * time.Millisecond
	maxStreams        = 4096
	spare             = 4 // connections for the requests that come
	// leastObserved is the number of tokens in a window, so that there is a 99th percentile.
	leastObserved = 100
	// leastGap is as fast as a stream is paced: a faster one has no schedule to speak of.
	leastGap = 100 * time.Microsecond
	// The streams start over the larger of these, in all and each, and have a moment to settle.
	leastRamp, rampEach = 200 * time.Millisecond, 300 * time.Microsecond
	settling            = 100 * time.Millisecond
	// Requests come at the level's rate, at least at leastRate for each stream up to so many
	// streams, so that the first tokens have a distribution.
	leastRate, rated = 10, 10
	freshTokens      = 2
	freshTTFT        = 20 * time.Millisecond
)

// sharing is how much slower the streams are paced than the level's. The truth server costs this
// machine as much for each token as the client does (bench/README.md), so that both at half the rate
// load it as the client does alone.
const sharing = 2

// planFor returns the load of a calibration.
func planFor(s Shape) (plan, error) {
	if s.Arrival.IsZero() || len(s.Arrival.Levels()) != 1 || s.Arrival.Kind() == "sweep" {
		return plan{}, errors.New("calibrate: a level has one arrival model")
	}
	if s.Streams < 1 || s.OutputTokens < 1 || s.TTFT < 0 || s.TPOT < 0 {
		return plan{}, fmt.Errorf("calibrate: %d streams of %d tokens, TTFT %v and TPOT %v", s.Streams, s.OutputTokens, s.TTFT, s.TPOT)
	}
	p := plan{streams: min(s.Streams, maxStreams), tokens: min(s.OutputTokens, freshTokens)}
	p.ramp = max(leastRamp, rampEach*time.Duration(p.streams))
	p.pace.TTFT = rounded(min(s.TTFT, freshTTFT))
	p.pace.ITL = max(leastGap, rounded(min(sharing*s.TPOT, calibrationWindow*time.Duration(p.streams)/leastObserved)))
	if s.Arrival.Open() && s.Arrival.Requests() == 0 {
		p.fresh, p.starts = s.Arrival, byClock
		return p, nil
	}
	// Sessions send when they have been answered, and a burst as fast as it can: how late
	// they are started is nothing that a clock decides.
	lasts := max(time.Millisecond, s.TTFT+time.Duration(s.OutputTokens-1)*s.TPOT)
	rate := max(float64(p.streams)/lasts.Seconds()/sharing, leastRate*float64(min(p.streams, rated)))
	var err error
	p.fresh, err = arrival.Poisson(rate, arrival.DefaultSeed)
	p.starts = comes
	return p, err
}

// standing returns how many tokens keep a stream that starts at the offset going until a
// little after the window has ended: that all of them end is no part of the load.
func (p plan) standing(offset time.Duration) int {
	return 2 + int((p.ramp-offset+settling+calibrationWindow-p.pace.TTFT)/p.pace.ITL)
}

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

	mu      sync.Mutex
	taken   []taken
	failure error
}

// role is what a request of a calibration is there for.
type role uint8

const (
	stands  role = iota // its tokens count
	comes               // and the time to its first token
	byClock             // and how late it was started
)

// taken is what the client says of one answer.
type taken struct {
	a    endpoint.Answer
	role role
	due  time.Time
}

// newRuler returns a client and its server. Both are of this process alone.
func newRuler(ctx context.Context, pace pacer.Pace, o endpoint.Options) (*ruler, error) {
	server, url, err := pacer.Start(ctx, pace, maxRuled)
	if err != nil {
		return nil, err
	}
	r := &ruler{server: server}
	target, err := endpoint.ParseTarget(url, endpoint.TargetOptions{})
	if err == nil {
		r.ep, err = endpoint.Open(ctx, target, o)
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

// body returns a request for so many tokens, in the form of measured ones.
func (r *ruler) body(tokens int) endpoint.Prepared {
	p, _ := r.ep.Prepare(endpoint.Chat("go on").MaxTokens(tokens).PerChunkUsage(), true) // text and numbers: it cannot fail
	return p
}

// ask sends one request and keeps what the client says of it. It reports whether an answer
// came.
func (r *ruler) ask(ctx context.Context, body endpoint.Prepared, role role, due time.Time) bool {
	a := r.ep.Send(ctx, body)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case a.Failure != nil && r.failure == nil:
		r.failure = a.Failure
	case len(r.taken) < maxRuled:
		r.taken = append(r.taken, taken{a, role, due})
	}
	return a.Failure == nil
}

// compare holds what the client says against what happened between two instants.
func (r *ruler) compare(from, until time.Time) (record.CalibrationParts, error) {
	r.server.Settle()
	r.mu.Lock()
	defer r.mu.Unlock()
	var p record.CalibrationParts
	if r.failure != nil {
		return p, fmt.Errorf("calibrate: the client failed before its own truth server: %w", r.failure)
	}
	pace, origin := r.server.Pace(), r.server.Origin()
	inside := func(at time.Duration) bool { return at >= from.Sub(origin) && at < until.Sub(origin) }
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
		// A first token that is overdue when the window ends counts; one that comes while all
		// streams end does not.
		if t.role >= comes && inside(began) && began < until.Sub(origin)-2*freshTTFT {
			p.TTFTErrors = append(p.TTFTErrors, marks[0].At-(sent.Tokens[0]-sent.Arrival))
		}
		if t.role == byClock {
			p.DispatchLags = append(p.DispatchLags, max(0, t.a.Timing.Began.Sub(t.due)))
		}
		for k, m := range marks {
			if !inside(sent.Tokens[k]) {
				continue
			}
			p.Lags = append(p.Lags, began+m.At-sent.Tokens[k])
			p.Late = append(p.Late, sent.Tokens[k]-(sent.Arrival+pace.TTFT+time.Duration(k)*pace.ITL))
			// Tokens that left together because the server was late are not the client's doing.
			if k > 0 && m.Read == marks[k-1].Read && sent.Tokens[k]-sent.Tokens[k-1] > pace.ITL/2 {
				p.Coalesced++
			}
		}
	}
	if len(p.Lags) == 0 {
		return p, errors.New("calibrate: no token came in time")
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
