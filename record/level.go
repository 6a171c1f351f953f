package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"infbench/arrival"
	"infbench/gates"
)

// definitions names the formulas by which figures follow from samples. It changes
// when a formula does; figures of other definitions are never compared.
const definitions = "infbench.figures/v2"

// firstFigures are the figures of the first version; the formulas of those have not changed.
const firstDefinitions = "infbench.figures/v1"

var firstFigures = []string{
	"issued", "good", "warmup", "failed", "ttft", "ttfo", "tpot", "itl", "chunk_gap", "e2e", "dispatch_lag", "prefill_nominal", "prefill_computed", "decode", "emitted",
	"in_flight_mean", "in_flight_p99", "in_flight_peak", "prompt_tokens_p50", "output_tokens_p50", "cached_tokens_p50", "fresh_connections", "coalesced_reads",
}

// LevelParts is what a [Level] is made of.
type LevelParts struct {
	// Arrival is the model that started the requests.
	Arrival arrival.ArrivalModel
	// Window runs from the level's origin to the end of its last request, From is where its
	// warm-up has ended.
	Window, From time.Duration
	// Samples holds every request that was started, warm-up and failures included.
	Samples []Sample
	// ChunkGaps are the times between reads that carried text, of all good samples.
	ChunkGaps []time.Duration
	// ChunkGapsWithheld says why they are not to be believed.
	ChunkGapsWithheld string
	// TokenGaps are the times between tokens, token-weighted; nil when the tokens of
	// a chunk are not known, with the reason in TokenGapsWithheld.
	TokenGaps         []time.Duration
	TokenGapsWithheld string
	// SteadyTokens tokens arrived in the SteadyFor that lies between ramp-up and
	// drain.
	SteadyTokens int
	SteadyFor    time.Duration
	// RatesWithheld says why no rate may be made, such as tokens that were not counted.
	RatesWithheld string
	// Void lists why the level's figures must not be used at all.
	Void []string
	// Warmup says by what rule the samples of the warm-up were told.
	Warmup string
	// Saturated says why the load was more than the server can take: what was measured then
	// depends on how long it was waited, so that there is no figure, and no fault either.
	Saturated string
	// Growing says that prompts grow from request to request, and times with them.
	Growing bool
	// Mixed says why requests of several kinds share the level, which then has no figures of its
	// own: see [Frozen].
	Mixed string
	// Calibrations are the client's own error before and beside the level.
	Calibrations []Calibration
	// Engine is the engine's own account of the window; the zero one is none.
	Engine EngineWindow
}

// Level is one load point of a sweep. Its figures are a pure function of what it
// is made of; only a [PerfRecord] gives them away. The zero Level is nothing.
type Level struct {
	arrival   arrival.ArrivalModel
	window    time.Duration
	samples   []Sample
	chunkGap  Distribution
	tokenGap  Distribution
	steady    steady
	noRates   string
	void      []string
	conduct   conduct
	figures   Figures
	hasFigure bool
	form      form
	engine    EngineWindow

	calibrations []Calibration
}

// form is the version in which a level is written: one that was read is written again as it
// was, since the digest of its line is about that.
type form struct {
	columns     []string
	definitions string
}

var currentForm = form{sampleColumns(), definitions}

// conduct is how a level was run, as far as its figures hang on it.
type conduct struct {
	FromNS    int64  `json:"measured_from_ns,omitempty"`
	Warmup    string `json:"warmup_rule,omitempty"`
	Saturated string `json:"saturated,omitempty"`
	Growing   bool   `json:"prompts_grow,omitempty"`
	Mixed     string `json:"mixed,omitempty"`
}

type steady struct {
	Tokens int   `json:"tokens"`
	ForNS  int64 `json:"for_ns"`
}

