package arrival

import "fmt"

// Load is how much load a model is, beside others of its family: what a sweep raises from
// level to level.
type Load struct {
	// Family says what models of one scale share, such as their think time.
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

func (s sessions) load() Load {
	family := "sessions without think time"
	if s.mean > 0 {
		family = fmt.Sprintf("sessions, mean think time %v", s.mean)
	}
	return Load{Family: family, Amount: float64(s.n), Users: true}
}

func (p poisson) load() Load { return Load{Family: "poisson", Amount: p.rate} }

func (c constant) load() Load { return Load{Family: "constant", Amount: c.rate} }
