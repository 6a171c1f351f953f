package config_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"infbench/cmd/infbench/internal/config"
)

func TestParse(t *testing.T) {
	t.Parallel()
	c, err := config.Parse(`
target = "http://h"
timeout = "90s"
[headers]
X-A = "A_VAR"
[hardware]
kernels = ["a", "b"]
engine_log = "e.log"
[performance]
arrival = ["sessions:n=2,think=1s", "poisson:rate=3"]
per_level = "5s"
prompt_tokens = 99
`)
	if err != nil {
		t.Fatal(err)
	}
	if c.Target != "http://h" || c.Timeout != 90*time.Second || c.Headers["X-A"] != "A_VAR" || len(c.Hardware.Kernels) != 2 || c.Hardware.EngineLog != "e.log" ||
		len(c.Performance.Arrival) != 2 || c.Performance.PerLevel != 5*time.Second || c.Performance.PromptTokens != 99 {
		t.Errorf("%+v", c)
	}
}

func TestTiers(t *testing.T) {
	t.Parallel()
	c, err := config.Parse(`
[[performance.tier]]
name = "snappy"
ttft = "300ms"
tpot = "12ms"
max_gap = "200ms"
[[performance.tier]]
name = "slow"
ttft = "10s"
tpot = "100ms"
[[performance.tier]]
name = "mlperf:llama2-70b/server"
`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tier := range c.Performance.Tiers {
		got = append(got, tier.String())
	}
	want := []string{"snappy: TTFT 300ms, TPOT 12ms, no gap over 200ms", "slow: TTFT 10s, TPOT 100ms", "mlperf:llama2-70b/server: TTFT 2s, TPOT 200ms"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestMistakesNameTheNearestKey(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"chekpoint = 'x'":                       `did you mean "checkpoint"`,
		"prompt_tokens = 5":                     `did you mean "performance.prompt_tokens"`,
		"[performance]\nper_levl = '5s'":        `did you mean "performance.per_level"`,
		"[identity]\ndevice = 'x'":              `did you mean "hardware.device"`,
		"zzzzzzzzzzzzzzzz = 1":                  "known: ",
		"a = 1\nb = 2":                          `"a"`,
		"target = 5":                            "not valid TOML",
		"target = 'a'\ntargets = ['b']":         "target and targets are both set",
		"timeout = '-5s'":                       "no duration",
		"[performance]\narrival = ['fast']":     "unknown arrival model",
		"[performance]\noutput_tokens = -1":     "negative",
		"[performance]\nper_level = 'a moment'": "no duration",

		"[[performance.tier]]\nname='x'\ntftt='1s'":                            `did you mean "performance.tier.ttft"`,
		"[[performance.tier]]\nttft='1s'\ntpot='1s'":                           "has no name",
		"[[performance.tier]]\nname='x'":                                       "none of good, average",
		"[[performance.tier]]\nname='x'\nttft='1s'":                            `tpot = ""`,
		"[[performance.tier]]\nname='x'\nttft='1s'\ntpot='-1s'":                `tpot = "-1s"`,
		"[[performance.tier]]\nname='x'\nttft='1s'\ntpot='1s'\nmax_gap='0'":    `max_gap = "0"`,
		"[[performance.tier]]\nname='good'\nttft='1s'\ntpot='1s'":              "limits of its own",
		"[[performance.tier]]\nname='X Y'\nttft='1s'\ntpot='1s'":               "no name of a tier",
		"[[performance.tier]]\nname='good'\n[[performance.tier]]\nname='good'": "stands twice",
		"[performance.tier]\nname='good'":                                      "not valid TOML",
	} {
		if _, err := config.Parse(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want one line with %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("target = 'x'")
	f.Add("[performance]\narrival = ['burst:n=1']")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := config.Parse(text)
		if err != nil && (c.Target != "" || len(c.Performance.Arrival) > 0) {
			t.Fatalf("an error and a configuration: %v", err)
		}
		for _, m := range c.Performance.Arrival {
			if m.IsZero() {
				t.Fatal("an arrival model that is none")
			}
		}
	})
}
