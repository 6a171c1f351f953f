package performance

import (
	"infbench/arrival"
	"infbench/gates"
	"infbench/record"
	"infbench/stages/endpoint"
)

// A script makes the prompts of a workload. Its prompts are a pure function of the run's
// seed, but for the codes that they ask for; it writes the answers of earlier turns itself,
// so that no server's words change what is sent.
type script interface {
	// sample returns a request of the measured shape that is sent alone, before any level;
	// each call goes on where the one before has ended.
	sample() request
	// fit is told how long the last sample really was, and returns what a sentence costs in
	// tokens.
	fit(countedTokens int) (perSentence float64)
	// ready builds ahead for so many sessions, and returns what ends that.
	ready(sessions int) (done func())
	// next returns the next prompt of a session, built already.
	next(session int) prompt
	// describe says what is sent.
	describe(*record.Workload)
	// grows says that a session's prompts become longer from turn to turn.
	grows() bool
}

// request is one request, what its answer must hold, and the codes that stand in it besides.
type request struct {
	chat endpoint.Request
	want gates.Canary
	own  []gates.Canary
	// output is how many tokens are asked for, 0 for those of the workload.
	output int
	// cell and block are the request's place in a suite; opens says that it is the first of a
	// repeat.
	cell, block int
	opens       bool
}

// The workloads that a configuration can name.
const (
	// Agent is a coding agent's session as it was recorded, scaled to the context.
	Agent = "agent"
	// Independent are prompts of one length that share no beginning.
	Independent = "independent"
	// Repeated are prompts of one length that share all but their question.
	Repeated = "repeated"
)

// Workloads names the workloads.
func Workloads() []string { return []string{Agent, Independent, Repeated} }

// WorkloadOf returns the workload of a configuration under arrival models: a session needs
// a closed loop, since its next turn holds the one before.
func WorkloadOf(c Config, models []arrival.ArrivalModel) string {
	if c.Workload != "" {
		return c.Workload
	}
	if c.PromptTokens > 0 {
		return Independent
	}
	for _, m := range models {
		if m.Sessions() == 0 {
			return Independent
		}
	}
	return Agent
}

// CacheIntent is how the prompts of a workload stand to a prefix cache.
func CacheIntent(workload string) string {
	switch workload {
	case Agent:
		return "as the sessions' own turns leave it"
	case Repeated:
		return "warm, but for the question"
	}
	return "cold by nonce"
}

// PromptTokensOf returns the length that most prompts of a workload have at least, for a
// context of so many tokens, 0 where it is not known.
func PromptTokensOf(c Config, models []arrival.ArrivalModel, contextTokens int) int {
	if WorkloadOf(c, models) == Agent {
		return newAgent(endpoint.Endpoint{}, nil, 0, contextTokens, c.OutputTokens).medianTokens()
	}
	if c.PromptTokens > 0 {
		return c.PromptTokens
	}
	return defaultPromptTokens
}
