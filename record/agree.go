package record

import (
	"fmt"
	"time"

	"infbench/gates"
)

// Accord is how client and engine stand to each other in one thing.
type Accord string

// The standings. Apart is a difference that a healthy engine may have, such as time on the
// way; only Disagrees costs anything.
const (
	Agrees     Accord = "agrees"
	Apart      Accord = "apart"
	Disagrees  Accord = "disagrees"
	Uncompared Accord = "not compared"
)

// Comparison is one thing in which client and engine were compared. Its words speak of
// differences and hold no figure of the level.
type Comparison struct {
	What   string
	Accord Accord
	Words  string
	rates  bool // the rates alone are wrong, and not the level
}

// Agreement is what came of comparing a level with the engine's own account of it.
type Agreement []Comparison

// Void returns why the level's figures must not be used, nothing where they may.
func (a Agreement) Void() []string {
	var out []string
	for _, c := range a {
		if c.Accord == Disagrees && !c.rates {
			out = append(out, "client and engine disagree about "+c.What+": "+c.Words)
		}
	}
	return out
}

// NoRates returns why the level has no rates, "" where it may have.
func (a Agreement) NoRates() string {
	for _, c := range a {
		if c.Accord == Disagrees && c.rates {
			return "client and engine disagree about " + c.What + ": " + c.Words
		}
	}
	return ""
}

// Lost returns why there was nothing to compare with, "" where there was something.
func (a Agreement) Lost() string {
	if len(a) == 1 && a[0].What == everything {
		return a[0].Words
	}
	return ""
}

const everything = "everything"

// The limits of a disagreement. Both of a pair must be exceeded: the share alone would void a
// short level over a rounding, the amount alone a long one.
const (
	tokensShare, tokensMost = 100, 8 // 1 % and 8 tokens, and one more for each request: an end token is counted by one side alone in some engines
	timesShare              = 10     // a tenth
	timesMost               = 20 * time.Millisecond
	// strangers are requests of others that say nothing yet: one that was hung up before the
	// window may end in it.
	strangers = 2
)

// CrossCheck compares a level's requests, warm-up and failures included, with the engine's own
// account of them. What can be asked depends on what the engine counts and on how it defines
// it, and on whether the account is about the same requests: what is not is not compared.
//
// The one rule: a client can see a thing later than the engine did it, and never earlier. So
// an engine's time that is longer than the client's is a disagreement; a shorter one is time
// on the way, before the engine, or of this client, and is told.
func CrossCheck(samples []Sample, source TokenSource, e EngineWindow) Agreement {
	if e.IsZero() || e.parts.Lost != "" {
		return Agreement{{What: everything, Accord: Uncompared, Words: e.why("")}}
	}
	c := &crossing{samples: samples, p: *e.parts, source: source}
	for _, s := range samples {
		if answered(s) {
			c.good++
		}
	}
	c.ok = c.good == len(samples)
	c.requests()
	c.outputTokens()
	c.promptTokens()
	c.times()
	c.ownTimes()
	return c.all
}

// answered reports whether a request came to its end, whatever the answer is worth: the
// engine made all of it then.
func answered(s Sample) bool {
	return s.Outcome == OK || (s.Outcome == Wrong || s.Outcome == Degenerate) && s.First > 0
}

// crossing is one cross-check under way.
type crossing struct {
	samples []Sample
	p       EngineParts
	source  TokenSource
	good    int
	ok      bool // every request was answered
	foreign bool // the account is not of these requests alone, or not of all of them
	counted bool // output tokens were compared and are equal
	all     Agreement
}

func (c *crossing) say(what string, s Accord, format string, a ...any) {
	c.all = append(c.all, Comparison{What: what, Accord: s, Words: fmt.Sprintf(format, a...)})
}

// requests compares how many the engine finished with how many were sent here.
func (c *crossing) requests() {
	const what = "requests"
	n, ok := c.p.Finished.N()
	sent := len(c.samples)
	slack := max(strangers, sent/100)
	switch {
	case !ok:
		c.say(what, Uncompared, "%s does not count requests", c.p.Source)
	case n > sent+slack:
		c.foreign = true
		c.say(what, Disagrees, "the engine finished %d more than the %d that were sent here: somebody else was using it, and its load was not this level's alone", n-sent, sent)
	case n < c.good-slack:
		c.foreign = true
		c.say(what, Apart, "the engine finished %d fewer than the %d that were answered: its page is one of several replicas, or something before it answers too", c.good-n, c.good)
	case n != sent:
		c.foreign = true
		c.say(what, Apart, "%d sent, %d finished: one that began before, one that never reached the engine, or somebody's probe", sent, n)
	default:
		c.say(what, Agrees, "%d sent, %d finished", sent, n)
	}
}

