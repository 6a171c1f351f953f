package performance

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"infbench/arrival"
	"infbench/gates"
	"infbench/record"
	"infbench/record/recordtest"
	"infbench/stages/endpoint/endpointtest"
)

// filled returns a value of any type in which nothing is zero.
func filled(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Slice:
		v.Set(reflect.Append(v, filled(t.Elem())))
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(filled(t.Key()), filled(t.Elem()))
	case reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				v.Field(i).Set(filled(t.Field(i).Type))
			}
		}
	default:
		v.SetInt(3)
	}
	return v
}

// A field of a level that a journal forgets would come back as zero: there is none.
func TestFactsKeepEveryField(t *testing.T) {
	t.Parallel()
	m := sweepOf(t, "sessions:n=2").Levels()[0]
	all := filled(reflect.TypeFor[levelFacts]()).Interface().(levelFacts)
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	var back levelFacts
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	r := back.result(m, record.Level{})
	if again := factsOf(r); !reflect.DeepEqual(again, all) {
		t.Errorf("%+v, want %+v", again, all)
	}
	v := reflect.ValueOf(r)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; name != "level" && v.Field(i).IsZero() {
			t.Errorf("%s of a level is not kept", name)
		}
	}
}

// Whatever changes a measurement changes the words of what is asked for.
func TestAskedTellsConfigurationsApart(t *testing.T) {
	t.Parallel()
	apart := []string{"Seed", "CountTokens", "Keep", "Turn", "Beside", "Grace", "Devices", "late", "Tiers", "Calibrate", "Again"} // the tokenizer has a name; tiers are held against what was measured
	base := Config{}
	typ := reflect.TypeFor[Config]()
	for i := range typ.NumField() {
		f := typ.Field(i)
		if slices.Contains(apart, f.Name) {
			continue
		}
		other := base
		reflect.ValueOf(&other).Elem().Field(i).Set(filled(f.Type))
		if other.Asked() == base.Asked() {
			t.Errorf("%s makes no difference", f.Name)
		}
	}
}

func keepIn(t *testing.T, path string, levels arrival.ArrivalModel) func(record.Workload) (Keeping, error) {
	t.Helper()
	return func(w record.Workload) (Keeping, error) {
		j, err := record.BeginJournal(path, record.NewRedactor(bytes.Repeat([]byte{7}, 32)), proof(t), record.JournalHead{
			Run: "20261130T120000Z-0123abcd", Began: time.Now(), Harness: "test", Identity: recordtest.Identity("sha256:aa", "x"), Arrivals: levels.Levels(), Workload: w,
		})
		return Keeping{Journal: j}, err
	}
}

// A run that is stopped in its second level is gone on with at that level: what was measured
// comes back as it was, and what was not is measured.
func TestMeasureGoesOn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.journal")
	sweep := sweepOf(t, "sessions:n=1", "sessions:n=2", "sessions:n=3")
	c := quick()
	c.PerLevel, c.Depths = 700*time.Millisecond, []int{256}
	c.Keep = keepIn(t, path, sweep)
	ep := endpointtest.Open(t, &txtar.Archive{})
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	begun := c.Keep
	var journal *record.Journal
	c.Keep = func(w record.Workload) (Keeping, error) {
		k, err := begun(w)
		journal = k.Journal
		return k, err
	}
	first, err := Measure(ctx, ep, proof(t), sweep, c, func(p Progress) {
		if p.Index == 1 && p.Live.Good() > 0 {
			stop(gates.ErrStopped)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	journal.Close()
	if n := len(first.levels); n != 2 || first.Stopped() != "interrupted" {
		t.Fatalf("%d levels, stopped %q", n, first.Stopped())
	}
	if all := strings.Join(first.workload.Caveats, "; "); !strings.Contains(all, first.levels[1].arrival.String()+" was cut short") {
		t.Errorf("a partial level is not marked: %s", all)
	}
	var restored *record.Restored
	c.Keep = func(record.Workload) (Keeping, error) {
		w := Keeping{Caveats: []string{"resumed after a pause"}}
		var err error
		w.Journal, err = record.OpenJournal(path, record.NewRedactor(bytes.Repeat([]byte{7}, 32)))
		if err != nil {
			return w, err
		}
		w.Restored, err = w.Journal.Restore(proof(t), "20261130T130000Z-0123abcd")
		restored = w.Restored
		return w, err
	}
	var order []string
	before := ep.Requests()
	second, err := Measure(t.Context(), ep, proof(t), sweep, c, func(p Progress) {
		switch {
		case p.Restored && !p.Finished:
			order = append(order, p.step()+" restored")
		case !p.Finished && p.Live.IsZero():
			order = append(order, p.step())
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"level 0 restored", "level 1", "level 2", "depth 256"}; !slices.Equal(order, want) {
		t.Errorf("%q, want %q", order, want)
	}
	if restored.Steps() != 1 || restored.Unfinished() == 0 || len(restored.Skipped()) > 0 {
		t.Errorf("%d levels, %d requests besides, skipped %v", restored.Steps(), restored.Unfinished(), restored.Skipped())
	}
	if ep.Requests() == before {
		t.Error("nothing was asked")
	}
	if !reflect.DeepEqual(first.levels[0], second.levels[0]) {
		t.Errorf("the first level came back another:\n%+v\n%+v", factsOf(first.levels[0]), factsOf(second.levels[0]))
	}
	if len(second.levels) != 3 || len(second.rungs) != 1 || second.Stopped() != "" || !slices.Contains(second.workload.Caveats, "resumed after a pause") {
		t.Errorf("%d levels, %d depths, stopped %q, %q", len(second.levels), len(second.rungs), second.Stopped(), second.workload.Caveats)
	}
	if _, err := second.Measurements(); err != nil {
		t.Error(err)
	}
}

// A journal that cannot keep up or be written costs the measurement nothing.
func TestMeasureGoesOnWithoutItsJournal(t *testing.T) {
	t.Parallel()
	c := quick()
	var lost *record.Journal
	c.Keep = func(w record.Workload) (Keeping, error) {
		k, err := keepIn(t, filepath.Join(t.TempDir(), "x"), sweepOf(t, "sessions:n=1"))(w)
		k.Journal.Close() // from here every write fails
		lost = k.Journal
		return k, err
	}
	s, err := Measure(t.Context(), endpointtest.Open(t, &txtar.Archive{}), proof(t), sweepOf(t, "sessions:n=1"), c, func(Progress) {})
	if err != nil || len(s.levels) != 1 || s.levels[0].good == 0 {
		t.Fatalf("%v", err)
	}
	if lost.Lost() == nil {
		t.Error("nobody says that nothing is kept")
	}
}
