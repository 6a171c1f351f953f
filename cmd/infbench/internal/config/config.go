// Package config reads the configuration file. The one rule: what is not understood
// is an error that names the nearest thing that is; nothing is filled in silently.
package config

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/xrash/smetrics"

	"infbench/arrival"
	"infbench/record"
	"infbench/stages/hardware/tree"
)

// Config is a parsed configuration file. The zero Config is an empty file.
type Config struct {
	Target string
	// Targets are several endpoints to be measured in turns; Target is then empty.
	Targets    []string
	Model      string
	Checkpoint string
	// Revision and HeaderCache go with a checkpoint that is named by a URL.
	Revision, HeaderCache string

	// Context is the context of the served model in tokens, 0 where it is not stated.
	Context int

	APIKeyEnv string
	Timeout   time.Duration
	Out       string
	// Evidence is the folder of what failed checks asked and got, "off", "all" or all:FOLDER.
	Evidence string
	// Headers maps a header's name to the environment variable that holds its value.
	Headers     map[string]string
	Identity    Identity
	Hardware    Hardware
	Performance Performance
	// Budget is the time for stage 3, 0 where it is not stated.
	Budget time.Duration
	// BatchInvariant says that the server is declared to answer the same in every batch.
	BatchInvariant bool
	// Precision is what the target keeps of the reference's weights, "" where it is not
	// declared.
	Precision string
	Reference Reference
	Baseline  Baseline
}

// Reference is a server to compare with.
type Reference struct{ Target, Model, APIKeyEnv string }

// Identity states what the server does not tell.
type Identity struct{ Image, Accelerator, Checkpoint string }

// Hardware says what stage 1 looks at.
type Hardware struct {
	Device  string
	Kernels []string
	// Platform picks an image of several, such as "linux/arm64".
	Platform string
	// EngineLog is the file that the engine writes its log to, "" for none.
	EngineLog string
}

// Performance says what stage 4 sends. Zero fields take the defaults.
type Performance struct {
	Arrival                              []arrival.ArrivalModel
	PerLevel                             time.Duration
	Requests, PromptTokens, OutputTokens int
	Tokenizer                            string
	// Workload names what is sent, "" for the default.
	Workload string
	// PastSaturation goes on when more load only makes people wait longer.
	PastSaturation bool
	// Depths are the prompt lengths of the ladder; nil for the default, empty for none.
	Depths []int
	// Tiers are what requests are held to, own ones and built-in ones that are named.
	Tiers []record.Tier
	// DCGM is the address of a DCGM exporter's page, for the power of the engine's accelerators.
	DCGM string
}

// file is the form of the file; durations and models are text there.
type file struct {
	Target      string            `toml:"target"`
	Targets     []string          `toml:"targets"`
	Model       string            `toml:"model"`
	Checkpoint  string            `toml:"checkpoint"`
	Revision    string            `toml:"revision"`
	HeaderCache string            `toml:"header_cache"`
	Context     int               `toml:"context"`
	APIKeyEnv   string            `toml:"api_key_env"`
	Timeout     string            `toml:"timeout"`
	Out         string            `toml:"out"`
	Evidence    string            `toml:"evidence"`
	Headers     map[string]string `toml:"headers"`
	Identity    struct {
		Image       string `toml:"image"`
		Accelerator string `toml:"accelerator"`
		Checkpoint  string `toml:"checkpoint"`
	} `toml:"identity"`
	Hardware struct {
		Device    string   `toml:"device"`
		Kernels   []string `toml:"kernels"`
		Platform  string   `toml:"platform"`
		EngineLog string   `toml:"engine_log"`
	} `toml:"hardware"`
	Correctness struct {
		Budget         string `toml:"budget"`
		BatchInvariant bool   `toml:"batch_invariant"`
		Precision      string `toml:"precision"`
	} `toml:"correctness"`
	Reference struct {
		Target    string `toml:"target"`
		Model     string `toml:"model"`
		APIKeyEnv string `toml:"api_key_env"`
	} `toml:"reference"`
	Performance struct {
		Arrival      []string    `toml:"arrival"`
		PerLevel     string      `toml:"per_level"`
		Requests     int         `toml:"requests"`
		PromptTokens int         `toml:"prompt_tokens"`
		OutputTokens int         `toml:"output_tokens"`
		Tokenizer    string      `toml:"tokenizer"`
		Workload     string      `toml:"workload"`
		Past         bool        `toml:"past_saturation"`
		Depths       []int       `toml:"depths"`
		Tier         []tierTable `toml:"tier"`
		DCGM         string      `toml:"dcgm"`
	} `toml:"performance"`
	Baseline baselineTable `toml:"baseline"`
}

// maxFile bounds a configuration file.
const maxFile = 1 << 20

