package stages

import (
	"time"

	"infbench/gates"
	"infbench/record"
)

// Event is a fact about a run, past tense, plain data. Renderers read events; they
// never run on a goroutine that measures.
//
//sumtype:decl
type Event interface{ event() }

// StageStarted says that a stage began, with how many checks and the time that they
// take on a healthy subject; 0 where a [WorkStated] follows.
type StageStarted struct {
	Stage  gates.Stage
	Checks int
	Cost   time.Duration
}

// CheckStarted says that a check was put to its subject.
type CheckStarted struct {
	ID   string
	Cost time.Duration
}

// CheckFinished says what came of a check.
type CheckFinished struct{ Verdict gates.Verdict }

// StageFinished says what came of a stage.
type StageFinished struct{ Result Result }

// StageNotRun says that a planned stage did not start.
type StageNotRun struct{ NotRun gates.NotRun }

// WorkStated says, before a stage begins to ask, what it is going to ask and how long that
// is expected to take of the time that it may.
type WorkStated struct {
	Stage                                gates.Stage
	Requests, PromptTokens, OutputTokens int
	Expected, Budget                     time.Duration
	// Text is all of it in words.
	Text string
}

// LevelStarted says that a load point of a measurement began. It holds no figure:
// there is none before the gates have passed and the level has ended.
type LevelStarted struct {
	Index, Of int
	// Depth is that of a rung of the ladder in tokens, 0 for a level of the sweep.
	Depth    int
	Arrival  string
	Expected time.Duration
	// Restored says that an earlier sitting has measured it.
	Restored bool
}

// LevelProgress is a look at a load point that is being measured. Its figures are in Live,
// which cannot be had without the gates and the arrival model.
type LevelProgress struct {
	Index, Of, Depth int
	// Expected is how long the level starts requests, Left how long that and the
	// later ones are expected to take yet.
	Expected, Left time.Duration
	Live           record.Live
}

// LevelFinished says how many requests of a load point came to a good end.
type LevelFinished struct {
	Index, Of, Depth, Issued, Good int
}

// Interrupted says that a person stopped the run.
type Interrupted struct{}

func (StageStarted) event()  {}
func (WorkStated) event()    {}
func (CheckStarted) event()  {}
func (CheckFinished) event() {}
func (StageFinished) event() {}
func (StageNotRun) event()   {}
func (LevelStarted) event()  {}
func (LevelProgress) event() {}
func (LevelFinished) event() {}
func (Interrupted) event()   {}
