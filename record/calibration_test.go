package record_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"infbench/record"
)

const us, ms = time.Microsecond, time.Millisecond

// of returns n equal durations, the last few of which are another.
func of(n int, d time.Duration, tail int, other time.Duration) []time.Duration {
	return append(slices.Repeat([]time.Duration{d}, n-tail), slices.Repeat([]time.Duration{other}, tail)...)
}

// sound is the calibration of a client that keeps up with 64 streams.
func sound() record.CalibrationParts {
	return record.CalibrationParts{
		Streams: 64, TTFT: 180 * ms, TPOT: 18 * ms, OutputTokens: 20,
		Lags: of(1000, 80*us, 10, 400*us), TTFTErrors: of(100, 200*us, 1, 900*us), DispatchLags: of(100, 100*us, 1, 2*ms), Late: of(1000, 60*us, 10, 300*us),
		Coalesced: 3, WorstPause: 90 * us, SchedulingP99: 50 * us,
	}
}

// What the client's own error leaves of a level with a TTFT of 200 ms and a TPOT of 20 ms,
// unless said otherwise. Budgets: lag p99 1 ms, client-limited from 10 ms; TTFT error p50
// 4 ms and p99 20 ms; start p99 5 ms.
func TestWhatTheClientsOwnErrorLeaves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change     func(p *record.CalibrationParts)
		ttft, tpot time.Duration
		want       string // i: times between tokens, d: late starts, c: client-limited
	}{
		"sound":                         {func(*record.CalibrationParts) {}, 0, 0, ""},
		"lag p99 at the budget":         {func(p *record.CalibrationParts) { p.Lags = of(1000, 80*us, 11, ms) }, 0, 0, ""},
		"lag p99 over the budget":       {func(p *record.CalibrationParts) { p.Lags = of(1000, 80*us, 11, ms+1) }, 0, 0, "i"},
		"one in a hundred may be late":  {func(p *record.CalibrationParts) { p.Lags = of(1000, 80*us, 10, time.Second) }, 0, 0, ""},
		"5 % of a longer TPOT":          {func(p *record.CalibrationParts) { p.Lags = of(1000, 80*us, 11, 5*ms) }, 0, 100 * ms, ""},
		"over 5 % of a longer TPOT":     {func(p *record.CalibrationParts) { p.Lags = of(1000, 80*us, 11, 5*ms+1) }, 0, 100 * ms, "i"},
		"a tenth half a TPOT":           {func(p *record.CalibrationParts) { p.Lags = of(1000, 80*us, 101, 10*ms) }, 0, 0, "i"},
		"a tenth over half a TPOT":      {func(p *record.CalibrationParts) { p.Lags = of(1000, 80*us, 101, 10*ms+1) }, 0, 0, "c"},
		"less than a tenth":             {func(p *record.CalibrationParts) { p.Lags = of(1000, 80*us, 100, 10*ms+1) }, 0, 0, "i"},
		"p99 of five TPOT":              {func(p *record.CalibrationParts) { p.Lags = of(1000, 80*us, 11, 100*ms) }, 0, 0, "i"},
		"p99 over five TPOT":            {func(p *record.CalibrationParts) { p.Lags = of(1000, 80*us, 11, 100*ms+1) }, 0, 0, "c"},
		"p99 of a short TPOT":           {func(p *record.CalibrationParts) { p.Lags = of(1000, 80*us, 11, 20*ms) }, 0, 2 * ms, "i"},
		"a millisecond of a short TPOT": {func(p *record.CalibrationParts) { p.Lags = of(1000, ms, 0, 0) }, 0, 500 * us, ""},
		"no TPOT":                       {func(p *record.CalibrationParts) { p.Lags = of(1000, ms+1, 0, 0) }, 0, -1, "c"},
		"99 tokens have no p99":         {func(p *record.CalibrationParts) { p.Lags = of(99, 80*us, 5, time.Second) }, 0, 0, ""},
		"TTFT p50 at the budget":        {func(p *record.CalibrationParts) { p.TTFTErrors = of(100, 4*ms, 0, 0) }, 0, 0, ""},
		"TTFT p50 over the budget":      {func(p *record.CalibrationParts) { p.TTFTErrors = of(100, 4*ms+1, 0, 0) }, 0, 0, "c"},
		"TTFT p50 of a short TTFT":      {func(p *record.CalibrationParts) { p.TTFTErrors = of(100, ms, 0, 0) }, 10 * ms, 0, ""},
		"over that of a short TTFT":     {func(p *record.CalibrationParts) { p.TTFTErrors = of(100, ms+1, 0, 0) }, 10 * ms, 0, "c"},
		"TTFT p99 at the budget":        {func(p *record.CalibrationParts) { p.TTFTErrors = of(100, ms, 2, 20*ms) }, 0, 0, ""},
		"TTFT p99 over the budget":      {func(p *record.CalibrationParts) { p.TTFTErrors = of(100, ms, 2, 20*ms+1) }, 0, 0, "c"},
		"start p99 at the budget":       {func(p *record.CalibrationParts) { p.DispatchLags = of(100, 0, 2, 5*ms) }, 0, 0, ""},
		"start p99 over the budget":     {func(p *record.CalibrationParts) { p.DispatchLags = of(100, 0, 2, 5*ms+1) }, 0, 0, "d"},
		"1 % of a long TTFT":            {func(p *record.CalibrationParts) { p.DispatchLags = of(100, 0, 2, 20*ms) }, 2 * time.Second, 0, ""},
		"no start by a clock":           {func(p *record.CalibrationParts) { p.DispatchLags = nil }, 0, 0, ""},
		"10 % shared reads":             {func(p *record.CalibrationParts) { p.Coalesced = 100 }, 0, 0, ""},
		"over 10 % shared reads":        {func(p *record.CalibrationParts) { p.Coalesced = 101 }, 0, 0, "i"},
		"the server a gap late":         {func(p *record.CalibrationParts) { p.Late = of(1000, 0, 11, 18*ms) }, 0, 0, ""},
		"the server more than a gap":    {func(p *record.CalibrationParts) { p.Late = of(1000, 0, 11, 18*ms+1) }, 0, 0, "i"},
		"everything": {func(p *record.CalibrationParts) {
			p.Lags, p.TTFTErrors, p.DispatchLags, p.Coalesced = of(1000, time.Second, 0, 0), of(100, time.Second, 0, 0), of(100, time.Second, 0, 0), 900
		}, 0, 0, "idc"},
	} {
		p := sound()
		c.change(&p)
		made, err := record.NewCalibration(p)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		ttft, tpot := 200*ms, 20*ms
		if c.ttft != 0 {
			ttft = c.ttft
		}
		if c.tpot != 0 {
			tpot = max(0, c.tpot)
		}
		trust := made.Judge(ttft, tpot)
		got := ""
		for _, f := range []struct{ letter, why, word string }{{"i", trust.ITLUntrusted, "itl_untrusted: "}, {"d", trust.LateDispatch, "late_dispatch: "}, {"c", trust.ClientLimited, "client-limited: "}} {
			if f.why != "" {
				got += f.letter
				if !strings.HasPrefix(f.why, f.word) {
					t.Errorf("%s: %q", name, f.why)
				}
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q: %+v", name, got, c.want, trust)
		}
		if void := trust.Void(); (len(void) > 0) != strings.ContainsAny(c.want, "dc") {
			t.Errorf("%s: void %q", name, void)
		}
	}
	if trust := (record.Calibration{}).Judge(200*ms, 20*ms); trust.ITLUntrusted == "" || trust.Void() != nil {
		t.Errorf("not calibrated: %+v", trust)
	}
	if got := (record.ClientTrust{ITLUntrusted: "a"}).And(record.ClientTrust{ITLUntrusted: "b", ClientLimited: "c"}); got != (record.ClientTrust{ITLUntrusted: "a", ClientLimited: "c"}) {
		t.Errorf("%+v", got)
	}
}

