package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"infbench/record"
)

// tierTable is one [[performance.tier]]: a name and limits, or the name of a built-in tier
// alone.
type tierTable struct {
	Name   string `toml:"name"`
	TTFT   string `toml:"ttft"`
	TPOT   string `toml:"tpot"`
	MaxGap string `toml:"max_gap"`
}

// tiersOf reads the tables of tiers.
func tiersOf(tables []tierTable) ([]record.Tier, error) {
	if len(tables) > record.MaxTiers {
		return nil, fmt.Errorf("performance.tier: %d of them, want at most %d", len(tables), record.MaxTiers)
	}
	var out []record.Tier
	for _, t := range tables {
		tier, err := t.tier()
		if err != nil {
			return nil, fmt.Errorf("performance.tier: %w", err)
		}
		for _, o := range out {
			if o.Name() == tier.Name() {
				return nil, fmt.Errorf("performance.tier: %s stands twice", tier.Name())
			}
		}
		out = append(out, tier)
	}
	return out, nil
}

func (t tierTable) tier() (record.Tier, error) {
	if t.Name == "" {
		return record.Tier{}, errors.New("a tier has no name")
	}
	if t.TTFT == "" && t.TPOT == "" && t.MaxGap == "" {
		tier, ok := record.NamedTier(t.Name)
		if !ok {
			return record.Tier{}, fmt.Errorf("%.60q has no limits, and is none of %s; give ttft and tpot, such as \"1s\" and \"25ms\"", t.Name, strings.Join(record.TierNames(), ", "))
		}
		return tier, nil
	}
	var ttft, tpot, gap time.Duration
	for _, d := range []struct {
		key, text string
		to        *time.Duration
		optional  bool
	}{{"ttft", t.TTFT, &ttft, false}, {"tpot", t.TPOT, &tpot, false}, {"max_gap", t.MaxGap, &gap, true}} {
		if d.text == "" && d.optional {
			continue
		}
		v, err := time.ParseDuration(d.text)
		if err != nil || v <= 0 {
			return record.Tier{}, fmt.Errorf("%.60q: %s = %.40q is no duration such as \"1s\" or \"25ms\"", t.Name, d.key, d.text)
		}
		*d.to = v
	}
	return record.NewTier(t.Name, ttft, tpot, gap)
}