// outputTokens compares what clients were told with the engine's counter.
func (c *crossing) outputTokens() {
	const what = "output tokens"
	n, ok := c.p.Output.N()
	told := 0
	for _, s := range c.samples {
		told += s.OutputTokens
	}
	switch {
	case !ok:
		c.say(what, Uncompared, "%s does not count them", c.p.Source)
	case c.source != EngineUsage:
		c.say(what, Uncompared, "clients were not told by the engine (%s)", c.source)
	case c.unlike(what):
	case farTokens(n, told, len(c.samples)):
		c.say(what, Disagrees, "clients were told of %d, the engine's counter moved by %d", told, n)
	default:
		c.counted = true
		c.say(what, Agrees, "%d told, %d counted", told, n)
	}
}

// promptTokens compares prompts. A request that was thrown out of a batch is computed again,
// which some counters include.
func (c *crossing) promptTokens() {
	const what = "prompt tokens"
	counter, told := c.p.Prompt, sumOf(c.samples, func(s Sample) gates.Count { return s.PromptTokens })
	if _, ok := counter.N(); !ok {
		counter = c.p.Computed
		told = sumOf(c.samples, func(s Sample) gates.Count {
			p, okP := s.PromptTokens.N()
			cached, okC := s.CachedTokens.N()
			if !okP || !okC || cached > p {
				return gates.Count{}
			}
			return gates.CountOf(p - cached)
		})
	}
	n, okN := counter.N()
	t, okT := told.N()
	switch {
	case !okN:
		c.say(what, Uncompared, "%s does not count them", c.p.Source)
	case c.source != EngineUsage:
		c.say(what, Uncompared, "clients were not told by the engine (%s)", c.source)
	case !okT:
		c.say(what, Uncompared, "clients were not told for every request")
	case c.unlike(what):
	case c.p.Preempted.Or(0) > 0:
		c.say(what, Uncompared, "requests were thrown out of a batch, and prompts computed again")
	case farTokens(n, t, len(c.samples)):
		c.say(what, Disagrees, "clients were told of %d, the engine's counter moved by %d", t, n)
	default:
		c.say(what, Agrees, "%d told, %d counted", t, n)
	}
}

// unlike says why sums of all requests cannot be compared, if they cannot.
func (c *crossing) unlike(what string) bool {
	switch {
	case c.foreign:
		c.say(what, Uncompared, "the engine's account is not of the same requests")
	case !c.ok:
		c.say(what, Uncompared, "%d of %d requests were not answered", len(c.samples)-c.good, len(c.samples))
	default:
		return false
	}
	return true
}

func farTokens(engine, told, requests int) bool {
	diff := max(engine-told, told-engine)
	return diff > tokensMost+requests && diff*tokensShare > max(engine, told)
}

func sumOf(samples []Sample, count func(Sample) gates.Count) gates.Count {
	sum := 0
	for _, s := range samples {
		n, ok := count(s).N()
		if !ok {
			return gates.Count{}
		}
		sum += n
	}
	return gates.CountOf(sum)
}

// times compares means over all requests.
func (c *crossing) times() {
	n := len(c.samples)
	ttft := meanOf(c.samples, func(s Sample) time.Duration { return s.First - s.Sent })
	decode := meanOf(c.samples, func(s Sample) time.Duration { return s.Last - s.First })
	whole := meanOf(c.samples, func(s Sample) time.Duration { return s.End - s.Sent })
	way := c.onTheWay()
	if own, ok := c.engineMean("time to the first token", c.p.TTFT, n); ok {
		c.later("time to the first token", ttft, own, way)
	} else if prefill, ok := c.p.Prefill.Sum.D(); ok && c.same(c.p.Prefill, n) && n > 0 {
		// Without a timer from the arrival: queue and prefill lie within it.
		c.within("prefill", ttft, (prefill+c.p.Queue.Sum.Or(0))/time.Duration(n))
	}
	if own, ok := c.engineMean("decode time", c.p.Decode, n); ok {
		c.decode(decode, own)
	}
	if own, ok := c.engineMean("end-to-end time", c.p.E2E, n); ok {
		c.later("end-to-end time", whole, own, way)
	}
}

// same reports whether a timer is of the level's own requests. Where it does not say how
// many it adds up, that the tokens are equal has to do.
func (c *crossing) same(t EngineTimer, n int) bool {
	if c.foreign || !c.ok {
		return false
	}
	if timed, ok := t.N.N(); ok {
		return timed == n
	}
	return c.counted
}

