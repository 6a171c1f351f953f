package performance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"infbench/arrival"
	"infbench/baseline"
	"infbench/gates"
	"infbench/record"
	"infbench/stages/endpoint"
)

// frozen sends a suite: repeat by repeat, the depths in the suite's own order, each prompt once
// cold and right after it again with another question, so that its beginning is warm.
type frozen struct {
	ep      endpoint.Endpoint
	build   func(request) prompt
	suite   baseline.Suite
	prompts []baseline.Prompt
	salt    string
	ahead   chan prompt
	// turn is waited for before each repeat, where another target is measured in between.
	turn func() error
	// counted says who counted the prompts' tokens while they were made.
	counted, tokenizer string
}

// mixed is why the level of a suite has no figures of its own.
const mixed = "a baseline's requests are of several lengths: its figures are told by cell"

func (s *frozen) grows() bool { return false }

func (s *frozen) fit(int) float64 { return endpoint.TokensPerSentence }

// sample is the suite's shallowest prompt, with a nonce that no repeat has.
func (s *frozen) sample() request {
	return s.of(0, "sample", s.suite.Repeats()+1, 0)
}

// next waits for the turn of the target before the first prompt of each repeat. A turn that
// does not come, since the other target is gone, is no reason to stop: the record then says
// what is missing on the other side.
func (s *frozen) next(int) prompt {
	p := <-s.ahead
	if s.turn != nil && p.opens {
		_ = s.turn()
	}
	return p
}

// ready makes the prompts in their order, one ahead of what is sent.
func (s *frozen) ready(int) func() {
	out, done := make(chan prompt, 2), make(chan struct{})
	s.ahead = out
	go func() {
		send := func(r request) bool {
			select {
			case out <- s.build(r):
				return true
			case <-done:
				return false
			}
		}
		// The first request of a level is warm-up: it opens the connection.
		if !send(s.of(0, "warm-up", s.suite.Repeats(), 0)) {
			return
		}
		for repeat := range s.suite.Repeats() {
			for i, depth := range s.suite.Order(repeat) {
				for warm := range 2 {
					r := s.of(depth, "", repeat, warm)
					r.opens = i == 0 && warm == 0
					if !send(r) {
						return
					}
				}
			}
		}
	}()
	return func() { close(done) }
}

// requests is how many requests a suite has, its warm-up too.
func (s *frozen) requests() int { return 1 + 2*s.suite.Repeats()*len(s.prompts) }

func (s *frozen) of(depth int, purpose string, repeat, warm int) request {
	p := s.prompts[depth]
	code := s.ep.Canaries().Issue()
	return request{
		chat: endpoint.Chat(p.Text(s.suite, repeat, s.salt+purpose) + question(code)), want: code, output: p.MaxTokens,
		cell: 2*depth + warm, block: min(repeat, s.suite.Repeats()-1),
	}
}

func (s *frozen) describe(w *record.Workload) {
	deepest := s.prompts[len(s.prompts)-1]
	w.Name, w.Seed, w.PromptTokens, w.OutputTokens = "frozen/"+s.suite.Name(), s.suite.Seed(), deepest.PromptTokens, deepest.MaxTokens
	w.CacheIntent = FrozenIntent
	w.Caveats = append(w.Caveats, "the prompts' lengths were counted by "+s.counted)
	for _, p := range s.prompts {
		if p.TrueTokens != p.PromptTokens {
			w.Caveats = append(w.Caveats, fmt.Sprintf("no prompt of %d tokens was found: it has %d", p.PromptTokens, p.TrueTokens))
		}
	}
	if s.salt != "" {
		w.Caveats = append(w.Caveats, "a salt was added to the nonces, so that no earlier run has sent these prompts")
	}
}

// FrozenIntent is how the prompts of a suite stand to a prefix cache.
const FrozenIntent = "each prompt cold by its nonce, then warm"

// materialise makes the suite's prompts for the server's own tokenizer: by its tokenizer
// endpoint where there is one, else by what it says a prompt of one more token had.
func materialise(ctx context.Context, ep endpoint.Endpoint, suite baseline.Suite) (*frozen, error) {
	s := &frozen{ep: ep, suite: suite}
	code := ep.Canaries().Issue()
	asked := func(text string) endpoint.Request { return endpoint.Chat(text).MaxTokens(1) }
	count := func(ctx context.Context, text string) (int, error) {
		ids, err := ep.ChatTokens(ctx, asked(text))
		if err == nil && len(ids) == 0 {
			err = errors.New("the tokenizer says that a prompt has no token")
		}
		return len(ids), err
	}
	s.counted = "the engine's tokenizer"
	if _, err := count(ctx, "one two three"); err != nil {
		s.counted = "the server's own usage"
		count = func(ctx context.Context, text string) (int, error) {
			a, err := ep.AskPlain(ctx, asked(text))
			if err != nil {
				return 0, err
			}
			n, ok := a.Usage.Prompt.N()
			if !ok || n < 1 {
				return 0, errors.New("the server does not say how many tokens a prompt has")
			}
			return n, nil
		}
	}
	var err error
	if s.prompts, _, err = baseline.Materialise(ctx, suite, question(code), count); err != nil {
		return nil, fmt.Errorf("the prompts of the suite: %w", err)
	}
	if s.tokenizer, err = fingerprint(ctx, ep, count); err != nil {
		return nil, err
	}
	return s, nil
}

