package arrival

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

var _ = register(kind{
	name: "sweep",
	decode: func(raw json.RawMessage) (ArrivalModel, error) {
		var w struct {
			Kind   string         `json:"kind"`
			Levels []ArrivalModel `json:"levels"`
		}
		if err := strict(raw, &w); err != nil {
			return ArrivalModel{}, err
		}
		return Sweep(w.Levels...)
	},
})

type sweep struct{ models []ArrivalModel }

// maxLevels bounds a sweep, so that a hostile record cannot nest or repeat itself
// without end.
const maxLevels = 1000

// Sweep is several models one after another, each a level of one measurement. It
// holds no sweep and no model twice: a level is found again by its model.
func Sweep(models ...ArrivalModel) (ArrivalModel, error) {
	if len(models) == 0 || len(models) > maxLevels {
		return ArrivalModel{}, fmt.Errorf("a sweep of %d levels: want 1 to %d", len(models), maxLevels)
	}
	for i, m := range models {
		if m.IsZero() {
			return ArrivalModel{}, errors.New("a level of the sweep has no arrival model")
		}
		if _, ok := m.m.(swept); ok {
			return ArrivalModel{}, errors.New("a sweep cannot hold a sweep")
		}
		for _, o := range models[:i] {
			if o.Equal(m) {
				return ArrivalModel{}, fmt.Errorf("the sweep holds %s twice", m)
			}
		}
	}
	return ArrivalModel{sweep{append([]ArrivalModel(nil), models...)}}, nil
}

func (sweep) kind() string { return "sweep" }

func (s sweep) String() string {
	var parts []string
	for _, m := range s.models {
		parts = append(parts, m.String())
	}
	if len(parts) > 6 {
		parts = append(parts[:5], fmt.Sprintf("and %d more", len(parts)-5))
	}
	return "sweep of " + strings.Join(parts, "; ")
}

func (s sweep) spec() any {
	return struct {
		Levels []ArrivalModel `json:"levels"`
	}{s.models}
}

func (s sweep) levels() []ArrivalModel { return append([]ArrivalModel(nil), s.models...) }

func (s sweep) explicit() model {
	out := sweep{s.levels()}
	for i, m := range out.models {
		out.models[i] = m.explicit()
	}
	return out
}
