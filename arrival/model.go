package arrival

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ArrivalModel says how requests arrive. [Burst], [Constant], [Poisson], [Gamma],
// [Weibull], [Ramp], [Replay], [Sessions], [SessionsOf], [ReplaySessions] and [Sweep] make
// one, [Parse] reads one from text, and decoding JSON goes through the same constructors.
// It is comparable by [ArrivalModel.Equal].
type ArrivalModel struct{ m model }

// model is what a kind of arrival implements. Exactly one of open, closed and
// swept is of use; the others return nothing.
type model interface {
	fmt.Stringer
	kind() string
	// spec returns the kind's parameters for JSON, without the kind.
	spec() any
}

// opened is a model whose requests start by a clock.
type opened interface {
	// gaps returns a function that yields the gap before each next request, and
	// false when there are no more. Equal models yield equal gaps.
	gaps() func() (gap time.Duration, more bool)
}

// closed is a model whose sessions start the next request after their own last one.
type closed interface {
	sessions() int
	// think returns a session's think times in order, and false when the session is over;
	// the first one is waited for before the session's first request.
	think(session int) func() (wait time.Duration, more bool)
}

type swept interface{ levels() []ArrivalModel }

// finite is an open model of one moment: so many requests and no more.
type finite interface{ requests() int }

// ending models come to an end by themselves after some time.
type ending interface{ ends() }

// tacit models leave something unsaid in their JSON, as old records do; explicit says it.
type tacit interface{ explicit() model }

// labelled models have a short form, where one can the text that [Parse] reads.
type labelled interface{ label() string }

// kind is one registered kind of arrival.
type kind struct {
	name   string
	decode func(raw json.RawMessage) (ArrivalModel, error)
	parse  func(args arguments) (ArrivalModel, error)
	usage  string
}

var kinds []kind

func register(k kind) string {
	if slices.ContainsFunc(kinds, func(o kind) bool { return o.name == k.name }) {
		panic("arrival: kind " + k.name + " is registered twice")
	}
	kinds = append(kinds, k)
	return k.name
}

// IsZero reports whether this is no model at all.
func (a ArrivalModel) IsZero() bool { return a.m == nil }

// Kind returns the model's kind, such as "poisson"; "" for the zero model.
func (a ArrivalModel) Kind() string {
	if a.m == nil {
		return ""
	}
	return a.m.kind()
}

// String says the model in one line.
func (a ArrivalModel) String() string {
	if a.m == nil {
		return "no arrival model"
	}
	return a.m.String()
}

// Open reports whether requests start by a clock, so that latency counts from the
// due time.
func (a ArrivalModel) Open() bool { _, ok := a.m.(opened); return ok }

// Requests returns the number of requests of a model that is over in a moment, such as a
// burst; 0 for those that go on for some time, whether or not they end.
func (a ArrivalModel) Requests() int {
	if f, ok := a.m.(finite); ok {
		return f.requests()
	}
	return 0
}

// Label returns the model in the short form that [Parse] reads, without its seed. A replay
// has a form of its own: what was replayed, not the file that it was read from.
func (a ArrivalModel) Label() string {
	if l, ok := a.m.(labelled); ok {
		return l.label()
	}
	return a.String()
}

// FirstDue returns when an open loop's first request is due; 0 for other models.
func (a ArrivalModel) FirstDue() time.Duration {
	if o, ok := a.m.(opened); ok {
		gap, _ := o.gaps()()
		return gap
	}
	return 0
}

// Sessions returns the number of sessions of a closed model, 0 for others.
func (a ArrivalModel) Sessions() int {
	if c, ok := a.m.(closed); ok {
		return c.sessions()
	}
	return 0
}

// Levels returns the models of a sweep in their order, or the model itself.
func (a ArrivalModel) Levels() []ArrivalModel {
	if s, ok := a.m.(swept); ok {
		return s.levels()
	}
	if a.m == nil {
		return nil
	}
	return []ArrivalModel{a}
}

// Equal reports whether two models are the same kind with the same parameters.
func (a ArrivalModel) Equal(o ArrivalModel) bool {
	if a.IsZero() || o.IsZero() || a.Kind() != o.Kind() {
		return a.IsZero() && o.IsZero()
	}
	x, errX := json.Marshal(a.explicit())
	y, errY := json.Marshal(o.explicit())
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func (a ArrivalModel) explicit() ArrivalModel {
	if t, ok := a.m.(tacit); ok {
		return ArrivalModel{t.explicit()}
	}
	return a
}

// MarshalJSON refuses the zero model.
func (a ArrivalModel) MarshalJSON() ([]byte, error) {
	if a.m == nil {
		return nil, errors.New("no arrival model: it does not marshal")
	}
	spec, err := json.Marshal(a.m.spec())
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf(`{"kind":%q`, a.Kind())
	if string(spec) == "{}" {
		return []byte(head + "}"), nil
	}
	return append([]byte(head+","), spec[1:]...), nil
}

// UnmarshalJSON goes through the constructor of the named kind; unknown kinds and
// unknown parameters are errors.
func (a *ArrivalModel) UnmarshalJSON(b []byte) error {
	var head struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return err
	}
	for _, k := range kinds {
		if k.name == head.Kind {
			m, err := k.decode(b)
			if err != nil {
				return fmt.Errorf("arrival model %s: %w", k.name, err)
			}
			*a = m
			return nil
		}
	}
	return fmt.Errorf("unknown arrival model %.40q; known: %s", head.Kind, strings.Join(names(), ", "))
}

func names() []string {
	var out []string
	for _, k := range kinds {
		out = append(out, k.name)
	}
	slices.Sort(out)
	return out
}

// strict decodes a kind's parameters and refuses unknown ones.
func strict(raw json.RawMessage, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(into)
}