// What was seen beside the level outweighs what was seen before it, if it is enough.
func TestBesideOutweighsBefore(t *testing.T) {
	t.Parallel()
	made := func(change func(p *record.CalibrationParts)) record.Calibration {
		p := sound()
		change(&p)
		c, err := record.NewCalibration(p)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	good := made(func(*record.CalibrationParts) {})
	slow := made(func(p *record.CalibrationParts) { p.Lags, p.Coalesced = of(1000, time.Second, 0, 0), 0 })
	brief := made(func(p *record.CalibrationParts) { p.Lags, p.Coalesced = of(99, time.Second, 0, 0), 0 })
	late := made(func(p *record.CalibrationParts) { p.DispatchLags = of(100, time.Second, 0, 0) })
	for name, c := range map[string]struct {
		before, beside record.Calibration
		want           string
	}{
		"both good": {good, good, ""}, "slow before": {slow, good, ""}, "slow beside": {good, slow, "c"}, "too little beside": {slow, brief, "c"},
		"only before": {slow, record.Calibration{}, "c"}, "only beside": {record.Calibration{}, good, ""}, "late starts": {late, good, "d"}, "none": {record.Calibration{}, record.Calibration{}, "i"},
	} {
		trust := record.JudgeBoth(c.before, c.beside, 200*ms, 20*ms)
		if got := map[bool]string{true: "c"}[trust.ClientLimited != ""] + map[bool]string{true: "d"}[trust.LateDispatch != ""] + map[bool]string{true: "i"}[trust.ITLUntrusted != ""]; got != c.want {
			t.Errorf("%s: %+v, want %q", name, trust, c.want)
		}
	}
}

func TestACalibrationSaysWhatItIs(t *testing.T) {
	t.Parallel()
	c, err := record.NewCalibration(sound())
	if err != nil {
		t.Fatal(err)
	}
	want := "the client, before the level, 64 streams of a token each 18ms: reads 80µs after the write (p99 80µs, worst 400µs), " +
		"TTFT error 200µs (p99 200µs), dispatch p99 100µs, 0.3 % of reads shared, worst GC pause 90µs"
	if c.String() != want {
		t.Errorf("%s, want %s", c, want)
	}
	if (record.Calibration{}).String() != "not calibrated" {
		t.Error(record.Calibration{})
	}
}

func TestWhatIsNoCalibrationIsRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(p *record.CalibrationParts){
		"no stream":          func(p *record.CalibrationParts) { p.Streams = 0 },
		"no token":           func(p *record.CalibrationParts) { p.OutputTokens = 0 },
		"nothing read":       func(p *record.CalibrationParts) { p.Lags = nil },
		"no first token":     func(p *record.CalibrationParts) { p.TTFTErrors = nil },
		"read before sent":   func(p *record.CalibrationParts) { p.Lags = of(1000, 80*us, 1, -1) },
		"a TTFT too short":   func(p *record.CalibrationParts) { p.TTFTErrors[3] = -1 },
		"more shared":        func(p *record.CalibrationParts) { p.Coalesced = 1001 },
		"a pause of nothing": func(p *record.CalibrationParts) { p.WorstPause = -1 },
	} {
		p := sound()
		change(&p)
		if _, err := record.NewCalibration(p); err == nil {
			t.Errorf("%s: made", name)
		}
	}
	if b, err := json.Marshal(record.Calibration{}); err == nil {
		t.Errorf("none is written as %s", b)
	}
}

