package endpoint

import (
	"reflect"
	"slices"
	"testing"

	"infbench/gates"
)

// Each field of an endpoint is either taken along or forgotten: a new one must be thought of.
func TestAfreshKnowsEveryField(t *testing.T) {
	t.Parallel()
	taken := []string{"client", "engine", "build", "model", "models", "lacks", "refused", "canaries", "inFlight", "stated", "observe", "requests", "right"}
	forgotten := []string{"kept", "hearing", "tallying", "scripts", "unheard"}
	for f := range reflect.TypeFor[shared]().Fields() {
		if slices.Contains(taken, f.Name) == slices.Contains(forgotten, f.Name) {
			t.Errorf("Afresh neither takes %s along nor forgets it", f.Name)
		}
	}
}

func TestAfresh(t *testing.T) {
	t.Parallel()
	old := Endpoint{&shared{canaries: gates.NewCanaries(1), inFlight: 3, engine: generic{}}}
	old.FoundUnable(Tools, "no template")
	old.refused.Store("seed", struct{}{})
	old.FoundRight()
	old.requests.Store(7)
	old.unheard.Store(patience)
	asked := 0
	count := func(e Endpoint) {
		_, _ = Remember(e, "once", func() (int, error) { asked++; return asked, nil })
	}
	count(old)
	fresh := old.Afresh()
	count(fresh)
	count(fresh)
	switch {
	case asked != 2:
		t.Errorf("asked %d times, want once for each", asked)
	case fresh.Unable(Tools) == "" || !fresh.isRefused("seed") || !fresh.WasRight() || fresh.InFlight() != 3 || fresh.Requests() != 7:
		t.Error("what was found out is lost")
	case fresh.gaveUp() != nil || old.gaveUp() == nil:
		t.Error("the patience of the old one is the new one's")
	case fresh.Canaries() != old.Canaries():
		t.Error("two ledgers of codes: a foreign one would not be known")
	}
}
