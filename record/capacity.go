package record

import (
	"cmp"
	"slices"

	"infbench/arrival"
	"infbench/gates"
)

// Context is how deep requests were in their context, and how much of their prompts came
// from the prefix cache: a tier says nothing without both.
type Context struct {
	// DepthTokens is the median of prompt tokens plus half of the output tokens; absent where
	// nobody counted the prompts.
	DepthTokens gates.Count
	hits        float64
	hitsKnown   bool
}

// HitRate returns the share of the prompt tokens that came from the prefix cache; ok is
// false where the server does not tell for every request, which is not 0.
func (c Context) HitRate() (share float64, ok bool) { return c.hits, c.hitsKnown }

func (c Context) known() bool { _, ok := c.DepthTokens.N(); return ok }

func (l Level) context() Context {
	var depths []int
	prompts, cached := 0, 0
	c := Context{hitsKnown: true}
	for _, s := range l.samples {
		if s.Warmup || s.Outcome != OK {
			continue
		}
		p, counted := s.PromptTokens.N()
		if counted {
			depths = append(depths, p+s.OutputTokens/2)
		}
		n, told := s.CachedTokens.N()
		c.hitsKnown = c.hitsKnown && counted && told && n <= p
		prompts, cached = prompts+p, cached+n
	}
	if len(depths) > 0 {
		slices.Sort(depths)
		c.DepthTokens = gates.CountOf(depths[(len(depths)+1)/2-1])
	}
	if c.hitsKnown = c.hitsKnown && prompts > 0; c.hitsKnown {
		c.hits = float64(cached) / float64(prompts)
	}
	return c
}

// Capacity is how much load of one family a tier holds: the highest level that holds it and
// below which all do. Levels are named by their index in
// [PerfRecord.Levels].
type Capacity struct {
	// Family is the family of loads, Users says that they are sessions and not a rate.
	Family string
	Users  bool
	// Levels are those of the family, the least load first.
	Levels []int
	// Highest is the highest level that holds below which all hold, -1 where none does.
	Highest int
	// Stopped is the first level that does not hold, -1 where all do.
	Stopped int
	// Limited says that a level above the highest one fails: the capacity was found. Where it
	// was not, it is at least that of the highest level.
	Limited bool
	// Beyond are levels that hold although one below them fails: held against load, the
	// server is not monotone.
	Beyond []int
	// Context is that of the highest level; where none holds, of the first one that has any.
	Context Context
	// Withheld says why the capacity is not to be used, "" otherwise.
	Withheld string
}

// scale is the levels of one family.
type scale struct {
	load   arrival.Load
	levels []int
}

func (m Measurements) scales() []scale {
	var out []scale
	for i, l := range m.levels {
		load, ok := l.arrival.Load()
		if !ok {
			continue // a transient, or a load that no other can be more of
		}
		at := slices.IndexFunc(out, func(s scale) bool { return s.load.Family == load.Family && s.load.Users == load.Users })
		if at < 0 {
			at = len(out)
			out = append(out, scale{load: load})
		}
		out[at].levels = append(out[at].levels, i)
	}
	for _, s := range out {
		slices.SortStableFunc(s.levels, func(a, b int) int {
			x, _ := m.levels[a].arrival.Load()
			y, _ := m.levels[b].arrival.Load()
			return cmp.Compare(x.Amount, y.Amount)
		})
	}
	return out
}

// capacities returns the capacity of each scale, given how each level stands to a tier.
func (m Measurements) capacities(stands []Attainment) []Capacity {
	var out []Capacity
	for _, s := range m.scales() {
		c := climb(s.levels, func(i int) Standing { return stands[i].Standing })
		c.Family, c.Users = s.load.Family, s.load.Users
		at := s.levels
		if c.Highest >= 0 {
			at = []int{c.Highest}
		}
		for _, i := range at {
			if c.Context = m.levels[i].context(); c.Context.known() {
				break
			}
		}
		if !c.Context.known() {
			c.Withheld = uncounted + ", so that the depth of the context is not known"
		}
		out = append(out, c)
	}
	return out
}

// climb goes up the levels: the least load first.
func climb(levels []int, standing func(int) Standing) Capacity {
	c := Capacity{Levels: levels, Highest: -1, Stopped: -1}
	for _, i := range levels {
		switch s := standing(i); {
		case s.Held() && c.Stopped < 0:
			c.Highest = i
		case s.Held() && c.Limited:
			c.Beyond = append(c.Beyond, i)
		case s.Held():
		default:
			if c.Stopped < 0 {
				c.Stopped = i
			}
			c.Limited = c.Limited || s == Fails
		}
	}
	return c
}