// NewLevel checks the parts and returns the level.
func NewLevel(p LevelParts) (Level, error) {
	l := Level{
		arrival: p.Arrival, window: p.Window, samples: slices.Clone(p.Samples), noRates: p.RatesWithheld, void: slices.Clone(p.Void),
		chunkGap: newDistribution(p.ChunkGaps, p.ChunkGapsWithheld),
		tokenGap: newDistribution(p.TokenGaps, p.TokenGapsWithheld),
		steady:   steady{p.SteadyTokens, int64(p.SteadyFor)},
		conduct:  conduct{int64(p.From), p.Warmup, p.Saturated, p.Growing, p.Mixed},
		form:     currentForm,
		engine:   p.Engine,

		calibrations: slices.Clone(p.Calibrations),
	}
	return l.settled()
}

// settled checks the level and works out its figures.
func (l Level) settled() (Level, error) {
	if l.arrival.IsZero() {
		return Level{}, &UnmodelledArrivalError{Reason: "a level has none"}
	}
	if len(l.arrival.Levels()) != 1 || l.arrival.Kind() == "sweep" {
		return Level{}, errors.New("a level has one arrival model, not a sweep")
	}
	if from := time.Duration(l.conduct.FromNS); from < 0 || from >= l.window && l.window > 0 {
		return Level{}, fmt.Errorf("a level of %v that is measured from %v on", l.window, from)
	}
	if l.window <= 0 || len(l.samples) == 0 {
		return Level{}, fmt.Errorf("a level of %d requests in %v", len(l.samples), l.window)
	}
	if len(l.calibrations) > 2 || slices.ContainsFunc(l.calibrations, Calibration.IsZero) {
		return Level{}, errors.New("a level is calibrated before it and beside it, and no more")
	}
	for i, s := range l.samples {
		if err := s.check(); err != nil {
			return Level{}, fmt.Errorf("sample %d: %w", i, err)
		}
	}
	l.figures = l.derive()
	l.hasFigure = true
	return l, nil
}

// Figures is what a level says. Every value knows why it is withheld, if it is.
type Figures struct {
	Issued, Good, Warmup int
	Failed               map[Outcome]int
	// TTFT counts from the due time in an open loop, from sending in a closed one.
	TTFT Distribution
	// TTFO is the time to the first token that is not reasoning, from sending.
	TTFO Distribution
	// TPOT is (last-first)/(n-1) per request.
	TPOT Distribution
	// ITL is the gap between tokens, ChunkGap the gap between reads with text.
	ITL, ChunkGap Distribution
	// E2E ends at the last generated token.
	E2E Distribution
	// DispatchLag is what the harness itself was late by.
	DispatchLag Distribution
	// PrefillNominal counts all prompt tokens, PrefillComputed those that were not cached.
	PrefillNominal, PrefillComputed Rate
	Decode                          DecodeRate
	// Emitted is the tokens received in the steady part of the window, all streams.
	Emitted                          Rate
	InFlightMean                     float64
	InFlightP99, InFlightPeak        int
	OutputTokens                     int         // median
	PromptTokens, CachedTokens       gates.Count // medians, absent where nobody counted
	FreshConnections, CoalescedReads int
	// Dialled is the time that opening connections took, of the requests that opened one.
	Dialled Distribution
	// TTFTTrust and TPOTTrust say whether the blocks of the level agree.
	TTFTTrust, TPOTTrust Trust
}

// minPerStream is the number of requests per stream below which a window has no
// steady part to speak of.
const minPerStream = 10

