package parity

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"infbench/gates"
)

// evidence returns what was seen, a line each: numbers, limits, and the worst positions
// with both lists. Prompts stand there by their hash.
func (c Comparison) evidence(claim Claim) []string {
	var out []string
	add := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	add("target %s, reference %s", c.Target(), c.Reference())
	if l := claim.limits(); len(c.silent) == 0 {
		name := claim.Precision.String()
		if claim.Precision.IsZero() {
			name = "the coarsest precision"
		}
		add("%s allows a mean divergence of %g, an error of %g, an agreement of %.0f %%: %s", name, l.divergence, l.deviation, 100*l.agreement, l.source)
	}
	if c.retold > 0 {
		add("asked for log probabilities, the target says something else in %d of %d prompts: asking changes what it computes", c.retold, c.prompts)
	}
	if c.long > 0 {
		add("the target does not keep to max_tokens in %d of %d prompts: the beginnings are compared", c.long, c.prompts)
	}
	for _, f := range c.worstPositions() {
		add("%s", f.says())
	}
	for _, d := range c.calls.differing[:min(4, len(c.calls.differing))] {
		add("prompt %s with tools: %s", d.id, d.what)
	}
	return out
}

func or(s, absent string) string {
	if s == "" {
		return absent
	}
	return s
}

// worstPositions are where the two part most widely, and where they diverge most.
func (c Comparison) worstPositions() []finding {
	const each = 2
	out := slices.Clone(c.differing[:min(each, len(c.differing))])
	for _, f := range c.widest[:min(each, len(c.widest))] {
		if f.divergence > 0 && !slices.ContainsFunc(out, func(o finding) bool { return o.id == f.id && o.at == f.at }) {
			out = append(out, f)
		}
	}
	return out
}

func (f finding) says() string {
	return fmt.Sprintf("prompt %s (%s), token %d, divergence %.2g: target %s; reference %s", f.id, f.kind, f.at, f.divergence, f.target.says(), f.reference.says())
}

// says shows the chosen token and the likeliest beside it.
func (p position) says() string {
	const shown = 3
	chosen := gates.Quote(p.name, 16)
	if p.end {
		chosen = "the end"
	}
	var others []string
	for _, t := range p.top {
		if t.name != p.name && len(others) < shown {
			others = append(others, fmt.Sprintf("%s %.2f", gates.Quote(t.name, 16), t.logprob))
		}
	}
	if len(others) == 0 {
		return fmt.Sprintf("%s %.2f", chosen, p.logprob)
	}
	return fmt.Sprintf("%s %.2f before %s", chosen, p.logprob, strings.Join(others, ", "))
}

// A Figure is one number of a comparison, in words.
type Figure struct{ Name, Value string }

// Figures returns the numbers as a person reads them.
func (c Comparison) Figures() []Figure {
	share := func(i interval) string {
		return fmt.Sprintf("%.1f %% (%.1f to %.1f)", 100*i.mean, 100*i.low, 100*i.high)
	}
	out := []Figure{{"equal texts", fmt.Sprintf("%d of %d, half of them share %.0f %% or more from the start", c.equalTexts, c.prompts, 100*median(c.prefixes))}}
	if c.long > 0 {
		out = append(out, Figure{"max_tokens", fmt.Sprintf("not kept to by the target in %d of %d answers: the beginnings are compared", c.long, c.prompts)})
	}
	if len(c.silent) > 0 {
		return append(out,
			Figure{"agreement by text", share(c.byText) + ", a guess from where the texts part"},
			Figure{"log probabilities", "not reported by " + strings.Join(c.silent, " and ")},
			Figure{"tool calls", c.callFigures()})
	}
	return append(out,
		Figure{"positions", fmt.Sprintf("%d, up to and including the first difference of each of %d prompts", c.positions, c.prompts)},
		Figure{"same likeliest token", share(c.agreement)},
		Figure{"divergence", fmt.Sprintf("mean %.3g nats (%.2g to %.2g), median %.2g, largest %.2g: at least, by the listed tokens", c.divergence.mean, c.divergence.low, c.divergence.high, c.middle, c.worst)},
		Figure{"error, chosen token", fmt.Sprintf("mean %.3g nats (%.2g to %.2g), largest %.2g", c.chosen.mean, c.chosen.low, c.chosen.high, c.chosenMax)},
		Figure{"error, all listed", fmt.Sprintf("mean %.3g nats, largest %.2g, over %d", c.listed, c.listedMax, c.listedN)},
		Figure{"listed by both", fmt.Sprintf("%.1f %%", 100*c.overlap)},
		Figure{"implausible to both", fmt.Sprintf("%d of %d differences", c.gross(), len(c.differing))},
		Figure{"tool calls", c.callFigures()})
}

