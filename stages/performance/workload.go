package performance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"infbench/arrival"
	"infbench/gates"
	"infbench/record"
	"infbench/stages/endpoint"
)

// work makes the prompts of a measurement and sends them.
type work struct {
	ep        endpoint.Endpoint
	c         Config
	sentences int
	forced    bool
	force     endpoint.LengthForcer
	source    record.TokenSource
	caveats   []string
	latency   time.Duration // of one request alone
	able      bool          // both probes gave their code back
	nonces    atomic.Uint64
	live      *live // of the level that is being measured
}

// prompt is one request, its body built, and what its answer must not lack.
type prompt struct {
	body endpoint.Prepared
	want gates.Canary
	// tokens is the prompt's length by our own tokenizer, where there is one.
	tokens gates.Count
}

// prepare finds out how long prompts must be, who counts tokens and whether the
// output length can be forced, with two requests of the shape that is sent later.
func prepare(ctx context.Context, ep endpoint.Endpoint, c Config) (*work, error) {
	w := &work{ep: ep, c: c, source: record.EngineUsage}
	if force, ok := ep.Engine().(endpoint.LengthForcer); ok && ep.Unable(endpoint.ForcedLong) == "" {
		w.force, w.forced = force, true
	}
	if n := ep.ContextTokens(0); n > 0 && c.PromptTokens+c.OutputTokens > n*9/10 {
		scaled := max(32, n*9/10-c.OutputTokens)
		w.caveats = append(w.caveats, fmt.Sprintf("the prompt was scaled from %d to %d tokens: the context holds %d", w.c.PromptTokens, scaled, n))
		w.c.PromptTokens = scaled
	}
	w.sentences = max(1, w.c.PromptTokens/endpoint.TokensPerSentence)
	first, firstHeld, err := w.probe(ctx)
	if err != nil {
		return nil, err
	}
	if n, ok := first.Usage.Prompt.N(); ok && n > 0 {
		w.sentences = max(1, w.sentences*w.c.PromptTokens/n)
	}
	second, secondHeld, err := w.probe(ctx)
	if err != nil {
		return nil, err
	}
	w.latency = second.Timing.Ended
	w.able = firstHeld && secondHeld
	w.countWith(second)
	return w, nil
}

func (w *work) probe(ctx context.Context) (a endpoint.Answer, held bool, err error) {
	r, code, _ := w.request()
	a = w.ep.Stream(ctx, r) // leaves out from then on what the server has never heard of
	if f := a.Failure; f != nil && w.forced && (f.Status == 400 || f.Status == 422) {
		w.forced = false
		w.caveats = append(w.caveats, "the server refuses to be forced to an output length: "+f.Said)
		r, code, _ = w.request()
		a = w.ep.Stream(ctx, r)
	}
	if a.Failure != nil {
		return a, false, fmt.Errorf("a request of the measured shape: %w", a.Failure)
	}
	echo, _ := w.ep.Canaries().Judge(a.Content+a.Reasoning, code)
	return a, echo == gates.Found, nil
}

// countWith decides who counts tokens, and notes what that costs.
func (w *work) countWith(a endpoint.Answer) {
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
	case w.forced && counted && n < w.c.OutputTokens*95/100:
		w.forced = false
		w.caveats = append(w.caveats, fmt.Sprintf("the output length could not be forced: %d of %d tokens came", n, w.c.OutputTokens))
	case !w.forced:
		w.caveats = append(w.caveats, "the output length was not forced: early ends bias TPOT and end-to-end times")
	}
}

// next builds one request and its body.
func (w *work) next() prompt {
	r, code, text := w.request()
	p := prompt{want: code}
	if w.c.CountTokens != nil && w.source == record.ClientTokenizer {
		if n, err := w.c.CountTokens(text); err == nil {
			p.tokens = gates.CountOf(n)
		}
	}
	// The body is made of plain text and numbers: it cannot fail to be written.
	p.body, _ = w.ep.Prepare(r, true)
	return p
}

// request makes one request. The nonce stands first, so that no prefix of the prompt is
// in a cache; the seed is the run's own, so that no earlier run has sent it.
func (w *work) request() (endpoint.Request, gates.Canary, string) {
	n := w.nonces.Add(1)
	nonce := rand.New(rand.NewPCG(w.c.Seed, n)).Uint32()
	code := w.ep.Canaries().Issue()
	prose := endpoint.NewProse(w.c.Seed + n)
	text := "Note " + strconv.FormatUint(uint64(nonce), 36) + ". " + prose.Sentences(w.sentences) + " The secret code is " + code.String() + ". What is the secret code?"
	r := endpoint.Chat(text).MaxTokens(w.c.OutputTokens).PerChunkUsage()
	if w.forced {
		r = w.force.ForceLength(r, w.c.OutputTokens)
	}
	return r, code, text
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

func (w *work) describe() record.Workload {
	return record.Workload{
		Name: "prose-nonce/1", Seed: fmt.Sprint(w.c.Seed), PromptTokens: w.c.PromptTokens, OutputTokens: w.c.OutputTokens, ForcedLength: w.forced,
		CacheIntent: CacheIntent, TokenSource: w.source, TokenizedBy: w.tokenizedBy(), Client: client(), Caveats: w.caveats,
	}
}

// CacheIntent is how the prompts of this package stand to a prefix cache.
const CacheIntent = "cold by nonce"

func (w *work) tokenizedBy() string {
	if w.source == record.ClientTokenizer {
		return w.c.TokenizedBy
	}
	return ""
}
