package config_test

import (
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