func (c Comparison) callFigures() string {
	if v := c.calls.verdict(); v.status == 0 {
		return "not compared: " + v.summary
	}
	return c.calls.Figures()
}

// comparisonWire is the written form. What was not measured is null.
type comparisonWire struct {
	Prompts             int           `json:"prompts"`
	OtherPromptTokens   int           `json:"prompts_of_other_length"`
	EqualTexts          int           `json:"equal_texts"`
	AgreementByText     *intervalWire `json:"agreement_by_text"`
	Positions           int           `json:"positions"`
	Agreement           *intervalWire `json:"agreement"`
	Divergence          *intervalWire `json:"divergence_nats"`
	DivergenceMedian    *float64      `json:"divergence_median_nats"`
	DivergenceMax       *float64      `json:"divergence_max_nats"`
	ChosenError         *intervalWire `json:"chosen_error_nats"`
	ChosenErrorMax      *float64      `json:"chosen_error_max_nats"`
	ListedError         *float64      `json:"listed_error_nats"`
	ListedErrorMax      *float64      `json:"listed_error_max_nats"`
	ListedByBoth        *float64      `json:"listed_by_both"`
	Implausible         int           `json:"implausible_differences"`
	Differences         int           `json:"differences"`
	WithoutLogprobs     []string      `json:"without_logprobs"`
	ChangedByAsking     int           `json:"changed_by_asking_for_logprobs"`
	LongerThanAsked     int           `json:"longer_than_asked"`
	Measured            []string      `json:"measures_like"`
	Calls               *callsWire    `json:"calls"`
	CallsNotComparedFor string        `json:"calls_not_compared,omitempty"`
}

type intervalWire struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low_95"`
	High float64 `json:"high_95"`
}

type callsWire struct {
	Asked           int     `json:"asked"`
	F1              float64 `json:"trigger_f1"`
	SelfF1          float64 `json:"reference_f1_against_itself"`
	Called          int     `json:"called"`
	Valid           int     `json:"valid"`
	AsWanted        int     `json:"as_wanted"`
	ReferenceCalled int     `json:"reference_called"`
	ReferenceValid  int     `json:"reference_valid"`
	ReferenceWanted int     `json:"reference_as_wanted"`
}

// MarshalJSON writes the comparison.
func (c Comparison) MarshalJSON() ([]byte, error) {
	w := comparisonWire{
		Prompts: c.prompts, OtherPromptTokens: len(c.templates), EqualTexts: c.equalTexts, Positions: c.positions, Implausible: c.gross(),
		Differences: len(c.differing), WithoutLogprobs: append([]string{}, c.silent...), ChangedByAsking: c.retold, LongerThanAsked: c.long,
	}
	if c.byText != (interval{}) {
		w.AgreementByText = c.byText.wire()
	}
	if c.positions > 0 {
		w.Agreement, w.Divergence, w.ChosenError = c.agreement.wire(), c.divergence.wire(), c.chosen.wire()
		w.DivergenceMedian, w.DivergenceMax, w.ChosenErrorMax = finite(c.middle), finite(c.worst), finite(c.chosenMax)
		w.ListedError, w.ListedErrorMax, w.ListedByBoth = finite(c.listed), finite(c.listedMax), finite(c.overlap)
	}
	if p, ok := c.Measured(); ok {
		w.Measured = p.names()
	}
	if v := c.calls.verdict(); v.status == 0 {
		w.CallsNotComparedFor = v.summary
	} else {
		k := c.calls
		w.Calls = &callsWire{k.asked, k.f1, k.selfF1, k.target.calls, k.target.valid, k.target.asWanted, k.reference.calls, k.reference.valid, k.reference.asWanted}
	}
	return json.Marshal(w)
}

func (i interval) wire() *intervalWire { return &intervalWire{i.mean, i.low, i.high} }

// finite returns nil for what JSON has no number for.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// Target returns which engine was compared.
func (c Comparison) Target() string { return or(c.target, "not known") }

// Reference returns which engine it was compared with.
func (c Comparison) Reference() string { return or(c.reference, "not known") }