func (l Level) derive() Figures {
	f := Figures{Failed: map[Outcome]int{}, Issued: len(l.samples), ChunkGap: l.chunkGap, ITL: l.tokenGap}
	var good []Sample
	var lag []time.Duration
	for _, s := range l.samples {
		switch {
		case s.Warmup:
			f.Warmup++
		case s.Outcome == OK:
			good = append(good, s)
		default:
			f.Failed[s.Outcome]++
		}
		lag = append(lag, s.Sent-s.Due)
		f.CoalescedReads += s.Coalesced
		if s.Fresh {
			f.FreshConnections++
		}
	}
	f.Good = len(good)
	f.DispatchLag = newDistribution(lag, "")
	withheld := ""
	if len(l.void) > 0 {
		withheld = "the level is void: " + l.void[0]
	} else if l.conduct.Saturated != "" {
		withheld = "the load was more than the server can take: " + l.conduct.Saturated
	}
	if withheld == "" {
		withheld = l.conduct.Mixed
	}
	if withheld != "" {
		f.ChunkGap, f.ITL = newDistribution(nil, withheld), newDistribution(nil, withheld)
	}
	start := func(s Sample) time.Duration {
		if l.arrival.Open() {
			return s.Due
		}
		return s.Sent
	}
	f.TTFT = over(good, withheld, func(s Sample) (time.Duration, bool) { return s.First - start(s), true })
	f.TTFO = over(good, withheld, func(s Sample) (time.Duration, bool) { return s.FirstAnswer - s.Sent, s.FirstAnswer > 0 })
	f.E2E = over(good, withheld, func(s Sample) (time.Duration, bool) { return s.Last - start(s), true })
	noRates := l.noRates
	if withheld != "" {
		noRates = withheld
	}
	f.TPOT = over(good, noRates, tpot)
	f.InFlightMean, f.InFlightP99, f.InFlightPeak = inFlight(l.samples, time.Duration(l.conduct.FromNS), l.window)
	f.Dialled = over(l.samples, "", func(s Sample) (time.Duration, bool) { return s.Dialled, s.Dialled > 0 })
	l.trust(&f, good, withheld, noRates, start)
	if slices.ContainsFunc(good, func(s Sample) bool { _, ok := s.PromptTokens.N(); return ok }) {
		f.PromptTokens = gates.CountOf(medianCount(good, func(s Sample) (int, bool) { return s.PromptTokens.N() }))
	}
	f.OutputTokens = medianCount(good, func(s Sample) (int, bool) { return s.OutputTokens, true })
	if slices.ContainsFunc(good, func(s Sample) bool { _, ok := s.CachedTokens.N(); return ok }) {
		f.CachedTokens = gates.CountOf(medianCount(good, func(s Sample) (int, bool) { return s.CachedTokens.N() }))
	}
	l.prefill(&f, good, noRates)
	f.Decode = decodeRate(good, f, noRates)
	f.Emitted = l.emitted(f, noRates)
	return f
}

func tpot(s Sample) (time.Duration, bool) {
	if s.OutputTokens < 2 {
		return 0, false
	}
	return (s.Last - s.First) / time.Duration(s.OutputTokens-1), true
}

func (l Level) trust(f *Figures, good []Sample, noTTFT, noTPOT string, start func(Sample) time.Duration) {
	ttft := func(s Sample) (time.Duration, bool) { return s.First - start(s), true }
	of := func(what, withheld string, value func(Sample) (time.Duration, bool), size func(Sample) int) Trust {
		if withheld != "" {
			return Trust{Why: withheld}
		}
		if l.conduct.Growing && l.arrival.Sessions() != 1 {
			return Trust{Why: "the prompts of the others grow too, and times with them"}
		}
		if l.conduct.Growing {
			value = levelled(good, value, size)
		}
		return trustOf(what, blocksOf(good, value), l.conduct.Growing)
	}
	f.TTFTTrust = of("TTFT", noTTFT, ttft, func(s Sample) int { return s.PromptTokens.Or(0) - s.CachedTokens.Or(0) })
	f.TPOTTrust = of("TPOT", noTPOT, tpot, func(s Sample) int { return s.PromptTokens.Or(0) })
}

// uncounted is why a figure that needs the prompt's length is withheld.
const uncounted = "nobody counted the prompt's tokens"

// known reports whether every sample has something.
func known(good []Sample, has func(Sample) bool) bool {
	return !slices.ContainsFunc(good, func(s Sample) bool { return !has(s) })
}

func over(good []Sample, withheld string, value func(Sample) (time.Duration, bool)) Distribution {
	var out []time.Duration
	for _, s := range good {
		if v, ok := value(s); ok {
			out = append(out, v)
		}
	}
	return newDistribution(out, withheld)
}

