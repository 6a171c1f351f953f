package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"infbench/arrival"
	"infbench/gates"
	"infbench/internal/tokens"
	"infbench/record"
	"infbench/stages/endpoint"
	"infbench/stages/performance"
)

// runner is a load under way.
type runner struct {
	load
	ep      endpoint.Endpoint
	forced  bool
	able    bool // the model gives a code back, alone
	prompts prompts
	count   func(text string) (int, error) // nil: nobody but the server counts
	alone   endpoint.Answer                // to one request alone

	mu   sync.Mutex
	kept []kept
}

// kept is what is kept of an answer: nothing of its text.
type kept struct {
	began       time.Time
	timing      endpoint.Timing
	outcome     record.Outcome
	why         string
	claimed     gates.Count // by the usage
	own         gates.Count // by the tokenizer
	held, asked bool        // its code
}

func run(ctx context.Context, l load) (result, error) {
	r := &runner{load: l, kept: make([]kept, 0, l.requests)}
	if l.tokenizer != "" {
		t, err := tokens.Load(l.tokenizer)
		if err != nil {
			return result{}, err
		}
		r.count = t.Count
	}
	target, err := endpoint.ParseTarget(l.url, endpoint.TargetOptions{Key: os.Getenv("OPENAI_API_KEY")})
	if err != nil {
		return result{}, err
	}
	r.ep, err = endpoint.Open(ctx, target, endpoint.Options{Model: l.model, InFlight: l.concurrency, Seed: l.seed, Limits: endpoint.DefaultLimits().Within(l.within)})
	if err != nil {
		return result{}, err
	}
	defer r.ep.Close()
	_, r.forced = r.ep.Engine().(endpoint.LengthForcer)
	r.prompts = prompts{r: r}
	r.askAlone(ctx)
	defer performance.Quiet()()
	var out result
	// So few tokens have no percentile that an error of ours could spoil, and cost a fraction
	// of a calibration.
	calibrate := l.calibrate && l.requests*l.output >= 100
	if calibrate {
		c, err := performance.Calibrate(ctx, r.shape())
		if err != nil {
			return result{}, err
		}
		out.Calibration = &c
	}
	warmth, err := r.ep.Warm(ctx, min(l.concurrency, l.requests))
	if err != nil {
		return result{}, fmt.Errorf("open %d connections: %w", l.concurrency, err)
	}
	var pulse *performance.Pulse
	if calibrate {
		if pulse, err = performance.StartPulse(ctx); err != nil {
			return result{}, err
		}
	}
	supply, stop := r.prompts.supply(l.requests)
	defer stop()
	model, err := arrival.Sessions(l.concurrency, 0, arrival.DefaultSeed)
	if err != nil {
		return result{}, err
	}
	before, began := cpu(), time.Now()
	_, _, err = arrival.Drive(ctx, model, arrival.Stop{Requests: l.requests}, func(ctx context.Context, slot arrival.Slot) {
		if slot.Turn == 0 {
			wait(ctx, l.ramp*time.Duration(slot.Session)/time.Duration(l.concurrency))
		}
		r.ask(ctx, <-supply)
	})
	out.CPU, out.Wall = (cpu() - before).Seconds(), time.Since(began).Seconds()
	if pulse != nil {
		if c, err := pulse.Stop(); err == nil { // a load of a moment has none
			out.Pulse = &c
		}
	}
	out.Connections = connections{Opened: warmth.Opened}
	if n := len(warmth.Dialled); n > 0 {
		out.Connections.DialP50, out.Connections.DialMax = millis(warmth.Dialled[(n-1)/2]), millis(warmth.Dialled[n-1])
	}
	out.settle(r)
	return out, err
}

// ask sends one request, judges its answer and forgets the text.
func (r *runner) ask(ctx context.Context, p prompt) {
	a := r.ep.Send(ctx, p.body)
	k := kept{began: a.Timing.Began, timing: a.Timing, claimed: a.Usage.Completion, asked: p.code != gates.Canary{}}
	k.outcome, k.why = performance.Judge(performance.Asked{
		OutputTokens: r.output, Forced: r.forced, Canary: p.code, Canaries: r.ep.Canaries(), Exact: !r.anyLength, Model: r.ep.Model(),
	}, a)
	if k.asked {
		echo, _ := r.ep.Canaries().Judge(a.Content+a.Reasoning, p.code)
		k.held = echo == gates.Found
	}
	if r.count != nil && k.outcome == record.OK {
		if n, err := r.count(a.Content + a.Reasoning); err == nil {
			k.own = gates.CountOf(n)
		}
	}
	r.mu.Lock()
	r.kept = append(r.kept, k)
	r.mu.Unlock()
	if f := a.Failure; f != nil && f.Kind == endpoint.Busy {
		wait(ctx, max(f.RetryAfter, 100*time.Millisecond)) // asking again at once would measure how fast it says no
	}
}

// askAlone puts one question before the load: what a request takes, how long prompts are,
// and whether the model gives its code back.
func (r *runner) askAlone(ctx context.Context) {
	question, code := r.prompts.request()
	question = question.MaxTokens(r.output + 1) // so that a server that writes a log can tell it apart
	r.alone = r.ep.Stream(ctx, question)
	if n, ok := r.alone.Usage.Prompt.N(); ok && n > 0 && r.prompts.sentences > 0 {
		r.prompts.sentences = max(1, r.prompts.sentences*r.input/n)
	}
	echo, _ := r.ep.Canaries().Judge(r.alone.Content+r.alone.Reasoning, code)
	r.able = r.alone.Failure == nil && echo == gates.Found
}

// shape is the load as the calibration wants it; what is not known of a server that does not
// answer is made up.
func (r *runner) shape() performance.Shape {
	model, _ := arrival.Sessions(r.concurrency, 0, arrival.DefaultSeed) // checked before
	s := performance.Shape{Arrival: model, Streams: min(r.concurrency, r.requests), OutputTokens: r.output, TTFT: 100 * time.Millisecond, TPOT: 20 * time.Millisecond}
	t := r.alone.Timing
	if n := r.alone.Usage.Completion.Or(len(t.Marks)); r.alone.Failure == nil && t.FirstToken > 0 && n > 1 {
		s.TTFT, s.TPOT = t.FirstToken, (t.LastToken-t.FirstToken)/time.Duration(n-1)
	}
	return s
}

func wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// cpu returns the processor time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
