package app

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"infbench/record"
)

func tierFlag() cli.Flag {
	return &cli.StringSliceFlag{
		Name: "tier", DefaultText: "those of the file, else good and average",
		Usage: "`NAME` of what every request is held to; may be repeated: one of the file, or " + strings.Join(record.TierNames(), ", ") + " (docs/INTERACTIVITY.md)",
	}
}

// loadTiers takes the tiers that are named out of the file's and the built-in ones.
func (s *settings) loadTiers(ctx *cli.Context) error {
	own := s.Performance.Tiers
	s.workload.Tiers = own
	if len(own) == 0 {
		s.workload.Tiers = record.DefaultTiers()
	}
	if !ctx.IsSet("tier") {
		return nil
	}
	s.workload.Tiers = nil
	for _, name := range separated(ctx.StringSlice("tier")) {
		t, ok := record.NamedTier(name)
		if i := named(own, name); i >= 0 {
			t, ok = own[i], true
		}
		switch {
		case !ok:
			known := record.TierNames()
			for _, o := range own {
				known = append(known, o.Name())
			}
			return usagef("--tier %.60q: want one of %s", name, strings.Join(known, ", "))
		case named(s.workload.Tiers, name) >= 0:
			return usagef("--tier %s is given twice", name)
		}
		s.workload.Tiers = append(s.workload.Tiers, t)
	}
	if len(s.workload.Tiers) > record.MaxTiers {
		return usagef("--tier: %d of them, want at most %d", len(s.workload.Tiers), record.MaxTiers)
	}
	return nil
}

func named(tiers []record.Tier, name string) int {
	return slices.IndexFunc(tiers, func(t record.Tier) bool { return t.Name() == name })
}
