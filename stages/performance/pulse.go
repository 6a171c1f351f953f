package performance

import (
	"context"
	"sync"
	"time"

	"infbench/internal/pacer"
	"infbench/record"
	"infbench/stages/endpoint"
)

// Pulse is one stream of known timing that is read beside a level, by the same client in the
// same process: what delays the level's reads delays it as well, and of it the delay is known.
type Pulse struct {
	r      *ruler
	before stalls
	began  time.Time
	stop   context.CancelFunc
	beats  sync.WaitGroup
}

// The pulse costs half a percent of a processor.
const (
	pulseGap    = 5 * time.Millisecond
	pulseTokens = 20
)

// StartPulse begins to read.
func StartPulse(ctx context.Context) (*Pulse, error) {
	r, err := newRuler(ctx, pacer.Pace{TTFT: pulseGap, ITL: pulseGap}, endpoint.Options{})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	p := &Pulse{r: r, before: readStalls(), stop: stop}
	p.beats.Go(func() {
		body := r.body(pulseTokens)
		answered := r.ask(ctx, body, stands, time.Time{})
		p.began = time.Now() // the first has opened its connection
		for answered && ctx.Err() == nil {
			answered = r.ask(context.WithoutCancel(ctx), body, comes, time.Time{}) // the last is read to its end
		}
	})
	return p, nil
}

// Stop ends the pulse and returns what it saw; an error when that is nothing.
func (p *Pulse) Stop() (record.Calibration, error) {
	p.stop()
	p.beats.Wait()
	defer p.r.close()
	parts, err := p.r.compare(p.began, time.Now())
	if err != nil {
		return record.Calibration{}, err
	}
	parts.WorstPause, parts.SchedulingP99 = readStalls().since(p.before)
	parts.During, parts.Streams, parts.TTFT, parts.TPOT, parts.OutputTokens = true, 1, pulseGap, pulseGap, pulseTokens
	return record.NewCalibration(parts)
}
