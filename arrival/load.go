package arrival

import (
	"fmt"
	"strings"
)

// Load is how much load a model is, beside others of its family: what a sweep raises from
// level to level.
type Load struct {
	// Family is what models of one scale have in common, such as their think time: their label
	// without the amount.
	Family string
	// Amount is in sessions where Users says so, else in requests per second.
	Amount float64
	Users  bool
}

// loaded is a model that stands on a scale of load. One that is a transient, or that no
// other can be more of, does not.
type loaded interface{ load() Load }

// Load returns where the model stands on the scale of its family; ok is false where it has
// none, as a burst.
func (a ArrivalModel) Load() (l Load, ok bool) {
	if m, ok := a.m.(loaded); ok {
		return m.load(), true
	}
	return Load{}, false
}

// load leaves the number out of the label: what is left is what sessions have in common.
func (s sessions) load() Load {
	return Load{Family: strings.Replace(s.label(), fmt.Sprintf("n=%d", s.n), "n=…", 1), Amount: float64(s.n), Users: true}
}

func (p poisson) load() Load { return Load{Family: "poisson:rate=…", Amount: p.rate} }

func (c constant) load() Load { return Load{Family: "constant:rate=…", Amount: c.rate} }

func (g gamma) load() Load {
	return Load{Family: fmt.Sprintf("gamma:rate=…,shape=%g", g.shape), Amount: g.rate}
}

func (w weibull) load() Load {
	return Load{Family: fmt.Sprintf("weibull:rate=…,shape=%g", w.shape), Amount: w.rate}
}