func medianCount(good []Sample, value func(Sample) (int, bool)) int {
	var out []int
	for _, s := range good {
		if v, ok := value(s); ok {
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		return 0
	}
	slices.Sort(out)
	return out[(len(out)+1)/2-1]
}

// prefill makes both prefill rates. With company in flight the time to the first
// token holds other people's decode steps, so there is no prefill rate then.
func (l Level) prefill(f *Figures, good []Sample, withheld string) {
	if withheld == "" && !known(good, func(s Sample) bool { _, ok := s.PromptTokens.N(); return ok }) {
		withheld = uncounted
	}
	if withheld == "" && f.InFlightPeak > 1 {
		withheld = "requests overlapped: only serial runs have a prefill rate"
	}
	var nominal, computed []float64
	for _, s := range good {
		d := (s.First - s.Sent).Seconds()
		if d <= 0 {
			continue
		}
		p, ok := s.PromptTokens.N()
		if !ok {
			continue
		}
		nominal = append(nominal, float64(p)/d)
		if c, ok := s.CachedTokens.N(); ok && c <= p {
			computed = append(computed, float64(p-c)/d)
		}
	}
	f.PrefillNominal = medianRate(nominal, withheld)
	if withheld == "" && len(computed) < len(nominal) {
		withheld = "cached tokens are not reported for every request"
	}
	f.PrefillComputed = medianRate(computed, withheld)
}

func decodeRate(good []Sample, f Figures, withheld string) DecodeRate {
	var rates []float64
	if withheld == "" && !known(good, func(s Sample) bool { _, ok := s.PromptTokens.N(); return ok }) {
		withheld = uncounted // a decode rate without its depth says little
	}
	depth := medianCount(good, func(s Sample) (int, bool) { p, ok := s.PromptTokens.N(); return p + s.OutputTokens/2, ok })
	for _, s := range good {
		if d := (s.Last - s.First).Seconds(); s.OutputTokens >= 2 && d > 0 {
			rates = append(rates, float64(s.OutputTokens-1)/d)
		}
	}
	return DecodeRate{medianRate(rates, withheld), depth, f.InFlightMean}
}

func (l Level) emitted(f Figures, withheld string) Rate {
	streams := max(1, f.InFlightPeak)
	switch {
	case withheld != "":
		return Rate{withheld: withheld}
	case f.Good < minPerStream*streams:
		return Rate{withheld: fmt.Sprintf("%d requests over %d streams: under %d each there is no steady window", f.Good, streams, minPerStream)}
	case l.steady.ForNS <= 0 || l.steady.Tokens <= 0:
		return Rate{withheld: "no steady window was seen"}
	}
	return Rate{perSecond: float64(l.steady.Tokens) / time.Duration(l.steady.ForNS).Seconds()}
}

// inFlight integrates the number of requests between sending and the end of the
// stream over the window from an instant on: half-open intervals, departures before arrivals at equal
// times, failed requests included while they are in flight. p99 is the level that
// is not exceeded for 99 % of the time.
func inFlight(samples []Sample, from, to time.Duration) (mean float64, p99, peak int) {
	window := to - from
	type edge struct {
		at   time.Duration
		step int
	}
	var edges []edge
	for _, s := range samples {
		if start := max(s.Sent, from); s.End > start {
			edges = append(edges, edge{start - from, 1}, edge{s.End - from, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int {
		if a.at != b.at {
			return int(max(-1, min(1, a.at-b.at)))
		}
		return a.step - b.step
	})
	at := make([]time.Duration, len(edges)+1)
	n := 0
	last := time.Duration(0)
	for _, e := range edges {
		at[n] += min(e.at, window) - min(last, window)
		last = e.at
		n += e.step
		peak = max(peak, n)
	}
	at[n] += max(0, window-last)
	var area, seen time.Duration
	p99 = -1
	for k, d := range at {
		area += d * time.Duration(k)
		if seen += d; p99 < 0 && seen*100 >= window*99 {
			p99 = k
		}
	}
	return float64(area) / float64(window), max(p99, 0), peak
}

type levelWire struct {
	Arrival  arrival.ArrivalModel `json:"arrival"`
	WindowNS int64                `json:"window_ns"`
	Void     []string             `json:"void,omitempty"`
	NoRates  string               `json:"rates_withheld,omitempty"`
	Steady   steady               `json:"steady"`
	conduct
	Columns  []string            `json:"sample_columns"`
	Samples  [][]json.RawMessage `json:"samples"`
	ChunkGap distributionWire    `json:"chunk_gap"`
	TokenGap distributionWire    `json:"itl"`
	Figures  json.RawMessage     `json:"figures"`
	Engine   json.RawMessage     `json:"engine,omitempty"`

	Calibrations []Calibration          `json:"calibrations,omitempty"`
	Gaps         *arrival.GapStatistics `json:"arrival_gaps,omitempty"`
}

type distributionWire struct {
	N   int          `json:"n"`
	P50 estimateWire `json:"p50"`
	P90 estimateWire `json:"p90"`
	P95 estimateWire `json:"p95"`
	P99 estimateWire `json:"p99"`
	Max estimateWire `json:"max"`
}

func (w distributionWire) distribution() (Distribution, error) {
	d := Distribution{n: w.N}
	for _, p := range []struct {
		from estimateWire
		to   *Estimate
	}{{w.P50, &d.p50}, {w.P90, &d.p90}, {w.P95, &d.p95}, {w.P99, &d.p99}, {w.Max, &d.max}} {
		switch {
		case p.from.NS != nil && p.from.Withheld == "" && *p.from.NS >= 0:
			p.to.value = time.Duration(*p.from.NS)
		case p.from.NS == nil && p.from.Withheld != "":
			p.to.withheld = p.from.Withheld
		default:
			return Distribution{}, errors.New("an estimate is either a value or withheld with a reason")
		}
	}
	return d, nil
}

func (l Level) encode() ([]byte, error) {
	figures, err := l.figures.encode(l.form.definitions)
	if err != nil {
		return nil, err
	}
	engine, err := l.engine.encode()
	if err != nil {
		return nil, err
	}
	type wire struct {
		levelWire
		Samples  [][]any `json:"samples"`
		ChunkGap any     `json:"chunk_gap"`
		TokenGap any     `json:"itl"`
	}
	w := wire{
		levelWire: levelWire{
			Arrival: l.arrival, WindowNS: int64(l.window), Void: l.void, NoRates: l.noRates, Steady: l.steady, conduct: l.conduct, Columns: l.form.columns, Figures: figures, Engine: engine,
			Calibrations: l.calibrations,
		},
		ChunkGap: l.chunkGap.wire(), TokenGap: l.tokenGap.wire(),
	}
	if l.form.definitions != firstDefinitions {
		gaps := l.gaps()
		w.Gaps = &gaps
	}
	for _, s := range l.samples {
		w.Samples = append(w.Samples, s.row(l.form.columns))
	}
	return json.Marshal(w)
}

func decodeLevel(raw []byte) (Level, error) {
	var w levelWire
	if err := json.Unmarshal(raw, &w); err != nil {
		return Level{}, err
	}
	read, err := rowReader(w.Columns)
	if err != nil {
		return Level{}, err
	}
	l := Level{arrival: w.Arrival, window: time.Duration(w.WindowNS), noRates: w.NoRates, void: w.Void, steady: w.Steady, conduct: w.conduct}
	for i, row := range w.Samples {
		s, err := read(row)
		if err != nil {
			return Level{}, fmt.Errorf("sample %d: %w", i, err)
		}
		l.samples = append(l.samples, s)
	}
	if l.chunkGap, err = w.ChunkGap.distribution(); err != nil {
		return Level{}, err
	}
	if l.tokenGap, err = w.TokenGap.distribution(); err != nil {
		return Level{}, err
	}
	l.calibrations = w.Calibrations
	if l.engine, err = decodeEngine(w.Engine); err != nil {
		return Level{}, err
	}
	if l, err = l.settled(); err != nil {
		return Level{}, err
	}
	// Figures stand in a file for other readers; here they are worked out again, and one
	// that does not follow from its samples is refused.
	var head struct {
		Definitions string `json:"definitions"`
	}
	if err := json.Unmarshal(w.Figures, &head); err != nil {
		return Level{}, errNotFollowing
	}
	l.form = form{w.Columns, head.Definitions}
	again, err := l.figures.encode(l.form.definitions)
	if err != nil {
		return Level{}, err
	}
	var was, is any
	if json.Unmarshal(w.Figures, &was) != nil || json.Unmarshal(again, &is) != nil || !reflect.DeepEqual(was, is) {
		return Level{}, errNotFollowing
	}
	return l, nil
}

// encode writes the figures as a version of the definitions has them.
func (f Figures) encode(version string) (json.RawMessage, error) {
	all, err := json.Marshal(f.wire())
	if err != nil || version == definitions {
		return all, err
	}
	if version != firstDefinitions {
		return nil, fmt.Errorf("figures of %.40q are not known", version)
	}
	var is map[string]json.RawMessage
	if err := json.Unmarshal(all, &is); err != nil {
		return nil, err
	}
	out := bytes.NewBufferString(`{"definitions":"` + firstDefinitions + `"`)
	for _, name := range firstFigures {
		fmt.Fprintf(out, ",%q:%s", name, is[name])
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

var errNotFollowing = errors.New("the figures do not follow from the samples")

func (f Figures) wire() any {
	return struct {
		Definitions      string          `json:"definitions"`
		Issued           int             `json:"issued"`
		Good             int             `json:"good"`
		Warmup           int             `json:"warmup"`
		Failed           map[Outcome]int `json:"failed"`
		TTFT             any             `json:"ttft"`
		TTFO             any             `json:"ttfo"`
		TPOT             any             `json:"tpot"`
		ITL              any             `json:"itl"`
		ChunkGap         any             `json:"chunk_gap"`
		E2E              any             `json:"e2e"`
		DispatchLag      any             `json:"dispatch_lag"`
		PrefillNominal   rateWire        `json:"prefill_nominal"`
		PrefillComputed  rateWire        `json:"prefill_computed"`
		Decode           any             `json:"decode"`
		Emitted          rateWire        `json:"emitted"`
		InFlightMean     float64         `json:"in_flight_mean"`
		InFlightP99      int             `json:"in_flight_p99"`
		InFlightPeak     int             `json:"in_flight_peak"`
		PromptTokens     gates.Count     `json:"prompt_tokens_p50"`
		OutputTokens     int             `json:"output_tokens_p50"`
		CachedTokens     gates.Count     `json:"cached_tokens_p50"`
		FreshConnections int             `json:"fresh_connections"`
		CoalescedReads   int             `json:"coalesced_reads"`
		Dialled          any             `json:"dialled"`
		TTFTTrust        Trust           `json:"ttft_trust"`
		TPOTTrust        Trust           `json:"tpot_trust"`
	}{
		definitions, f.Issued, f.Good, f.Warmup, f.Failed, f.TTFT.wire(), f.TTFO.wire(), f.TPOT.wire(), f.ITL.wire(), f.ChunkGap.wire(),
		f.E2E.wire(), f.DispatchLag.wire(), f.PrefillNominal.wire(), f.PrefillComputed.wire(), f.Decode.wire(), f.Emitted.wire(),
		f.InFlightMean, f.InFlightP99, f.InFlightPeak, f.PromptTokens, f.OutputTokens, f.CachedTokens, f.FreshConnections, f.CoalescedReads,
		f.Dialled.wire(), f.TTFTTrust, f.TPOTTrust,
	}
}
