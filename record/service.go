package record

import (
	"errors"
	"fmt"
	"slices"
)

// Objectives are what a measurement is held to, declared before it is made.
type Objectives struct {
	Tiers []Tier
	// Codes says that the model gives codes back, alone, from prompts of the same shape: an
	// answer without the code that it was asked for is then wrong.
	Codes bool
}

// MaxTiers bounds the tiers of a record.
const MaxTiers = 16

func (o Objectives) check() error {
	if len(o.Tiers) > MaxTiers {
		return fmt.Errorf("%d tiers: want at most %d", len(o.Tiers), MaxTiers)
	}
	for i, t := range o.Tiers {
		if t.IsZero() {
			return errors.New("a tier is empty")
		}
		if slices.ContainsFunc(o.Tiers[:i], func(x Tier) bool { return x.name == t.name }) {
			return fmt.Errorf("the tier %s stands twice", t.name)
		}
	}
	return nil
}

// HeldTo returns the measurements with what they are held to.
func (m Measurements) HeldTo(o Objectives) (Measurements, error) {
	if m.IsZero() {
		return Measurements{}, errors.New("nothing was measured that could be held to a tier")
	}
	if err := o.check(); err != nil {
		return Measurements{}, err
	}
	m.objectives = Objectives{slices.Clone(o.Tiers), o.Codes}
	return m, nil
}

// Service is what one tier makes of a sweep: each level's standing, in the order of
// [PerfRecord.Levels], and the capacity in each family of loads.
type Service struct {
	Tier       Tier
	Levels     []Attainment
	Capacities []Capacity
}

// Objectives returns what the measurement was held to when it was made; a record of an
// earlier version has none.
func (p PerfRecord) Objectives() Objectives {
	return Objectives{slices.Clone(p.measured.objectives.Tiers), p.measured.objectives.Codes}
}

// Against holds the record to a tier, one of its [Objectives] or any other: samples tell.
func (p PerfRecord) Against(t Tier) Service { return p.measured.against(t) }

func (m Measurements) against(t Tier) Service {
	s := Service{Tier: t}
	if t.IsZero() {
		return s
	}
	for _, l := range m.levels {
		s.Levels = append(s.Levels, l.attainment(t, m.objectives.Codes))
	}
	s.Capacities = m.capacities(s.Levels)
	return s
}

// Interactivity returns how each level feels at its slow end, in the order of
// [PerfRecord.Levels].
func (p PerfRecord) Interactivity() []Interactivity {
	var out []Interactivity
	for _, l := range p.measured.levels {
		out = append(out, l.interactivity())
	}
	return out
}

// Contexts returns how deep each level was, in the order of [PerfRecord.Levels].
func (p PerfRecord) Contexts() []Context {
	var out []Context
	for _, l := range p.measured.levels {
		out = append(out, l.context())
	}
	return out
}
