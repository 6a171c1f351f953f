package record_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"infbench/record"
)

// MLPerf's published limits in milliseconds, TTFT and TPOT (mlperf.conf b66003e).
func TestBuiltInTiers(t *testing.T) {
	t.Parallel()
	published := map[string][2]time.Duration{
		"mlperf:llama2-70b/server": {2000, 200}, "mlperf:llama2-70b/interactive": {450, 40},
		"mlperf:llama3.1-8b/server": {2000, 100}, "mlperf:llama3.1-8b/interactive": {500, 30},
		"mlperf:llama3.1-405b/server": {6000, 175}, "mlperf:llama3.1-405b/interactive": {4500, 80},
		"mlperf:mixtral-8x7b/server": {2000, 200},
		"mlperf:deepseek-r1/server":  {2000, 80}, "mlperf:deepseek-r1/interactive": {1500, 15},
		"mlperf:gpt-oss-120b/server": {3000, 80}, "mlperf:gpt-oss-120b/interactive": {2000, 15},
		"good": {1000, 25}, "average": {2000, 50},
	}
	names := record.TierNames()
	if len(names) != len(published) {
		t.Errorf("%d tiers, want %d: %v", len(names), len(published), names)
	}
	for name, want := range published {
		tier, ok := record.NamedTier(name)
		if !ok || tier.TTFT() != want[0]*time.Millisecond || tier.TPOT() != want[1]*time.Millisecond {
			t.Errorf("%s is %v, want %v", name, tier, want)
		}
		_, gap := tier.MaxGap()
		if ml := strings.HasPrefix(name, "mlperf:"); tier.Marginal() != ml || gap == ml {
			t.Errorf("%s: marginal %v, gap %v", name, tier.Marginal(), gap)
		}
	}
	if d := record.DefaultTiers(); len(d) != 2 || d[0].Name() != "good" || d[1].Name() != "average" {
		t.Errorf("the defaults are %v", d)
	}
}

func TestNewTier(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, c := range map[string]struct {
		name            string
		ttft, tpot, gap time.Duration
		want            string
	}{
		"no limit on gaps":  {"mine", s, s, 0, ""},
		"all limits":        {"a-b_c.9", s, s, s, ""},
		"no name":           {"", s, s, s, "no name of a tier"},
		"a name with a bar": {"a|b", s, s, s, "no name of a tier"},
		"an escape":         {"a\x1b[2J", s, s, s, "no name of a tier"},
		"a long name":       {strings.Repeat("x", 41), s, s, s, "no name of a tier"},
		"a claimed name":    {"mlperf:mine", s, s, s, "no name of a tier"},
		"a built-in name":   {"good", s, s, s, "limits of its own"},
		"no TTFT":           {"mine", 0, s, s, "for TTFT"},
		"a negative TPOT":   {"mine", s, -s, s, "for TPOT"},
		"a negative gap":    {"mine", s, s, -s, "for the gap"},
		"longer than hours": {"mine", 2 * time.Hour, s, s, "for TTFT"},
	} {
		tier, err := record.NewTier(c.name, c.ttft, c.tpot, c.gap)
		switch {
		case c.want == "" && (err != nil || tier.IsZero()):
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !tier.IsZero() || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%s: %v %v, want words %q", name, tier, err, c.want)
		}
	}
}

func TestTierJSON(t *testing.T) {
	t.Parallel()
	for _, name := range record.TierNames() {
		tier, _ := record.NamedTier(name)
		raw, err := json.Marshal(tier)
		if err != nil {
			t.Fatal(err)
		}
		var back record.Tier
		if err := json.Unmarshal(raw, &back); err != nil || back != tier {
			t.Errorf("%s came back as %v (%v)", raw, back, err)
		}
	}
	// What good meant when a record was written stands in it.
	var old record.Tier
	if err := json.Unmarshal([]byte(`{"name":"good","ttft_ns":3,"tpot_ns":2}`), &old); err != nil || old.TTFT() != 3 {
		t.Errorf("%v %v", old, err)
	}
	for _, raw := range []string{
		`{}`, `{"name":"x"}`, `{"name":"x","ttft_ns":1}`, `{"name":"x","ttft_ns":1,"tpot_ns":1,"rate":1}`, `{"name":"x","ttft_ns":1,"tpot_ns":1,"published_rule":"mean"}`,
		`{"name":"X Y","ttft_ns":1,"tpot_ns":1}`, `{"name":"x","ttft_ns":1.5,"tpot_ns":1}`, `{"name":"x","ttft_ns":-1,"tpot_ns":1}`, `null x`,
	} {
		var tier record.Tier
		if err := json.Unmarshal([]byte(raw), &tier); err == nil || !tier.IsZero() {
			t.Errorf("%s is read as %v", raw, tier)
		}
	}
	if _, err := json.Marshal(record.Tier{}); err == nil {
		t.Error("no tier marshals")
	}
}

func FuzzTier(f *testing.F) {
	f.Add([]byte(`{"name":"x","ttft_ns":1,"tpot_ns":1,"max_gap_ns":5,"published_rule":"p99 of each"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var tier record.Tier
		if err := json.Unmarshal(b, &tier); err != nil {
			if !tier.IsZero() {
				t.Fatal("an error and a tier at once")
			}
			return
		}
		if tier.IsZero() {
			return // null
		}
		if tier.TTFT() <= 0 || tier.TPOT() <= 0 || slices.ContainsFunc([]rune(tier.String()), func(r rune) bool { return r < ' ' }) {
			t.Fatalf("a tier of %v", tier)
		}
		raw, err := json.Marshal(tier)
		var back record.Tier
		if err != nil || json.Unmarshal(raw, &back) != nil || back != tier {
			t.Fatalf("%v came back as %v", tier, back)
		}
	})
}
