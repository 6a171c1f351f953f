package record

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"infbench/arrival"
	"infbench/gates"
)

// UngatedResultError refuses a performance number that no satisfied gate set about
// the same subject vouches for.
type UngatedResultError struct {
	Reason string
	cause  error
}

// Error says that the number was refused, and why.
func (e *UngatedResultError) Error() string { return "ungated result refused: " + e.Reason }

// Unwrap returns the gates' own reasons, a [*gates.UnsatisfiedError], where there are any.
func (e *UngatedResultError) Unwrap() error { return e.cause }

// UnmodelledArrivalError refuses a performance number of which it is not known how
// the load arrived.
type UnmodelledArrivalError struct{ Reason string }

// Error says that the number was refused, and why.
func (e *UnmodelledArrivalError) Error() string {
	return "no arrival model, result refused: " + e.Reason
}

// PerfRecord holds numbers together with what makes them numbers: who was
// measured, the gates that passed, and how the load arrived. The zero PerfRecord is
// nothing: it does not marshal and gives no figure.
type PerfRecord struct {
	identity Identity
	gates    gates.GateSet
	arrival  arrival.ArrivalModel
	measured Measurements
}

// NewPerfRecord is the only way to make a PerfRecord; decoding goes through it too.
// It returns an [*UngatedResultError] when the gates are not satisfied, are about
// another subject or leave out one of the stages 0 to 3 (skipped is not left out), and an [*UnmodelledArrivalError] when the arrival model is
// missing or is not the one by which the levels were driven.
func NewPerfRecord(id Identity, g gates.GateSet, a arrival.ArrivalModel, m Measurements) (PerfRecord, error) {
	switch {
	case !g.Satisfied():
		return PerfRecord{}, &UngatedResultError{Reason: "the gate set proves nothing"}
	case id.IsZero():
		return PerfRecord{}, &UngatedResultError{Reason: "the numbers are about nothing: the identity is empty"}
	case g.Subject() != id.Subject():
		return PerfRecord{}, &UngatedResultError{Reason: "the gates are about another subject: " + g.Subject().Difference(id.Subject())}
	case a.IsZero():
		return PerfRecord{}, &UnmodelledArrivalError{Reason: "the record has none"}
	case m.IsZero():
		return PerfRecord{}, fmt.Errorf("a performance record without a measurement")
	}
	for _, s := range []gates.Stage{gates.Static, gates.Hardware, gates.Smoke, gates.Correctness} {
		// Skipped is a caveat of the numbers; never asked about is a hole in their proof.
		if g.Ledger().Of(s).IsZero() {
			return PerfRecord{}, &UngatedResultError{Reason: fmt.Sprintf("the gates do not account for stage %d (%s)", s, s)}
		}
	}
	levels := a.Levels()
	if len(levels) != len(m.levels) {
		return PerfRecord{}, &UnmodelledArrivalError{Reason: fmt.Sprintf("the model has %d levels, %d were measured", len(levels), len(m.levels))}
	}
	for i, l := range m.levels {
		if !l.arrival.Equal(levels[i]) {
			return PerfRecord{}, &UnmodelledArrivalError{Reason: fmt.Sprintf("level %d was driven by %s, the model says %s", i, l.arrival, levels[i])}
		}
	}
	return PerfRecord{id, g, a, m}, nil
}

// IsZero reports whether the record is nothing.
func (p PerfRecord) IsZero() bool { return !p.gates.Satisfied() }

// Identity returns who was measured.
func (p PerfRecord) Identity() Identity { return p.identity }

// Gates returns the proof that the numbers stand on.
func (p PerfRecord) Gates() gates.GateSet { return p.gates }

// Arrival returns how the load arrived.
func (p PerfRecord) Arrival() arrival.ArrivalModel { return p.arrival }

// Definitions names the formulas by which the figures follow from the samples: figures of
// different ones are never compared.
func (p PerfRecord) Definitions() string {
	for _, l := range p.measured.levels {
		return l.form.definitions
	}
	return ""
}

// Workload returns what was sent.
func (p PerfRecord) Workload() Workload { return p.measured.workload }