// probeText tells tokenizers from each other.
const probeText = "The quick brown fox, 1234567890 times: naïve café — 日本語 \t{\"a\": [1, 2.5]} \U0001F600"

// fingerprint is the digest of the tokens of a fixed text, or of their number where the
// server shows no more.
func fingerprint(ctx context.Context, ep endpoint.Endpoint, count baseline.Counter) (string, error) {
	said := ""
	if ids, err := ep.ChatTokens(ctx, endpoint.Chat(probeText)); err == nil {
		said = fmt.Sprint(ids)
	} else {
		n, err := count(ctx, probeText)
		if err != nil {
			return "", fmt.Errorf("the tokens of a fixed text: %w", err)
		}
		said = fmt.Sprint(n)
	}
	sum := sha256.Sum256([]byte(said))
	return hex.EncodeToString(sum[:]), nil
}

// MeasureFrozen sends a suite against the endpoint that the proof is about, one request at a
// time. salt, where there is one, goes into the nonces: for a server that has seen the suite's
// prompts already. It returns what was measured when ctx ends.
func MeasureFrozen(ctx context.Context, ep endpoint.Endpoint, proof gates.GateSet, suite baseline.Suite, salt string, c Config, progress func(Progress)) (*Sweep, error) {
	if !proof.Satisfied() {
		return nil, &record.UngatedResultError{Reason: "measuring needs a satisfied gate set"}
	}
	if suite.IsZero() {
		return nil, errors.New("there is no suite to send")
	}
	one, err := arrival.Sessions(1, 0, arrival.DefaultSeed)
	if err != nil {
		return nil, err
	}
	s, err := materialise(ctx, ep, suite)
	if err != nil {
		return nil, err
	}
	s.salt, s.turn = salt, c.Turn
	deepest := s.prompts[len(s.prompts)-1]
	c.OutputTokens = deepest.MaxTokens
	w, err := prepareWith(ctx, ep, c, func(w *work) script { s.build = w.build; return s })
	if err != nil {
		return nil, err
	}
	w.proof, w.mixed = proof, mixed
	w.caveats = append(w.caveats, c.Beside...)
	defer Quiet()()
	w.c.Requests = s.requests()
	w.c.PerLevel = 12 * time.Hour // the number of requests ends it
	sweep := &Sweep{ep: ep, planned: 1, able: w.able, workload: w.describe(), suite: s, again: c.Again}
	at := Progress{Index: 0, Of: 1, Arrival: one.String() + ", " + suite.Name()}
	l, err := w.watched(ctx, at, one, 0, progress, func() (levelResult, error) { return w.level(ctx, one) })
	if err != nil {
		return nil, err
	}
	sweep.levels = append(sweep.levels, l)
	progress(Progress{Index: 0, Of: 1, Arrival: one.String(), Finished: true, Issued: l.issued - l.warmup, Good: l.good, Sofar: sweep})
	switch {
	case ctx.Err() != nil:
		sweep.stopped = why(ctx)
	case l.dead:
		sweep.stopped = "the server stopped answering"
	case l.issued < s.requests():
		sweep.stopped = fmt.Sprintf("only %d of %d requests were sent", l.issued, s.requests())
	}
	return sweep, nil
}

// frozenOf tells for the record what was sent: which cells were proven cold or warm by the
// server's own count of cached tokens.
func (s *Sweep) frozenOf() record.Frozen {
	f := s.suite
	out := record.Frozen{
		Name: f.suite.Name(), Spec: json.RawMessage(f.suite.Canonical()), Hash: f.suite.Hash(), Materialised: baseline.Materialised(f.prompts, f.tokenizer),
	}
	for depth, p := range f.prompts {
		for warm := range 2 {
			out.Cells = append(out.Cells, record.Cell{
				PromptTokens: p.PromptTokens, TrueTokens: p.TrueTokens, MaxTokens: p.MaxTokens, Warm: warm == 1, Proven: s.proven(2*depth+warm, p.TrueTokens, warm == 1),
			})
		}
	}
	return out
}

const (
	// preambleTokens are what a chat template may have in the cache of any prompt.
	preambleTokens = 64
	// warmShare is the share of the expected hit that a warm prompt must have.
	warmShare = 0.9
	// blockMost is the largest block of a prefix cache: less than one is not kept.
	blockMost = 64
)

// proven reports whether every request of a cell had as many cached tokens as it should.
func (s *Sweep) proven(cell, promptTokens int, warm bool) bool {
	seen := s.levels[0].cachedByCell[cell]
	if len(seen) == 0 {
		return false
	}
	return !slices.ContainsFunc(seen, func(c gates.Count) bool {
		n, told := c.N()
		if !told {
			return true
		}
		if warm {
			return float64(n) < max(1, warmShare*float64(promptTokens-preambleTokens-blockMost))
		}
		return n > preambleTokens
	})
}
