package record

import (
	"fmt"
	"strconv"
	"time"

	"infbench/gates"
)

// EngineFigures is what an engine's own account of a level comes to. Its rates are of the
// engine's clock and never mixed with those of the client; each value knows why it is
// withheld, if it is.
type EngineFigures struct {
	// Source is the engine that told, "" where nobody looked.
	Source string
	// PrefillComputed is the tokens that were computed over the time of prefill, a mean over
	// requests that may overlap and no rate of the machine; PrefillNominal counts cached ones
	// too. Batched says that the time is of batches: then it is the machine's.
	PrefillComputed, PrefillNominal Rate
	Batched                         bool
	// Decode is the tokens after the first of each request over the time of decode. FirstToo
	// says that the first ones are among them, since the engine does not count requests.
	Decode   Rate
	FirstToo bool
	// Queue, Prefill, TTFT, TokenGap and E2E are means.
	Queue, Prefill, TTFT, TokenGap, E2E Estimate
	// CacheHits is the share of prompt tokens that came from the cache, Acceptance the share
	// of drafted tokens that were kept.
	CacheHits, Acceptance Share
	Preempted             Tally
	// Running and Waiting were looked at during the window, and so was KVPermille.
	Running, Waiting, KVPermille Gauge
	Device                       DeviceFigures
	// Agreement says how client and engine stand to each other.
	Agreement Agreement
}

// DeviceFigures is what the accelerators of the engine's machine drew and held.
type DeviceFigures struct {
	By      string
	Devices int
	// Watts is the mean power of all of them, MaxWatts the most that was seen.
	Watts, MaxWatts Quantity
	// JoulesPerToken is the energy of the window over its output tokens.
	JoulesPerToken Quantity
	// MemoryBytes is the most that was in use.
	MemoryBytes Tally
}

// Share is a part of a whole, or withheld with the reason.
type Share struct {
	part, whole int
	withheld    string
}

func shareOf(part, whole gates.Count, why string) Share {
	p, okP := part.N()
	w, okW := whole.N()
	switch {
	case !okP || !okW:
		return Share{withheld: why}
	case w == 0:
		return Share{withheld: "n=0"}
	case p > w:
		return Share{withheld: fmt.Sprintf("the engine counts %d of %d", p, w)}
	}
	return Share{part: p, whole: w}
}

// Of returns the share between 0 and 1; ok is false when it is withheld.
func (s Share) Of() (v float64, ok bool) {
	if s.withheld != "" || s.whole == 0 {
		return 0, false
	}
	return float64(s.part) / float64(s.whole), true
}

// Withheld returns why there is no share.
func (s Share) Withheld() string { return s.withheld }

// String returns the share in percent with what it is of, or a dash and the reason.
func (s Share) String() string {
	v, ok := s.Of()
	if !ok {
		return "— (" + s.withheld + ")"
	}
	return fmt.Sprintf("%.1f %% of %d", 100*v, s.whole)
}

// Tally is a count, or withheld with the reason.
type Tally struct {
	n        int
	withheld string
}

func tallyOf(c gates.Count, why string) Tally {
	if n, ok := c.N(); ok {
		return Tally{n: n}
	}
	return Tally{withheld: why}
}

// N returns the count; ok is false when it is withheld.
func (t Tally) N() (n int, ok bool) { return t.n, t.withheld == "" }

// Withheld returns why there is no count.
func (t Tally) Withheld() string { return t.withheld }

// String returns the count, or a dash and the reason.
func (t Tally) String() string {
	if n, ok := t.N(); ok {
		return strconv.Itoa(n)
	}
	return "— (" + t.withheld + ")"
}

// Quantity is a number with a unit that its field names, or withheld with the reason.
type Quantity struct {
	v        float64
	withheld string
}

// V returns the number; ok is false when it is withheld.
func (q Quantity) V() (v float64, ok bool) { return q.v, q.withheld == "" }

// Withheld returns why there is no number.
func (q Quantity) Withheld() string { return q.withheld }

