package config

import (
	"fmt"

	"infbench/baseline"
)

// Baseline is a suite of one's own; the zero one leaves the choice to the standard.
type Baseline struct{ Suite baseline.Suite }

// baselineTable is [baseline] with its [[baseline.depth]].
type baselineTable struct {
	Name    string `toml:"name"`
	Seed    string `toml:"seed"`
	Repeats int    `toml:"repeats"`
	Depth   []struct {
		PromptTokens int `toml:"prompt_tokens"`
		MaxTokens    int `toml:"max_tokens"`
	} `toml:"depth"`
}

func (t baselineTable) parse() (Baseline, error) {
	if t.Name == "" && t.Seed == "" && t.Repeats == 0 && len(t.Depth) == 0 {
		return Baseline{}, nil
	}
	if t.Seed == "" {
		t.Seed = baseline.FrozenSeed
	}
	if t.Repeats == 0 {
		t.Repeats = baseline.StandardRepeats
	}
	var depths []baseline.Depth
	for _, d := range t.Depth {
		depths = append(depths, baseline.Depth{PromptTokens: d.PromptTokens, MaxTokens: d.MaxTokens})
	}
	s, err := baseline.NewSuite(t.Name, t.Seed, t.Repeats, depths...)
	if err != nil {
		return Baseline{}, fmt.Errorf("baseline: %w", err)
	}
	return Baseline{s}, nil
}
