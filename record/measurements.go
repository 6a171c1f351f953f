package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"infbench/arrival"
	"infbench/gates"
)

// TokenSource says who counted the tokens. Counts of different sources are never
// mixed in one comparison.
type TokenSource string

// The sources, best first. Chunks are not tokens: they carry no rate.
const (
	EngineUsage     TokenSource = "engine usage"
	ClientTokenizer TokenSource = "client tokenizer"
	ChunkCount      TokenSource = "chunks, not tokens"
)

// Workload says what was sent.
type Workload struct {
	// Name and Seed make the prompts again.
	Name string `json:"name"`
	Seed string `json:"seed"`
	// PromptTokens and OutputTokens are what was aimed at.
	PromptTokens int `json:"prompt_tokens"`
	OutputTokens int `json:"output_tokens"`
	// ForcedLength says that the engine was made to emit exactly OutputTokens; the
	// text is then meaningless and nothing about correctness is read from it.
	ForcedLength bool `json:"forced_length"`
	// CacheIntent says how prompts stood to the prefix cache, such as "cold by nonce".
	CacheIntent string `json:"cache_intent"`
	// TokenSource says who counted, TokenizedBy which tokenizer if it was ours.
	TokenSource TokenSource `json:"token_source"`
	TokenizedBy string      `json:"tokenized_by,omitempty"`
	// Client describes the machine that measured: processor count, versions.
	Client string `json:"client"`
	// Caveats are what a reader of the figures must know, in words.
	Caveats []string `json:"caveats,omitempty"`
}

// Measurements are the levels of one sweep and what was sent. On their own they
// have no mouth: see the package comment.
type Measurements struct {
	workload   Workload
	levels     []Level
	rungs      []Rung
	depthsLeft []string
	depthFit   DepthFit
	frozen     *Frozen
	objectives Objectives
}

// NewMeasurements returns the measurements; at least one level is needed.
func NewMeasurements(w Workload, levels []Level) (Measurements, error) {
	if len(levels) == 0 {
		return Measurements{}, errors.New("nothing was measured: there is no level")
	}
	for i, l := range levels {
		if !l.hasFigure {
			return Measurements{}, fmt.Errorf("level %d is empty", i)
		}
	}
	switch w.TokenSource {
	case EngineUsage, ClientTokenizer, ChunkCount:
	default:
		return Measurements{}, fmt.Errorf("unknown token source %.40q", string(w.TokenSource))
	}
	if w.Name == "" || w.CacheIntent == "" {
		return Measurements{}, errors.New("a workload has a name and an intended cache state")
	}
	for _, s := range []*string{&w.Name, &w.Seed, &w.CacheIntent, &w.TokenizedBy, &w.Client} {
		*s = gates.Printable(*s, 200)
	}
	w.Caveats = slices.Clone(w.Caveats)
	for i := range w.Caveats {
		w.Caveats[i] = gates.Printable(w.Caveats[i], 300)
	}
	return Measurements{workload: w, levels: slices.Clone(levels)}, nil
}

// IsZero reports whether nothing was measured.
func (m Measurements) IsZero() bool { return len(m.levels) == 0 }

// Arrival returns the sweep of the levels' arrival models, or the one model.
func (m Measurements) Arrival() (arrival.ArrivalModel, error) {
	var models []arrival.ArrivalModel
	for _, l := range m.levels {
		models = append(models, l.arrival)
	}
	if len(models) == 1 {
		return models[0], nil
	}
	return arrival.Sweep(models...)
}

// MarshalJSON always refuses: only a [PerfRecord] writes measurements.
func (m Measurements) MarshalJSON() ([]byte, error) {
	return nil, &UngatedResultError{Reason: "measurements are written by a performance record only"}
}

// Format prints the same words for every verb, so that no number slips out.
func (m Measurements) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, ungatedWords) }

const ungatedWords = "measurements (ungated)"

// MarshalJSON always refuses, like that of [Measurements].
func (l Level) MarshalJSON() ([]byte, error) {
	return nil, &UngatedResultError{Reason: "a level is written by a performance record only"}
}

// Format prints the same words for every verb.
func (l Level) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "level (ungated)") }

type measurementsWire struct {
	Workload Workload          `json:"workload"`
	Levels   []json.RawMessage `json:"levels"`
	Ladder   *ladderWire       `json:"ladder,omitempty"`
	Frozen   *Frozen           `json:"frozen,omitempty"`
	Service  json.RawMessage   `json:"service,omitempty"`
}

func (m Measurements) encode() (json.RawMessage, error) {
	w := measurementsWire{Workload: m.workload, Frozen: m.frozen}
	for _, l := range m.levels {
		raw, err := l.encode()
		if err != nil {
			return nil, err
		}
		w.Levels = append(w.Levels, raw)
	}
	var err error
	if w.Ladder, err = m.encodeLadder(); err != nil {
		return nil, err
	}
	if w.Service, err = m.encodeService(); err != nil {
		return nil, err
	}
	return json.Marshal(w)
}

func decodeMeasurements(raw json.RawMessage) (Measurements, error) {
	var w measurementsWire
	if err := json.Unmarshal(raw, &w); err != nil {
		return Measurements{}, err
	}
	var levels []Level
	for i, r := range w.Levels {
		l, err := decodeLevel(r)
		if err != nil {
			return Measurements{}, fmt.Errorf("level %d: %w", i, err)
		}
		levels = append(levels, l)
	}
	m, err := NewMeasurements(w.Workload, levels)
	if err != nil {
		return m, err
	}
	if m, err = m.decodeLadder(w.Ladder); err != nil {
		return m, err
	}
	if m, err = m.decodeService(w.Service); err != nil || w.Frozen == nil {
		return m, err
	}
	return m.WithFrozen(*w.Frozen)
}