// Measured is one level of a record with its figures.
type Measured struct {
	Arrival arrival.ArrivalModel
	Void    []string
	Figures Figures
	// Engine is the engine's own account of the level.
	Engine EngineFigures
	// Calibrations are the client's own error before and beside the level; there are none in
	// records of before.
	Calibrations []Calibration
	// Warmup says by what rule the warm-up was told.
	Warmup string
	// Gaps says how the requests really came.
	Gaps arrival.GapStatistics
}

// Levels returns the levels with their figures, in the order of the sweep.
func (p PerfRecord) Levels() []Measured {
	var out []Measured
	for _, l := range p.measured.levels {
		out = append(out, Measured{l.arrival, slices.Clone(l.void), l.figures, l.engineFigures(p.measured.workload.TokenSource), slices.Clone(l.calibrations), l.conduct.Warmup, l.gaps()})
	}
	return out
}

// Caveats returns what a reader must know beside the numbers: those of the gates,
// of the workload and of each void level.
func (p PerfRecord) Caveats() []string {
	out := append(p.gates.Caveats(), p.measured.workload.Caveats...)
	for _, l := range p.measured.levels {
		for _, v := range l.void {
			out = append(out, fmt.Sprintf("the figures of %s are void: %s", l.arrival, v))
		}
	}
	return out
}

type perfWire struct {
	Schema       string          `json:"schema"`
	Identity     json.RawMessage `json:"identity"`
	Gates        json.RawMessage `json:"gates"`
	Arrival      json.RawMessage `json:"arrival"`
	Measurements json.RawMessage `json:"measurements"`
}

const perfSchema = "infbench.perf/v1"

// MarshalJSON refuses the zero record with an [*UngatedResultError].
func (p PerfRecord) MarshalJSON() ([]byte, error) {
	if p.IsZero() {
		return nil, &UngatedResultError{Reason: "the record is empty"}
	}
	w := perfWire{Schema: perfSchema}
	var err error
	for _, part := range []struct {
		from json.Marshaler
		to   *json.RawMessage
	}{{p.identity, &w.Identity}, {p.gates, &w.Gates}, {p.arrival, &w.Arrival}} {
		if *part.to, err = part.from.MarshalJSON(); err != nil {
			return nil, err
		}
	}
	if w.Measurements, err = p.measured.encode(); err != nil {
		return nil, err
	}
	return json.Marshal(w)
}

// UnmarshalJSON proves the gates again and goes through [NewPerfRecord]; on error
// the record is left as it was.
func (p *PerfRecord) UnmarshalJSON(b []byte) error {
	var w perfWire
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	if w.Schema != perfSchema {
		return fmt.Errorf("schema %.40q is not %s", w.Schema, perfSchema)
	}
	var g gates.GateSet
	if len(w.Gates) > 0 && string(w.Gates) != "null" {
		if err := json.Unmarshal(w.Gates, &g); err != nil {
			return &UngatedResultError{Reason: err.Error(), cause: err}
		}
	}
	var id Identity
	if len(w.Identity) > 0 {
		if err := json.Unmarshal(w.Identity, &id); err != nil {
			return fmt.Errorf("identity: %w", err)
		}
	}
	out, err := assemble(id, g, w.Arrival, w.Measurements)
	if err != nil {
		return err
	}
	*p = out
	return nil
}

// assemble decodes arrival and measurements behind gates that are proven already.
func assemble(id Identity, g gates.GateSet, rawArrival, rawMeasured json.RawMessage) (PerfRecord, error) {
	if !g.Satisfied() {
		return PerfRecord{}, &UngatedResultError{Reason: "the gate set proves nothing"}
	}
	var a arrival.ArrivalModel
	if len(rawArrival) > 0 && string(rawArrival) != "null" {
		if err := json.Unmarshal(rawArrival, &a); err != nil {
			return PerfRecord{}, &UnmodelledArrivalError{Reason: err.Error()}
		}
	}
	if a.IsZero() {
		return PerfRecord{}, &UnmodelledArrivalError{Reason: "the record has none"}
	}
	m, err := decodeMeasurements(rawMeasured)
	if err != nil {
		return PerfRecord{}, fmt.Errorf("measurements: %w", err)
	}
	return NewPerfRecord(id, g, a, m)
}

// gaps says how the requests of a level really came, in the order in which they were sent.
func (l Level) gaps() arrival.GapStatistics {
	var sent []time.Duration
	for _, s := range l.samples {
		sent = append(sent, s.Sent)
	}
	slices.Sort(sent)
	return arrival.GapsOf(sent)
}
