package performance

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"

	"infbench/gates"
	"infbench/record"
	"infbench/stages/endpoint"
)

// independent are prompts of one length. A nonce stands first in each, so that no prefix of
// it is in a cache, and the seed is the run's own, so that no earlier run has sent it. Where
// they repeat, they share all but their question, and a prefix cache holds the rest.
type independent struct {
	ep           endpoint.Endpoint
	build        func(request) prompt
	seed         uint64
	promptTokens int
	sentences    int
	nonces       atomic.Uint64
	ahead        chan prompt
	repeats      bool
	begins       string // what prompts that repeat share
}

func newIndependent(ep endpoint.Endpoint, build func(request) prompt, seed uint64, promptTokens int) *independent {
	return &independent{ep: ep, build: build, seed: seed, promptTokens: promptTokens, sentences: max(1, promptTokens/endpoint.TokensPerSentence)}
}

// newRepeated returns prompts of one length that share their beginning.
func newRepeated(ep endpoint.Endpoint, build func(request) prompt, seed uint64, promptTokens int) *independent {
	s := newIndependent(ep, build, seed, promptTokens)
	s.repeats = true
	return s
}

func (s *independent) sample() request { return s.after(s.opening()) }

func (s *independent) fit(counted int) float64 {
	if counted <= 0 {
		return endpoint.TokensPerSentence
	}
	per := float64(counted) / float64(s.sentences)
	s.sentences = max(1, int(float64(s.promptTokens)/per))
	return per
}

func (s *independent) ready(sessions int) func() {
	out, done := make(chan prompt, max(4, 2*sessions)), make(chan struct{})
	s.ahead = out
	if s.repeats && s.begins == "" {
		s.begins = s.opening()
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case out <- s.build(s.make()):
			case <-done:
				return
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

func (s *independent) next(int) prompt { return <-s.ahead }

func (s *independent) make() request {
	if s.repeats {
		return s.after(s.begins)
	}
	return s.after(s.opening())
}

// after asks for a code behind a prompt.
func (s *independent) after(opening string) request {
	code := s.ep.Canaries().Issue()
	return request{chat: endpoint.Chat(opening + question(code)), want: code}
}

// opening returns a prompt without its question; no two begin alike.
func (s *independent) opening() string {
	n := s.nonces.Add(1)
	nonce := rand.New(rand.NewPCG(s.seed, n)).Uint32()
	return "Note " + strconv.FormatUint(uint64(nonce), 36) + ". " + endpoint.NewProse(s.seed+n).Sentences(s.sentences)
}

func question(code gates.Canary) string {
	return " The secret code is " + code.String() + ". What is the secret code?"
}

func (s *independent) grows() bool { return false }

func (s *independent) describe(w *record.Workload) {
	w.Name, w.Seed, w.PromptTokens, w.CacheIntent = "prose-nonce/1", fmt.Sprint(s.seed), s.promptTokens, CacheIntent(Independent)
	if s.repeats {
		w.Name, w.CacheIntent = "prose-repeated/1", CacheIntent(Repeated)
	}
}