func (c *crossing) engineMean(what string, t EngineTimer, n int) (time.Duration, bool) {
	sum, ok := t.Sum.D()
	switch {
	case !ok:
		c.say(what, Uncompared, "%s does not time it", c.p.Source)
	case !c.same(t, n) || n == 0:
		c.say(what, Uncompared, "the engine's account is not of the same requests")
	default:
		return sum / time.Duration(n), true
	}
	return 0, false
}

// onTheWay is what a request needs before it is at the engine and back: opening connections,
// and a round trip as the quickest opening shows it.
func (c *crossing) onTheWay() time.Duration {
	var least time.Duration
	for _, s := range c.samples {
		if s.Fresh && s.Dialled > 0 && (least == 0 || s.Dialled < least) {
			least = s.Dialled
		}
	}
	return meanOf(c.samples, func(s Sample) time.Duration { return s.Dialled }) + least
}

// later compares a time that the client sees from outside: it can only be longer.
func (c *crossing) later(what string, client, own, way time.Duration) {
	switch {
	case farTimes(own, client):
		c.say(what, Disagrees, "the engine's own mean is %s longer than what clients saw, which cannot be", apart(own, client))
	case farTimes(client, own+way):
		c.say(what, Apart, "clients saw %s more than the engine knows of: on the way, before the engine, or in this client", apart(client, own))
	default:
		c.say(what, Agrees, "within %s", apart(client, own))
	}
}

// within compares a time that lies inside of one that the client sees.
func (c *crossing) within(what string, client, own time.Duration) {
	if farTimes(own, client) {
		c.say(what, Disagrees, "the engine's own mean is %s longer than the time to the first token that clients saw, which cannot be", apart(own, client))
		return
	}
	c.say(what, Agrees, "it lies within the time to the first token")
}

// decode compares the time from the first token to the last. Tokens that are made and not
// shown shorten what the client sees, and with it the time per token: alone that is the only
// reason, under load a first token can also have been delivered late.
func (c *crossing) decode(client, own time.Duration) {
	const what = "decode time"
	_, _, peak := inFlight(c.samples, 0, endOf(c.samples))
	switch {
	case farTimes(own, client) && peak <= 1:
		c.say(what, Disagrees, "the engine decoded for %s longer than text was seen: tokens are held back or not shown, and times per token come out short", apart(own, client))
		c.all[len(c.all)-1].rates = true
	case farTimes(own, client):
		c.say(what, Apart, "the engine decoded for %s longer than text was seen: first tokens came late, or tokens are not shown", apart(own, client))
	case farTimes(client, own):
		c.say(what, Apart, "text came for %s longer than the engine decoded: on the way, or in this client", apart(client, own))
	default:
		c.say(what, Agrees, "within %s", apart(client, own))
	}
}

// ownTimes compares what the engine told of single requests with what was seen of them.
func (c *crossing) ownTimes() {
	const what = "the times of single requests"
	told, broken := 0, 0
	var worst time.Duration
	for _, s := range c.samples {
		prefill, ok := s.EnginePrefill.D()
		if !ok || !answered(s) {
			continue
		}
		told++
		begun := s.EngineQueue.Or(0) + prefill
		over := max(begun-(s.First-s.Sent), begun+s.EngineDecode.Or(0)-(s.End-s.Sent))
		if farTimes(begun, s.First-s.Sent) || farTimes(begun+s.EngineDecode.Or(0), s.End-s.Sent) {
			broken++
			worst = max(worst, over)
		}
	}
	switch {
	case told == 0:
	case broken*100 > told:
		c.say(what, Disagrees, "%d of %d took the engine longer than the client waited, by up to %v, which cannot be", broken, told, worst.Round(time.Millisecond))
	default:
		c.say(what, Agrees, "%d of %d lie within what was seen", told-broken, told)
	}
}

// farTimes reports whether a is longer than b beyond the limits.
func farTimes(a, b time.Duration) bool { return a-b > timesMost && (a-b)*timesShare > a }

// apart is the difference of two times in words.
func apart(a, b time.Duration) string {
	d, most := max(a-b, b-a), max(a, b)
	text := d.Round(time.Microsecond).String()
	if d >= time.Millisecond {
		text = fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
	}
	if most <= 0 {
		return text
	}
	return fmt.Sprintf("%s (%.1f %%)", text, 100*float64(d)/float64(most))
}

func meanOf(samples []Sample, d func(Sample) time.Duration) time.Duration {
	var sum time.Duration
	for _, s := range samples {
		sum += d(s)
	}
	return sum / time.Duration(max(1, len(samples)))
}

func endOf(samples []Sample) time.Duration {
	var end time.Duration
	for _, s := range samples {
		end = max(end, s.End)
	}
	return end
}
