package performance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"infbench/arrival"
	"infbench/gates"
	"infbench/record"
	"infbench/stages/endpoint"
)

// work sends the prompts of a measurement and knows how they are judged.
type work struct {
	ep      endpoint.Endpoint
	c       Config
	script  script
	forced  bool
	force   endpoint.LengthForcer
	source  record.TokenSource
	caveats []string
	latency time.Duration // of one request alone, as the levels send them
	cold    time.Duration // of the first of a session
	// perSentence is what a sentence costs in the server's tokens.
	perSentence float64
	// ttft and tpot are those of that request, for the client's calibration.
	ttft, tpot   time.Duration
	calibrations map[string]record.Calibration
	// mixed is why a level has no figures of its own, "" where it has.
	mixed    string
	able     bool // both probes gave their code back
	proof    gates.GateSet
	live     *live // of the load point that is being measured
	keep     Keeping
	cutShort string // the load point in which a person stopped
}

// prompt is one request, its body built, and what its answer must not lack.
type prompt struct {
	body endpoint.Prepared
	want gates.Canary
	own  []gates.Canary
	// output is how many tokens are asked for at most; cell and block are its place in a suite.
	output, cell, block int
	opens               bool
	// tokens is the prompt's length by our own tokenizer, where there is one.
	tokens gates.Count
}

// prepare finds out how long prompts must be, who counts tokens and whether the
// output length can be forced, with two requests of the shape that is sent later.
func prepare(ctx context.Context, ep endpoint.Endpoint, c Config, workload string) (*work, error) {
	return prepareWith(ctx, ep, c, func(w *work) script {
		n := ep.ContextTokens(0)
		if workload == Agent {
			if n == 0 {
				w.caveats = append(w.caveats, "the context is not known (--context N): sessions are made for 8192 tokens")
			}
			return newAgent(ep, w.build, c.Seed, n, c.OutputTokens)
		}
		if workload == Repeated {
			return newRepeated(ep, w.build, c.Seed, w.fitting(n))
		}
		return newIndependent(ep, w.build, c.Seed, w.fitting(n))
	})
}

func prepareWith(ctx context.Context, ep endpoint.Endpoint, c Config, scripted func(*work) script) (*work, error) {
	w := &work{ep: ep, c: c, source: record.EngineUsage}
	if force, ok := ep.Engine().(endpoint.LengthForcer); ok && ep.Unable(endpoint.ForcedLong) == "" {
		w.force, w.forced = force, true
	}
	w.script = scripted(w)
	first, _, firstHeld, err := w.probe(ctx)
	if err != nil {
		return nil, err
	}
	w.perSentence = w.script.fit(first.Usage.Prompt.Or(0))
	second, asked, secondHeld, err := w.probe(ctx)
	if err != nil {
		return nil, err
	}
	w.cold, w.latency = first.Timing.Ended, second.Timing.Ended
	if t := second.Timing; len(t.Marks) > 1 {
		w.ttft, w.tpot = t.FirstToken, (t.LastToken-t.FirstToken)/time.Duration(max(1, w.outputTokens(second)-1))
	}
	w.able = firstHeld && secondHeld
	w.countWith(second, asked)
	return w, nil
}

// fitting returns the prompt length of independent prompts, within a context.
func (w *work) fitting(contextTokens int) int {
	want := w.c.PromptTokens
	if want == 0 {
		want = defaultPromptTokens
	}
	if contextTokens > 0 && want+w.c.OutputTokens > contextTokens*9/10 {
		scaled := max(32, contextTokens*9/10-w.c.OutputTokens)
		w.caveats = append(w.caveats, fmt.Sprintf("the prompt was scaled from %d to %d tokens: the context holds %d", want, scaled, contextTokens))
		return scaled
	}
	return want
}

func (w *work) probe(ctx context.Context) (a endpoint.Answer, asked int, held bool, err error) {
	r := w.script.sample()
	a = w.ep.Stream(ctx, w.finished(r)) // leaves out from then on what the server has never heard of
	if f := a.Failure; f != nil && w.forced && (f.Status == 400 || f.Status == 422) {
		w.forced = false // is it that? The same request tells
		if again := w.ep.Stream(ctx, w.finished(r)); again.Failure == nil {
			w.caveats = append(w.caveats, "the server refuses to be forced to an output length: "+f.Said)
			a = again
		} else {
			w.forced = true
		}
	}
	if a.Failure != nil {
		return a, 0, false, fmt.Errorf("a request of the measured shape: %w", a.Failure)
	}
	echo, _ := w.ep.Canaries().Judge(a.Content+a.Reasoning, r.want, r.own...)
	return a, w.outputOf(r.output), echo == gates.Found, nil
}

// finished adds to a request what all requests of the measurement have.
func (w *work) finished(r request) endpoint.Request {
	n := w.outputOf(r.output)
	q := r.chat.MaxTokens(n).PerChunkUsage()
	if w.forced {
		q = w.force.ForceLength(q, n)
	}
	return q
}

// outputOf is how many tokens a request asks for.
func (w *work) outputOf(own int) int {
	if own > 0 {
		return own
	}
	return w.c.OutputTokens
}

// build writes the body of a request.
func (w *work) build(r request) prompt {
	p := prompt{want: r.want, own: r.own, output: w.outputOf(r.output), cell: r.cell, block: r.block, opens: r.opens}
	q := w.finished(r)
	if w.c.CountTokens != nil && w.source == record.ClientTokenizer {
		if n, err := w.c.CountTokens(q.Text()); err == nil {
			p.tokens = gates.CountOf(n)
		}
	}
	// The body is made of plain text and numbers: it cannot fail to be written.
	p.body, _ = w.ep.Prepare(q, true)
	return p
}

// countWith decides who counts tokens, and notes what that costs.
func (w *work) countWith(a endpoint.Answer, asked int) {
	n, counted := a.Usage.Completion.N()
	switch {
	case counted && n > 0:
	case w.c.CountTokens != nil:
		w.source = record.ClientTokenizer
	default:
		w.source = record.ChunkCount
		w.caveats = append(w.caveats, "nobody counted the tokens: the server sends no usage in streams and no tokenizer was given (--tokenizer), so there are no rates")
	}
	switch {
	case w.forced && counted && n < asked*95/100:
		w.forced = false
		w.caveats = append(w.caveats, fmt.Sprintf("the output length could not be forced: %d of %d tokens came", n, asked))
	case !w.forced:
		w.caveats = append(w.caveats, "the output length was not forced: early ends bias TPOT and end-to-end times")
	}
}

// minTurns is the number of requests that each stream of a level should get.
const minTurns = 6

// expected returns how long a level starts requests.
func (w *work) expected(m arrival.ArrivalModel) time.Duration {
	if m.Requests() > 0 {
		return w.latency
	}
	return max(w.c.PerLevel, min(90*time.Second, minTurns*w.latency))
}

func (w *work) expectedOf(models []arrival.ArrivalModel) time.Duration {
	all := time.Duration(0)
	for _, m := range models {
		all += w.expected(m)
	}
	return all
}

func (w *work) describe() record.Workload {
	out := record.Workload{
		OutputTokens: w.c.OutputTokens, ForcedLength: w.forced, TokenSource: w.source, TokenizedBy: w.tokenizedBy(), Client: client(), Caveats: slices.Clone(w.caveats),
	}
	w.script.describe(&out)
	return out
}

func (w *work) tokenizedBy() string {
	if w.source == record.ClientTokenizer {
		return w.c.TokenizedBy
	}
	return ""
}
