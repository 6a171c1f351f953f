package correctness

import (
	"context"
	"fmt"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

// DefaultBudget is the time for the whole of stage 3 where nobody states another.
const DefaultBudget = 5 * time.Minute

// EmbeddedSpeeds are those of the embedded engine on a quiet core: what a self-test sizes its
// checks by.
var EmbeddedSpeeds = Speeds{Prefill: 62_000, Decode: 500, Fixed: 3 * time.Millisecond}

// QuickBudget is enough for every check to put its questions once, where the server is
// quick: what a self-test takes.
const QuickBudget = 20 * time.Second

// Speeds are how fast an endpoint answers one request alone: what the sizes of the checks
// are derived from. They are estimates for planning and no measurement.
type Speeds struct {
	// Prefill and Decode are in tokens per second; Fixed is what a request takes besides.
	Prefill, Decode float64
	Fixed           time.Duration
}

// Work is what a check asks of the server.
type Work struct {
	Requests, PromptTokens, OutputTokens int
}

func (w Work) plus(o Work) Work {
	return Work{w.Requests + o.Requests, w.PromptTokens + o.PromptTokens, w.OutputTokens + o.OutputTokens}
}

// asks is the work of n requests of the same size.
func asks(n, promptTokens, outputTokens int) Work {
	return Work{n, n * promptTokens, n * outputTokens}
}

// Takes returns how long the work takes, one request after another.
func (s Speeds) Takes(w Work) time.Duration {
	seconds := float64(w.PromptTokens)/s.Prefill + float64(w.OutputTokens)/s.Decode
	return time.Duration(seconds*float64(time.Second)) + time.Duration(w.Requests)*s.Fixed
}

// Estimate is what stage 3 is going to ask.
type Estimate struct {
	Work
	Expected, Budget time.Duration
}

// String returns the estimate in words.
func (e Estimate) String() string {
	return fmt.Sprintf("about %d requests, %d prompt tokens, %d output tokens: %v of a budget of %v", e.Requests, e.PromptTokens, e.OutputTokens, coarse(e.Expected), coarse(e.Budget))
}

// coarse rounds a duration to what an estimate is worth.
func coarse(d time.Duration) time.Duration {
	switch {
	case d >= 10*time.Minute:
		return d.Round(time.Minute)
	case d >= 10*time.Second:
		return d.Round(time.Second)
	}
	return d.Round(100 * time.Millisecond)
}

// A sizing says how large a check makes its questions in the room that it is given.
type sizing struct {
	// percent is the check's share of the budget.
	percent int
	// work returns what the check asks in the room; nil where it asks nothing.
	work func(room) Work
}

// room is what a check has to work in.
type room struct {
	share    time.Duration
	speeds   Speeds
	context  int // tokens; 0: nobody says
	inFlight int
	// loadTokens is how long the prompts of the load will be that comes after this stage.
	loadTokens int
	// thorough is the budget in default ones: a quick server does not use all of the default
	// up, and a longer budget asks more of it too.
	thorough float64
	paired   bool // there is a reference to compare with
}

// most scales what is enough by default with the budget.
func (r room) most(enough int) int { return max(1, int(float64(enough)*r.thorough)) }

// affords reports whether the work fits into the room.
func (r room) affords(w Work) bool { return r.speeds.Takes(w) <= r.share }

var sizings = map[string]sizing{}

// add registers a check and how it is sized. A new check is one new file with one of these.
func add(c gates.Check[Subject], s sizing) string {
	id := checks.Add(c)
	sizings[id] = s
	return id
}

// room returns the room of the check with the id.
func (s Subject) room(id string) room {
	return room{s.options.Budget * time.Duration(sizings[id].percent) / 100, s.speeds, s.ContextTokens(0), s.InFlight(), s.options.LoadTokens, float64(s.options.Budget) / float64(DefaultBudget), s.HasReference()}
}

// Estimate returns what the whole stage is going to ask.
func (s Subject) Estimate() Estimate {
	e := Estimate{Budget: s.options.Budget}
	for id, z := range sizings {
		if z.work == nil {
			continue
		}
		e.Work = e.plus(z.work(s.room(id)))
	}
	e.Expected = s.speeds.Takes(e.Work)
	return e
}

// clock returns the time that a check with the id may spend on going deeper: an estimate
// may be wrong by a factor, and a check then says how far it came.
func (s Subject) clock(id string) clock {
	share := s.room(id).share * 5 / 4
	if s.options.Speeds != (Speeds{}) {
		share *= 20
	}
	return clock{time.Now().Add(share)}
}

// clock is a stock of time that a check may spend on going deeper.
type clock struct {
	end time.Time
}

// affords reports whether something of that length still fits.
func (c clock) affords(d time.Duration) bool { return time.Until(c.end) > d }

// speedsOf asks a short and a longer question and derives the speeds from their times:
// the least of what came, since the first question of a server may be slow by itself.
func speedsOf(ctx context.Context, ep endpoint.Endpoint) (Speeds, error) {
	return endpoint.Remember(ep, "correctness/speeds", func() (Speeds, error) {
		long := endpoint.NewProse(977).Sentences(40)
		var short, deep time.Duration
		tokens, decode := 40*endpoint.TokensPerSentence, 0.0
		for i := range 2 {
			a := ep.Stream(ctx, endpoint.Chat(fmt.Sprintf("Round %d. Count from 1 to 20.", i)).MaxTokens(24))
			if err := a.Err(); err != nil {
				return Speeds{}, err
			}
			b := ep.Stream(ctx, endpoint.Chat(fmt.Sprintf("Part %d of %d. ", i, ep.Requests())+long+" Count from 1 to 20.").MaxTokens(24))
			if err := b.Err(); err != nil {
				return Speeds{}, err
			}
			if n, ok := b.Usage.Prompt.N(); ok {
				tokens = max(1, n-a.Usage.Prompt.Or(0))
			}
			if took := b.Timing.LastToken - b.Timing.FirstToken; took > 0 {
				n := b.Usage.Completion.Or(len(b.Timing.Marks))
				decode = max(decode, float64(n-1)/took.Seconds())
			}
			if i == 0 || a.Timing.FirstToken < short {
				short = a.Timing.FirstToken
			}
			if i == 0 || b.Timing.FirstToken < deep {
				deep = b.Timing.FirstToken
			}
		}
		const most = 1e6 // tokens per second; a clock too coarse to tell must not promise the impossible
		s := Speeds{Prefill: most, Decode: most, Fixed: max(short, time.Millisecond)}
		if more := deep - short; more > 0 {
			s.Prefill = min(most, float64(tokens)/more.Seconds())
		}
		if decode > 1 {
			s.Decode = min(most, decode)
		}
		return s, nil
	})
}