// engineFigures works out what the engine's account comes to. A level that is void has no
// figures, and the engine's are none either.
func (l Level) engineFigures(source TokenSource) EngineFigures {
	e := l.engine
	f := EngineFigures{Agreement: CrossCheck(l.samples, source, e)}
	p := EngineParts{}
	if !e.IsZero() {
		p = *e.parts
	}
	f.Source, f.Batched = p.Source, p.Batched
	why := e.why
	if len(l.void) > 0 {
		p, f.Batched = EngineParts{}, false
		why = func(string) string { return "the level is void: " + l.void[0] }
	}
	f.PrefillComputed = overTime(p.Computed, p.Prefill.Sum, why("how many tokens it computed, and in what time"))
	f.PrefillNominal = overTime(p.Prompt, p.Prefill.Sum, why("how many prompt tokens it took, and in what time"))
	f.Decode, f.FirstToo = p.decode(why("how long it decoded"))
	f.Queue, f.Prefill = p.Queue.mean(why("how long requests queued")), p.Prefill.mean(why("how long each prompt took"))
	f.TTFT, f.E2E, f.TokenGap = p.TTFT.mean(why("its time to the first token")), p.E2E.mean(why("how long requests took")), p.Gap.mean(why("the time between tokens"))
	f.CacheHits = shareOf(p.Cached, p.Prompt, "")
	if _, ok := p.Cached.N(); !ok {
		f.CacheHits = shareOf(p.CacheHits, p.CacheQueries, why("how many tokens came from its cache"))
	} else if _, ok := p.Prompt.N(); !ok {
		f.CacheHits = Share{withheld: why("how many prompt tokens it took")}
	}
	f.Acceptance, f.Preempted = shareOf(p.Accepted, p.Drafted, why("of drafted tokens")), tallyOf(p.Preempted, why("how many requests it threw out of a batch"))
	f.Running, f.Waiting, f.KVPermille = p.Running, p.Waiting, p.KVPermille
	f.Device = l.deviceFigures(p.Device)
	return f
}

// decode is the rate of the tokens after the first. Where decode has no timer the times
// between tokens are one.
func (p EngineParts) decode(why string) (r Rate, firstToo bool) {
	if _, ok := p.Decode.Sum.D(); !ok {
		return overTime(p.Gap.N, p.Gap.Sum, why), false
	}
	out, okOut := p.Output.N()
	n, okN := p.Decode.N.N()
	switch {
	case !okOut:
		return Rate{withheld: why}, false
	case !okN:
		return overTime(p.Output, p.Decode.Sum, why), true
	case n > out:
		return Rate{withheld: fmt.Sprintf("the engine counts %d answers and %d tokens", n, out)}, false
	}
	return overTime(gates.CountOf(out-n), p.Decode.Sum, why), false
}

func overTime(tokens gates.Count, sum gates.Span, why string) Rate {
	n, okN := tokens.N()
	d, okD := sum.D()
	switch {
	case !okN || !okD:
		return Rate{withheld: why}
	case n == 0 || d == 0:
		return Rate{withheld: fmt.Sprintf("%d tokens in %v", n, d)}
	}
	return Rate{perSecond: float64(n) / d.Seconds()}
}

// deviceFigures works out power and energy. A token of a level that is void, or that nobody
// counted, has no energy.
func (l Level) deviceFigures(d DeviceParts) DeviceFigures {
	why := d.Lost
	switch {
	case len(l.void) > 0:
		d, why = DeviceParts{}, "the level is void: "+l.void[0]
	case why == "":
		why = "nobody looked at the accelerators' power"
		if d.By != "" {
			why = d.By + " does not tell"
		}
	}
	f := DeviceFigures{By: d.By, Devices: d.Devices, Watts: Quantity{withheld: why}, MaxWatts: Quantity{withheld: why}, JoulesPerToken: Quantity{withheld: why}, MemoryBytes: tallyOf(d.MemoryBytes, why)}
	if d.NoMemory != "" {
		f.MemoryBytes = Tally{withheld: d.NoMemory}
	}
	if d.Milliwatts.N > 0 {
		f.MaxWatts = Quantity{v: float64(d.Milliwatts.Max) / 1000}
	}
	energy, okE := d.Millijoules.N()
	took, okT := d.For.D()
	if !okE || !okT || took < time.Second/10 {
		return f
	}
	f.Watts = Quantity{v: float64(energy) / 1000 / took.Seconds()}
	tokens := 0
	for _, s := range l.samples {
		tokens += s.OutputTokens
	}
	switch {
	case l.noRates != "":
		f.JoulesPerToken = Quantity{withheld: l.noRates}
	case tokens == 0:
		f.JoulesPerToken = Quantity{withheld: "no token was made"}
	default:
		f.JoulesPerToken = Quantity{v: float64(energy) / 1000 / float64(tokens)}
	}
	return f
}