func TestCalibrationJSONIsStrict(t *testing.T) {
	t.Parallel()
	for _, during := range []bool{false, true} {
		p := sound()
		p.During, p.DispatchLags = during, nil
		c, err := record.NewCalibration(p)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var again record.Calibration
		if err := json.Unmarshal(b, &again); err != nil || again != c {
			t.Errorf("%v: read back as %v", err, again)
		}
		for name, bad := range map[string]string{
			"an unknown field": strings.Replace(string(b), `"streams"`, `"more":1,"streams"`, 1),
			"another schema":   strings.Replace(string(b), "calibration/v1", "calibration/v2", 1),
			"another time":     strings.Replace(string(b), " the level", " any level", 1),
			"no streams":       strings.Replace(string(b), `"streams":64`, `"streams":0`, 1),
			"a negative lag":   strings.Replace(string(b), `"emit_to_read":{"n":1000,"p50":{"ns":80000}`, `"emit_to_read":{"n":1000,"p50":{"ns":-80000}`, 1),
			"two shares":       strings.Replace(string(b), `"coalesced_tokens":3`, `"coalesced_tokens":3000`, 1),
			"more behind it":   string(b) + "{}",
			"nothing":          "{}", "null": "null", "a number": "3",
		} {
			kept := c
			if bad == string(b) {
				t.Errorf("%s: nothing was changed in %s", name, b)
			} else if err := kept.UnmarshalJSON([]byte(bad)); err == nil || kept != c {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func FuzzCalibration(f *testing.F) {
	c, err := record.NewCalibration(sound())
	if err != nil {
		f.Fatal(err)
	}
	b, err := json.Marshal(c)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"schema":"infbench.calibration/v1"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var c record.Calibration
		if err := json.Unmarshal(b, &c); err != nil {
			if !c.IsZero() {
				t.Fatalf("%v and a calibration", err)
			}
			return
		}
		_ = c.Judge(ms, ms)
		out, err := json.Marshal(c)
		if c.IsZero() {
			return // null leaves it as it was
		}
		var again record.Calibration
		if err != nil || json.Unmarshal(out, &again) != nil || again != c {
			t.Fatalf("%s is written as %s: %v", b, out, err)
		}
	})
}
