package performance

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"infbench/gates"
	"infbench/record"
	"infbench/stages/endpoint"
)

// The shape of a coding agent's session, from 18,834 and 36,804 recorded requests of real
// ones (kv-cache-tester, Apache-2.0): the median prompt has 92,888 tokens, a session begins
// with 21,420, each turn holds the one before and adds 642 in the median (5 % add 6,290 and
// more). 97.3 % of the prompt tokens were read from a cache.
const (
	agentMedianTokens = 92_888
	agentFirstTokens  = 21_420
	agentGrowthTokens = 642
	agentGrowthSigma  = 1.387 // ln(6290/642)/1.6449
	// agentMostTokens ends a session: about as much lies above the median as below.
	agentMostTokens = 2*agentMedianTokens - agentFirstTokens
	// leastGrowthTokens is what a turn adds at least: its instruction.
	leastGrowthTokens = 40
	// contextShare is the share of the context that the longest prompt may fill.
	contextShare = 0.85
)

// agent are sessions that grow turn by turn. A session that is new to the server begins
// somewhere in its life, so that the prompts are as long as they were recorded from the
// first level on; one that has come to its end begins anew, as recorded ones did.
type agent struct {
	ep     endpoint.Endpoint
	build  func(request) prompt
	seed   uint64
	answer int // tokens
	scale  float64
	// perSentence is what a sentence costs in the server's tokens.
	perSentence float64

	mu       sync.Mutex
	sessions map[int]*conversation
	sampling *conversation
}

// conversation is one session. Its next request is built while the one before is answered.
type conversation struct {
	s      *agent
	number int
	life   int // how often the session has begun
	turn   int
	rng    *rand.Rand
	prose  *endpoint.Prose
	chat   endpoint.Request
	tokens float64
	own    []gates.Canary
	ahead  chan prompt
}

// newAgent scales the sessions to a context, 0 where it is not known.
func newAgent(ep endpoint.Endpoint, build func(request) prompt, seed uint64, contextTokens, answerTokens int) *agent {
	if contextTokens == 0 {
		contextTokens = 8192
	}
	room := float64(contextTokens)*contextShare - float64(answerTokens) - 200
	return &agent{
		ep: ep, build: build, seed: seed, answer: answerTokens, scale: math.Max(0.002, math.Min(1, room/agentMostTokens)),
		perSentence: endpoint.TokensPerSentence, sessions: map[int]*conversation{},
	}
}

func (s *agent) grows() bool { return true }

func (s *agent) medianTokens() int { return int(agentMedianTokens * s.scale) }

func (s *agent) describe(w *record.Workload) {
	w.Name, w.Seed, w.PromptTokens, w.CacheIntent = "agent-session/1", fmt.Sprint(s.seed), s.medianTokens(), CacheIntent(Agent)
	if s.scale < 1 {
		w.Caveats = append(w.Caveats, fmt.Sprintf("the recorded agents' sessions at %.2g of their size: their median prompt of %d tokens is %d here", s.scale, agentMedianTokens, s.medianTokens()))
	}
}

// sampleSession is a session that no level has.
const sampleSession = 0x7fffffff

func (s *agent) sample() request {
	if s.sampling == nil {
		// At the beginning of its life: what a sentence costs is not known yet, and a guess that is
		// too low must not overrun the context.
		s.sampling = s.newborn(sampleSession)
	}
	return s.sampling.make()
}

func (s *agent) fit(counted int) float64 {
	if guess := s.sampling.tokens; counted > 0 && guess > 0 {
		s.perSentence *= float64(counted) / guess
		s.sampling.tokens = float64(counted)
	}
	return s.perSentence
}

func (s *agent) ready(sessions int) func() {
	for i := range sessions {
		s.session(i)
	}
	return func() {}
}

// session returns a session, its next request in the making.
func (s *agent) session(number int) *conversation {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.sessions[number]
	if !ok {
		c = s.begin(number)
		s.sessions[number] = c
		c.ahead <- s.build(c.make())
	}
	return c
}

func (s *agent) next(session int) prompt {
	c := s.session(session)
	p := <-c.ahead
	go func() { c.ahead <- s.build(c.make()) }() // one at a time: the next is made when this one is taken
	return p
}

// newborn returns a session at the beginning of its life.
func (s *agent) newborn(number int) *conversation {
	c := &conversation{s: s, number: number, rng: rand.New(rand.NewPCG(s.seed, uint64(number))), ahead: make(chan prompt, 1)}
	c.anew(agentFirstTokens)
	return c
}

// begin returns a session at some point of its life.
func (s *agent) begin(number int) *conversation {
	c := s.newborn(number)
	// The golden ratio spreads any number of sessions evenly over their life, the first of
	// them in its middle.
	_, age := math.Modf(0.5 + float64(number)*math.Phi)
	c.anew(agentFirstTokens + age*(agentMostTokens-agentFirstTokens)*0.95)
	return c
}

// anew begins the session's conversation, at so many tokens of full size.
func (c *conversation) anew(full float64) {
	c.life++
	c.turn, c.tokens, c.own = 0, 0, nil
	c.prose = endpoint.NewProse(c.s.seed ^ uint64(c.number)<<20 ^ uint64(c.life)<<50)
	name := fmt.Sprintf("%08x", c.rng.Uint32()) // first of all, so that no two sessions begin alike
	c.chat = endpoint.Conversation().System("Session " + name + ". You are a coding agent. You read files, change them, and say what you did. " + c.text(agentFirstTokens*c.s.scale/2))
	for c.tokens < full*c.s.scale {
		c.chat = c.chat.User("Here is a file.\n" + c.text(c.growth()))
		c.chat = c.chat.Assistant(c.text(60))
	}
}

// growth is what a turn adds, in tokens of this scale: never more than the session has room
// for, since the law has a long tail and a turn that lies across a given length is a long one.
func (c *conversation) growth() float64 {
	drawn := c.s.scale * agentGrowthTokens * math.Exp(agentGrowthSigma*c.rng.NormFloat64())
	return math.Max(leastGrowthTokens, math.Min(drawn, agentMostTokens*c.s.scale-c.tokens))
}

// text returns prose of about so many tokens, and counts it.
func (c *conversation) text(tokens float64) string {
	n := max(1, int(tokens/c.s.perSentence))
	c.tokens += float64(n) * c.s.perSentence
	return c.prose.Sentences(n)
}

// make returns the next turn.
func (c *conversation) make() request {
	if c.turn > 0 {
		c.chat = c.chat.Assistant("The code of this step is " + c.own[len(c.own)-1].String() + ". " + c.text(float64(c.s.answer)))
	}
	add := c.growth()
	if c.turn > 0 && c.tokens+add >= agentMostTokens*c.s.scale {
		c.anew(agentFirstTokens)
		add = c.growth()
	}
	code := c.s.ep.Canaries().Issue()
	c.chat = c.chat.User("The tool says:\n" + c.text(add) + "\nThe secret code of this step is " + code.String() + ". What is the secret code of this step?")
	c.tokens += 30 // of the question
	earlier := c.own
	c.own = append(c.own[:len(c.own):len(c.own)], code)
	c.turn++
	return request{chat: c.chat, want: code, own: earlier}
}
