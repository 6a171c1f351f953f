package performance

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"

	"infbench/record"
	"infbench/stages/endpoint"
)

// independent are prompts of one length. A nonce stands first in each, so that no prefix of
// it is in a cache, and the seed is the run's own, so that no earlier run has sent it.
type independent struct {
	ep           endpoint.Endpoint
	build        func(request) prompt
	seed         uint64
	promptTokens int
	sentences    int
	nonces       atomic.Uint64
	ahead        chan prompt
}

func newIndependent(ep endpoint.Endpoint, build func(request) prompt, seed uint64, promptTokens int) *independent {
	return &independent{ep: ep, build: build, seed: seed, promptTokens: promptTokens, sentences: max(1, promptTokens/endpoint.TokensPerSentence)}
}

func (s *independent) sample() request { return s.make() }

func (s *independent) fit(counted int) {
	if counted > 0 {
		s.sentences = max(1, s.sentences*s.promptTokens/counted)
	}
}

func (s *independent) ready(sessions int) func() {
	out, done := make(chan prompt, max(4, 2*sessions)), make(chan struct{})
	s.ahead = out
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
	n := s.nonces.Add(1)
	nonce := rand.New(rand.NewPCG(s.seed, n)).Uint32()
	code := s.ep.Canaries().Issue()
	text := "Note " + strconv.FormatUint(uint64(nonce), 36) + ". " + endpoint.NewProse(s.seed+n).Sentences(s.sentences) + " The secret code is " + code.String() + ". What is the secret code?"
	return request{chat: endpoint.Chat(text), want: code}
}

func (s *independent) grows() bool { return false }

func (s *independent) describe(w *record.Workload) {
	w.Name, w.Seed, w.PromptTokens, w.CacheIntent = "prose-nonce/1", fmt.Sprint(s.seed), s.promptTokens, CacheIntent(Independent)
}
