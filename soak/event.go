package soak

import (
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

// Event is a fact about a soak, past tense, plain data.
//
//sumtype:decl
type Event interface{ event() }

// Entry is an event and when it happened.
type Entry struct {
	// Time is the wall clock, At the time since the soak began.
	Time  time.Time
	At    time.Duration
	Event Event
}

// Begun says that a soak began, and what about.
type Begun struct {
	Run     string        `json:"run"`
	Harness string        `json:"harness"`
	Plan    Plan          `json:"plan"`
	Subject gates.Subject `json:"subject"`
}

// Resumed says that it goes on after a kill or an interruption.
type Resumed struct {
	Harness string        `json:"harness"`
	Subject gates.Subject `json:"subject"`
}

// Reading is what was measured while the load rested, before the checks of a round.
type Reading struct {
	Round int `json:"round"`
	// FirstToken and PerToken compare the same question, put alone, with the first round.
	FirstToken Ratio `json:"first_token"`
	PerToken   Ratio `json:"per_token"`
	// Anchor holds the times of the first round, sealed: with them a soak can go on.
	Anchor string `json:"anchor,omitempty"`
	// Rest is what the server shows of itself at rest.
	Rest endpoint.Gauges `json:"rest"`
	// Load is what came of the load since the reading before.
	Load Answers `json:"load"`
}

// Answers counts what came of the load's questions.
type Answers struct {
	Asked int `json:"asked"`
	Right int `json:"right"`
	Wrong int `json:"wrong"`
	// Busy were turned away, Lost got no answer, Foreign held another question's code.
	Busy    int `json:"busy"`
	Lost    int `json:"lost"`
	Foreign int `json:"foreign"`
	// PromptTokens and CachedTokens are what the server counted of them.
	PromptTokens gates.Count `json:"prompt_tokens"`
	CachedTokens gates.Count `json:"cached_tokens"`
}

// Round is what the checks of a round came to. Round 0 is stage 2.
type Round struct {
	N       int          `json:"n"`
	Answers gates.Ledger `json:"answers,omitzero"`
	// Void says why it counts for nothing, Cut that it did not come to its end.
	Void string `json:"void,omitempty"`
	Cut  bool   `json:"cut,omitempty"`
}

// Failed says that something that held before does not hold any more.
type Failed struct {
	Check    string   `json:"check"`
	Round    int      `json:"round"`
	Summary  string   `json:"summary"`
	Evidence []string `json:"evidence,omitempty"`
	// LastRight is the last round in which it held, -1 where it never did.
	LastRight int `json:"last_right"`
}

// Again says what came of asking once more, the load at rest: does it take company, or is
// the server spoilt?
type Again struct {
	Check   string       `json:"check"`
	Status  gates.Status `json:"status,omitzero"` // of the same check; none where there is no check to ask
	Summary string       `json:"summary,omitempty"`
	// Right of Asked plain questions were answered rightly.
	Right int `json:"right"`
	Asked int `json:"asked"`
}

// Healed says that what had failed holds again.
type Healed struct {
	Check string `json:"check"`
	Round int    `json:"round"`
	// Restart says that the server was restarted in between.
	Restart bool `json:"restart,omitempty"`
}

// Away says that the server refuses connections.
type Away struct {
	What string `json:"what"`
}

// Restarted says that another process answers than before.
type Restarted struct {
	What    string        `json:"what"`
	Allowed bool          `json:"allowed"`
	Subject gates.Subject `json:"subject"`
}

// Drifts says that something was seen to creep.
type Drifts struct {
	Metric string `json:"metric"`
	Mode   string `json:"mode,omitempty"`
	Text   string `json:"text"`
}

// Ended says that the soak came to its end, or why it ended before.
type Ended struct {
	// Cause is "" when it came to its end.
	Cause string `json:"cause,omitempty"`
	// Stopped says that a person ended it: it can be taken up again.
	Stopped bool `json:"stopped,omitempty"`
	// Load is what came of the load since the last reading.
	Load Answers `json:"load"`
}

func (Begun) event()     {}
func (Resumed) event()   {}
func (Reading) event()   {}
func (Round) event()     {}
func (Failed) event()    {}
func (Again) event()     {}
func (Healed) event()    {}
func (Away) event()      {}
func (Restarted) event() {}
func (Drifts) event()    {}
func (Ended) event()     {}
