package record_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"infbench/arrival"
	"infbench/gates"
	"infbench/record"
	"infbench/record/recordtest"
)

var id = recordtest.Identity("sha256:aaaaaaaaaaaaaaaa", "rev1")

func proof(t *testing.T) gates.GateSet {
	t.Helper()
	required, verdicts := recordtest.Passing()
	g, err := recordtest.Ledger(id, required, verdicts).Gates()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestNoNumberWithoutGatesAndArrival(t *testing.T) {
	t.Parallel()
	m, model := recordtest.Measurements(3)
	other := recordtest.Identity("sha256:bbbbbbbbbbbbbbbb", "rev2")
	restarted := id.Parts()
	restarted.Process = record.Known("p2")
	afterRestart, _ := record.NewIdentity(restarted)
	burst, _ := arrival.Burst(3)
	for name, c := range map[string]struct {
		id    record.Identity
		gates gates.GateSet
		model arrival.ArrivalModel
		m     record.Measurements
		want  any
	}{
		"no gates":             {id, gates.GateSet{}, model, m, new(*record.UngatedResultError)},
		"no identity":          {record.Identity{}, proof(t), model, m, new(*record.UngatedResultError)},
		"another subject":      {other, proof(t), model, m, new(*record.UngatedResultError)},
		"restarted in between": {afterRestart, proof(t), model, m, new(*record.UngatedResultError)},
		"no arrival model":     {id, proof(t), arrival.ArrivalModel{}, m, new(*record.UnmodelledArrivalError)},
		"another model":        {id, proof(t), burst, m, new(*record.UnmodelledArrivalError)},
		"no measurement":       {id, proof(t), model, record.Measurements{}, nil},
	} {
		p, err := record.NewPerfRecord(c.id, c.gates, c.model, c.m)
		if err == nil || !p.IsZero() {
			t.Errorf("%s: made a record", name)
		}
		if c.want != nil && !errors.As(err, c.want) {
			t.Errorf("%s: %v, want a %T", name, err, c.want)
		}
	}
	required, verdicts := recordtest.Passing()
	holed, err := recordtest.Ledger(id, required[1:], verdicts[1:]).Gates()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := record.NewPerfRecord(id, holed, model, m); !errors.As(err, new(*record.UngatedResultError)) {
		t.Errorf("gates that leave out stage 0: %v", err)
	}
	if _, err := record.NewPerfRecord(id, proof(t), model, m); err != nil {
		t.Errorf("with everything in order: %v", err)
	}
}

func TestRawNumbersHaveNoMouth(t *testing.T) {
	t.Parallel()
	m, _ := recordtest.Measurements(3)
	var ungated *record.UngatedResultError
	if _, err := json.Marshal(m); !errors.As(err, &ungated) {
		t.Errorf("Marshal: %v", err)
	}
	if _, err := json.Marshal(struct{ M record.Measurements }{m}); !errors.As(err, &ungated) {
		t.Errorf("Marshal inside a struct: %v", err)
	}
	if _, err := json.Marshal(record.PerfRecord{}); !errors.As(err, &ungated) {
		t.Errorf("Marshal of an empty record: %v", err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x"} {
		if got := fmt.Sprintf(verb, m); got != "measurements (ungated)" {
			t.Errorf("%s prints %q", verb, got)
		}
	}
}

// edit changes one place of a record's JSON.
func edit(t *testing.T, raw []byte, change func(map[string]any)) []byte {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	change(v)
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestEditedFilesAreRefused(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(recordtest.PerfRun(id))
	if err != nil {
		t.Fatal(err)
	}
	ledger := func(v map[string]any) map[string]any { return v["ledger"].(map[string]any) }
	numbers := func(v map[string]any) map[string]any { return v["performance"].(map[string]any) }
	level := func(v map[string]any) map[string]any {
		return numbers(v)["measurements"].(map[string]any)["levels"].([]any)[0].(map[string]any)
	}
	for name, c := range map[string]struct {
		change func(map[string]any)
		want   string
	}{
		"a verdict turned to failed": {func(v map[string]any) {
			ledger(v)["verdicts"].([]any)[2].(map[string]any)["status"] = "failed"
		}, "ungated"},
		"a verdict deleted": {func(v map[string]any) {
			l := ledger(v)
			l["verdicts"] = l["verdicts"].([]any)[:3]
		}, "verdict of correctness/canaries is missing"},
		"a verdict deleted with its requirement": {func(v map[string]any) {
			l := ledger(v)
			l["verdicts"] = append(l["verdicts"].([]any)[:3:3], l["verdicts"].([]any)[4])
			l["required"] = append(l["required"].([]any)[:3:3], l["required"].([]any)[4])
		}, "no check of stage 3"},
		"a stage said not to have run": {func(v map[string]any) {
			l := ledger(v)
			l["verdicts"] = append(l["verdicts"].([]any)[:3:3], l["verdicts"].([]any)[4])
			l["not_run"] = []any{map[string]any{"stage": 3, "why": "no time"}}
		}, "ungated"},
		"all verdicts deleted": {func(v map[string]any) {
			ledger(v)["verdicts"], ledger(v)["required"] = []any{}, []any{}
		}, "no check was required"},
		"verdicts of another model": {func(v map[string]any) {
			ledger(v)["subject"].(map[string]any)["model"] = "other"
		}, "another subject"},
		"arrival deleted":         {func(v map[string]any) { delete(numbers(v), "arrival") }, "no arrival model"},
		"arrival null":            {func(v map[string]any) { numbers(v)["arrival"] = nil }, "no arrival model"},
		"another arrival":         {func(v map[string]any) { numbers(v)["arrival"] = map[string]any{"kind": "burst", "requests": 3} }, "no arrival model"},
		"arrival of a level gone": {func(v map[string]any) { delete(level(v), "arrival") }, "no arrival model"},
		"a figure made better":    {func(v map[string]any) { level(v)["figures"].(map[string]any)["good"] = 13 }, "do not follow"},
		"a sample sent before due": {func(v map[string]any) {
			due := slices.Index(level(v)["sample_columns"].([]any), any("due_ns"))
			level(v)["samples"].([]any)[0].([]any)[due] = 1e15
		}, "not in order"},
		"numbers under verdicts":  {func(v map[string]any) { v["kind"] = "verdicts" }, "ungated"},
		"performance without any": {func(v map[string]any) { delete(v, "performance") }, "does not fit"},
		"the exit code changed":   {func(v map[string]any) { v["exit"] = 0.0 + 2 }, "digest does not fit"},
		"another image": {func(v map[string]any) {
			v["identity"].(map[string]any)["image"].(map[string]any)["value"] = "sha256:ff"
		}, "digest does not fit"},
		"another key":              {func(v map[string]any) { v["key"] = "ffffffffffff" }, "digest does not fit"},
		"the chunk gaps shortened": {func(v map[string]any) { level(v)["chunk_gap"].(map[string]any)["max"].(map[string]any)["ns"] = 1.0 }, "do not follow"},
		"a stage taken out whole": {func(v map[string]any) {
			l := ledger(v)
			l["verdicts"], l["required"] = l["verdicts"].([]any)[1:], l["required"].([]any)[1:]
		}, "do not account for stage 0"},
		"another schema":            {func(v map[string]any) { v["schema"] = "infbench.record/v9" }, "schema"},
		"a negative exit of reason": {func(v map[string]any) { v["ending"] = map[string]any{"complete": false} }, "says why it ended"},
	} {
		var back record.Run
		err := json.Unmarshal(edit(t, raw, c.change), &back)
		if err == nil || !back.IsZero() {
			t.Errorf("%s: the line is read", name)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want words %q", name, err, c.want)
		}
	}
	var back record.Run
	if err := json.Unmarshal(edit(t, raw, func(map[string]any) {}), &back); err != nil {
		t.Fatalf("the unedited line with its keys in another order: %v", err)
	}
	again, err := json.Marshal(back)
	if err != nil || !bytes.Equal(raw, again) {
		t.Errorf("the line does not come back as it was (%v)", err)
	}
}

func TestAFailedRunIsALineWithoutNumbers(t *testing.T) {
	t.Parallel()
	required, verdicts := recordtest.Passing()
	verdicts = append(verdicts[:2:2], recordtest.Verdict("smoke/known-answer", gates.Fail("answered garbage")))
	ledger := recordtest.Ledger(id, required, verdicts, gates.NotRun{Stage: gates.Correctness, Why: "stage 2 failed"},
		gates.NotRun{Stage: gates.Performance, Why: "stage 2 failed"})
	run := recordtest.Run(id, ledger)
	m, model := recordtest.Measurements(3)
	perf, err := record.NewPerfRecord(id, proof(t), model, m)
	if err != nil {
		t.Fatal(err)
	}
	var ungated *record.UngatedResultError
	if _, err := run.With(perf); !errors.As(err, &ungated) {
		t.Errorf("a failed run takes numbers: %v", err)
	}
	raw, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), `"performance":`) || !strings.Contains(string(raw), `"kind":"verdicts"`) {
		t.Errorf("the line is %s", raw)
	}
	var back record.Run
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if status, why, _ := back.Parts().Ledger.Outcome(gates.Correctness); status != gates.Skipped || why != "not run: stage 2 failed" {
		t.Errorf("stage 3: %v %q", status, why)
	}
}

// The vector: P=92,888, C=90,380, TTFT=1.10 s with the queue inside, O=400, last
// token at 9.08 s: nominal 84,444/s, computed 2,280/s, TPOT 20 ms, decode 50/s at
// depth 93,088.
func TestFiguresOfTheVector(t *testing.T) {
	t.Parallel()
	perf, ok := recordtest.PerfRun(id).Performance()
	if !ok {
		t.Fatal("no numbers")
	}
	f := perf.Levels()[0].Figures
	near := func(name string, r record.Rate, want float64) {
		t.Helper()
		got, ok := r.PerSecond()
		if !ok || math.Abs(got-want) > want*1e-4 {
			t.Errorf("%s = %v, want %v", name, r, want)
		}
	}
	near("nominal prefill", f.PrefillNominal, 84443.6)
	near("computed prefill", f.PrefillComputed, 2280)
	near("decode", f.Decode.Rate, 50)
	near("emitted", f.Emitted, 40)
	if f.Decode.DepthTokens != 93_088 {
		t.Errorf("depth %d, want 93088", f.Decode.DepthTokens)
	}
	if v, ok := f.TPOT.P50().Value(); !ok || v != 20*time.Millisecond {
		t.Errorf("TPOT p50 = %v, want 20ms", f.TPOT.P50())
	}
	if v, ok := f.TTFT.P90().Value(); !ok || v != 1100*time.Millisecond {
		t.Errorf("TTFT p90 = %v, want 1.1s", f.TTFT.P90())
	}
	if want := "— (n=12, p99 needs 100)"; f.TTFT.P99().String() != want {
		t.Errorf("TTFT p99 = %q, want %q", f.TTFT.P99(), want)
	}
	if f.ITL.P50().Withheld() != "tokens per chunk are not known" {
		t.Errorf("ITL = %v", f.ITL.P50())
	}
	if math.Abs(f.InFlightMean-0.91) > 1e-9 || f.InFlightPeak != 1 {
		t.Errorf("in flight mean %v peak %d, want 0.91 and 1", f.InFlightMean, f.InFlightPeak)
	}
}

func TestCompanyHasNoPrefillRate(t *testing.T) {
	t.Parallel()
	model, _ := arrival.Sessions(2, 0, "x")
	a, b := recordtest.Sample(0), recordtest.Sample(time.Second)
	b.CachedTokens = gates.Count{}
	level, err := record.NewLevel(record.LevelParts{Arrival: model, Window: 20 * time.Second, Samples: []record.Sample{a, b}, TokenGapsWithheld: "x"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := record.NewMeasurements(recordtest.Workload(), []record.Level{level})
	if err != nil {
		t.Fatal(err)
	}
	perf, err := record.NewPerfRecord(id, proof(t), model, m)
	if err != nil {
		t.Fatal(err)
	}
	if r := perf.Levels()[0].Figures.PrefillComputed; !strings.Contains(r.Withheld(), "overlapped") {
		t.Errorf("prefill of overlapping requests: %v", r)
	}
}

func FuzzPerfRecord(f *testing.F) {
	perf, _ := recordtest.PerfRun(id).Performance()
	raw, err := json.Marshal(perf)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte(`{"schema":"infbench.perf/v1"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var p record.PerfRecord
		err := json.Unmarshal(b, &p)
		if err != nil && !p.IsZero() {
			t.Fatalf("an error and a proof at once: %v", err)
		}
		if err == nil && !p.IsZero() {
			if !p.Gates().Satisfied() || p.Arrival().IsZero() || p.Gates().Subject() != p.Identity().Subject() {
				t.Fatal("a record without its proof")
			}
			if _, err := json.Marshal(p); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func FuzzRunLine(f *testing.F) {
	raw, err := json.Marshal(recordtest.PerfRun(id))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(raw, '\n'))
	f.Add([]byte("{\n\n{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for run, err := range record.Read(bytes.NewReader(b)) {
			if err != nil && !run.IsZero() {
				t.Fatalf("an error and a run at once: %v", err)
			}
			if p, ok := run.Performance(); ok && !p.Gates().Satisfied() {
				t.Fatal("numbers without gates")
			}
		}
	})
}

// A secret is found as JSON writes it, and in JSON inside JSON; slashes may be escaped.
func TestRedactorInJSON(t *testing.T) {
	t.Parallel()
	r := record.NewRedactor(make([]byte, 32))
	r.Hide("API key", `k&1/x"y\z`)
	for _, s := range []string{`k&1/x"y\z`, `k&1/x\"y\\z`, `k\u00261/x\"y\\z`, `k&1\/x\"y\\z`, `k\\u00261/x\\\"y\\\\z`} {
		if got := r.Text("<" + s + ">"); got != "<«API key»>" {
			t.Errorf("%s became %s", s, got)
		}
	}
}