// Load reads a file.
func Load(path string) (Config, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return Config{}, fmt.Errorf("configuration file: %w", err)
	case !info.Mode().IsRegular():
		return Config{}, fmt.Errorf("configuration file %s is no regular file", path)
	case info.Size() > maxFile:
		return Config{}, fmt.Errorf("configuration file %s is larger than any", path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("configuration file: %w", err)
	}
	c, err := Parse(string(b))
	if err != nil {
		return Config{}, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Parse reads the text of a file. Unknown keys are errors that name the nearest
// known one; all of them are told at once.
func Parse(text string) (Config, error) {
	var f file
	md, err := toml.Decode(text, &f)
	if err != nil {
		return Config{}, fmt.Errorf("not valid TOML: %s", strings.ReplaceAll(err.Error(), "\n", " "))
	}
	var unknown []string
	for _, key := range md.Undecoded() {
		unknown = append(unknown, fmt.Sprintf("unknown key %q%s", key.String(), nearest(key.String())))
	}
	if unknown != nil {
		return Config{}, fmt.Errorf("%s", strings.Join(unknown, "; "))
	}
	c := Config{
		Target: f.Target, Targets: f.Targets, Model: f.Model, Checkpoint: f.Checkpoint, Revision: f.Revision, HeaderCache: f.HeaderCache, Context: f.Context, APIKeyEnv: f.APIKeyEnv, Out: f.Out, Evidence: f.Evidence, Headers: f.Headers,
		BatchInvariant: f.Correctness.BatchInvariant,
		Identity:       Identity{f.Identity.Image, f.Identity.Accelerator, f.Identity.Checkpoint},
		Hardware:       Hardware{f.Hardware.Device, f.Hardware.Kernels, f.Hardware.Platform, f.Hardware.EngineLog}, Precision: f.Correctness.Precision,
		Reference: Reference{f.Reference.Target, f.Reference.Model, f.Reference.APIKeyEnv},
		Performance: Performance{
			Requests: f.Performance.Requests, PromptTokens: f.Performance.PromptTokens, OutputTokens: f.Performance.OutputTokens, Tokenizer: f.Performance.Tokenizer, DCGM: f.Performance.DCGM,
			Workload: f.Performance.Workload, PastSaturation: f.Performance.Past, Depths: f.Performance.Depths,
		},
	}
	if f.Target != "" && f.Targets != nil {
		return Config{}, errors.New("target and targets are both set: one endpoint, or several that are measured in turns")
	}
	for _, d := range []struct {
		key, text string
		to        *time.Duration
	}{{"timeout", f.Timeout, &c.Timeout}, {"correctness.budget", f.Correctness.Budget, &c.Budget}, {"performance.per_level", f.Performance.PerLevel, &c.Performance.PerLevel}} {
		if d.text == "" {
			continue
		}
		v, err := time.ParseDuration(d.text)
		if err != nil || v <= 0 {
			return Config{}, fmt.Errorf("%s = %q is no duration such as \"2m\" or \"500ms\"", d.key, d.text)
		}
		*d.to = v
	}
	if c.Baseline, err = f.Baseline.parse(); err != nil {
		return Config{}, err
	}
	if c.Performance.Tiers, err = tiersOf(f.Performance.Tier); err != nil {
		return Config{}, err
	}
	for _, text := range f.Performance.Arrival {
		m, err := arrival.Parse(text)
		if err != nil {
			return Config{}, fmt.Errorf("performance.arrival: %w", err)
		}
		c.Performance.Arrival = append(c.Performance.Arrival, m)
	}
	for _, n := range []struct {
		key   string
		value int
	}{{"requests", c.Performance.Requests}, {"prompt_tokens", c.Performance.PromptTokens}, {"output_tokens", c.Performance.OutputTokens}} {
		if n.value < 0 {
			return Config{}, fmt.Errorf("performance.%s = %d is negative", n.key, n.value)
		}
	}
	if c.Hardware.Platform != "" {
		if err := tree.CheckPlatform(c.Hardware.Platform); err != nil {
			return Config{}, fmt.Errorf("hardware.platform = %w", err)
		}
	}
	if c.Context < 0 {
		return Config{}, fmt.Errorf("context = %d is negative", c.Context)
	}
	return c, nil
}

// known lists every key of a file.
var known = []string{
	"target", "targets", "model", "context", "checkpoint", "revision", "header_cache", "api_key_env", "timeout", "out", "evidence", "headers", "identity.image", "identity.accelerator", "identity.checkpoint",
	"hardware.device", "hardware.kernels", "hardware.platform", "hardware.engine_log", "correctness.budget", "correctness.batch_invariant", "correctness.precision", "reference.target", "reference.model", "reference.api_key_env", "performance.arrival", "performance.per_level", "performance.requests", "performance.prompt_tokens",
	"performance.output_tokens", "performance.tokenizer", "performance.workload", "performance.past_saturation", "performance.depths", "baseline.name", "baseline.seed", "baseline.repeats", "baseline.depth.prompt_tokens", "baseline.depth.max_tokens", "performance.tier.name", "performance.tier.ttft", "performance.tier.tpot", "performance.tier.max_gap",
}

// nearest suggests the known key that an unknown one was probably meant to be.
func nearest(key string) string {
	best, at := "", len(key)/2+2
	for _, k := range known {
		if d := smetrics.WagnerFischer(key, k, 1, 1, 1); d < at {
			best, at = k, d
		}
		// A key in the wrong table is nearer than a name alone suggests.
		if _, name, ok := strings.Cut(k, "."); ok && (key == name || strings.HasSuffix(key, "."+name)) {
			return fmt.Sprintf(" (did you mean %q?)", k)
		}
	}
	if best == "" {
		return "; known: " + strings.Join(known, ", ")
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// Keys returns every key that a file may hold, sorted.
func Keys() []string { return slices.Sorted(slices.Values(known)) }
