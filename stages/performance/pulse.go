package performance

import (
	"context"
	"sync"
	"time"

	"infbench/arrival"
	"infbench/internal/pacer"
	"infbench/record"
	"infbench/stages/endpoint"
)

// Pulse is one stream of known timing that is read beside a level, by the same client in the
// same process: what delays the level's reads delays it as well, and of it the delay is known.
type Pulse struct {
	r      *ruler
	before stalls
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
	r, err := newRuler(ctx, pacer.Pace{TTFT: pulseGap, ITL: pulseGap}, pulseTokens, endpoint.Options{})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	p := &Pulse{r: r, before: readStalls(), stop: stop}
	p.beats.Go(func() {
		answered := true
		for n := 0; answered && ctx.Err() == nil; n++ { // the last one is read to its end
			answered = r.ask(context.WithoutCancel(ctx), arrival.Slot{N: n, Due: time.Now()}, n > 0, false)
		}
	})
	return p, nil
}

// Stop ends the pulse and returns what it saw; an error when that is nothing.
func (p *Pulse) Stop() (record.Calibration, error) {
	p.stop()
	p.beats.Wait()
	defer p.r.close()
	parts, err := p.r.compare()
	if err != nil {
		return record.Calibration{}, err
	}
	parts.WorstPause, parts.SchedulingP99 = readStalls().since(p.before)
	parts.During, parts.Streams, parts.TTFT, parts.TPOT, parts.OutputTokens = true, 1, pulseGap, pulseGap, pulseTokens
	return record.NewCalibration(parts)
}
