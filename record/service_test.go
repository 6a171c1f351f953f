package record_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"infbench/record"
	"infbench/record/recordtest"
)

func TestServiceIsWrittenAndChecked(t *testing.T) {
	t.Parallel()
	p := recordtest.Sweep(id, record.Objectives{Tiers: append(record.DefaultTiers(), tier(t, "mlperf:llama2-70b/server")), Codes: true},
		recordtest.Requests(recordtest.Sessions(1), 120, nil), recordtest.Requests(recordtest.Sessions(2), 120, some(2, slow)))
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var back record.PerfRecord
	if err := json.Unmarshal(edit(t, raw, func(map[string]any) {}), &back); err != nil {
		t.Fatal(err)
	}
	if again, err := json.Marshal(back); err != nil || !bytes.Equal(raw, again) {
		t.Errorf("the record does not come back as it was (%v)", err)
	}
	if o := back.Objectives(); len(o.Tiers) != 3 || !o.Codes {
		t.Errorf("held to %+v", o)
	}
	type object = map[string]any
	service := func(v object) object { return v["measurements"].(object)["service"].(object) }
	result := func(v object) object { return service(v)["results"].([]any)[0].(object) }
	for name, c := range map[string]struct {
		change func(object)
		want   string
	}{
		"a standing made better": {func(v object) { result(v)["levels"].([]any)[1].(object)["standing"] = "pass" }, "does not follow"},
		"a better capacity":      {func(v object) { result(v)["capacities"].([]any)[0].(object)["sessions"] = 2.0 }, "does not follow"},
		"a better score": {func(v object) {
			service(v)["levels"].([]any)[0].(object)["interactivity_score"].(object)["value"] = 100.0
		}, "does not follow"},
		"a wider tier":        {func(v object) { service(v)["tiers"].([]any)[0].(object)["ttft_ns"] = 9e9 }, "does not follow"},
		"codes not judged":    {func(v object) { service(v)["codes_judged"] = false }, ""}, // nothing hangs on it here
		"results left out":    {func(v object) { delete(service(v), "results") }, "does not follow"},
		"more than there is":  {func(v object) { service(v)["more"] = 1 }, "does not follow"},
		"a tier twice":        {func(v object) { service(v)["tiers"].([]any)[1] = service(v)["tiers"].([]any)[0] }, "stands twice"},
		"no tier":             {func(v object) { service(v)["tiers"] = []any{} }, "held to no tier"},
		"a tier that is none": {func(v object) { service(v)["tiers"].([]any)[0] = nil }, "no name"},
		"an unknown limit":    {func(v object) { service(v)["tiers"].([]any)[0].(object)["e2e_ns"] = 1.0 }, "unknown field"},
		"other definitions":   {func(v object) { service(v)["definitions"] = "infbench.service/v9" }, "are not known"},
		"none, as of old":     {func(v object) { delete(v["measurements"].(object), "service") }, ""},
	} {
		var back record.PerfRecord
		err := json.Unmarshal(edit(t, raw, c.change), &back)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !back.IsZero() || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want words %q", name, err, c.want)
		}
	}
}

// A record that was written before there were tiers is read, and can be held to one.
func TestOldRecordsAreHeldToATierAfterwards(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/v1/performance.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for run, err := range record.Read(f) {
		if err != nil {
			t.Fatal(err)
		}
		p, ok := run.Performance()
		if !ok || len(p.Objectives().Tiers) != 0 {
			t.Fatalf("held to %+v", p.Objectives())
		}
		if a := p.Against(tier(t, "average")).Levels[0]; a.Standing != record.TooFew || a.Issued != 12 || a.Good.Or(0) != 12 {
			t.Errorf("%+v", a)
		}
	}
}

func TestObjectives(t *testing.T) {
	t.Parallel()
	m, _ := recordtest.Measurements(3)
	good := tier(t, "good")
	many := make([]record.Tier, 17)
	for i := range many {
		var err error
		if many[i], err = record.NewTier("t"+string(rune('a'+i)), 1, 1, 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, tiers := range [][]record.Tier{{good, good}, {{}}, many} {
		if got, err := m.HeldTo(record.Objectives{Tiers: tiers}); err == nil || !got.IsZero() {
			t.Errorf("held to %v", tiers)
		}
	}
	if _, err := (record.Measurements{}).HeldTo(record.Objectives{}); err == nil {
		t.Error("nothing is held to nothing")
	}
	if s := recordtest.Sweep(id, record.Objectives{}, recordtest.Requests(recordtest.Sessions(1), 3, nil)).Against(record.Tier{}); s.Levels != nil {
		t.Error("no tier has a standing")
	}
}
