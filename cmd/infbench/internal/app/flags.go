package app

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"infbench/arrival"
	"infbench/cmd/infbench/internal/config"
	"infbench/gates"
	"infbench/internal/whole"
	"infbench/stages/correctness/parity"
	"infbench/stages/hardware/power"
	"infbench/stages/hardware/tree"
	"infbench/stages/performance"
)

// settings are a command's flags over its configuration file.
type settings struct {
	waitReady, deadline time.Duration
	line                bool
	report              string
	evidence            evidencePlan
	config.Config
	json, quiet bool
	// auto says that the device was taken from this machine.
	auto bool
	key  string
	// referenceKey is of the reference, claim what the target is said to be beside it.
	referenceKey string
	claim        parity.Claim
	headers      map[string]string
	workload     performance.Config
	arrivals     []arrival.ArrivalModel
	frozen       frozenSettings
}

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "one JSON document on stdout"}
}

func outputFlags() []cli.Flag {
	return []cli.Flag{
		jsonFlag(),
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "no progress, and nothing about what passed"},
		&cli.BoolFlag{Name: "all", Usage: "list every check, also where a stage has many"},
		&cli.BoolFlag{Name: "no-color", Usage: "no colour (NO_COLOR does the same)"},
	}
}

func commonFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.BoolFlag{Name: "line", Usage: "one line on stdout in the place of the report: for a journal"},
		&cli.StringFlag{Name: "report", Usage: "`FILE` that the JSON report is written to, besides what is printed"},
		&cli.StringFlag{Name: "config", Aliases: []string{"c"}, Usage: "TOML `FILE` with any of these settings; flags win"},
		&cli.StringFlag{Name: "out", Usage: "record `FILE` to append to; run and stage4 leave a record below bench/runs without it"},
	}, outputFlags()...)
}

func targetFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "target", Usage: "`URL` of the endpoint, such as http://127.0.0.1:8000"},
		&cli.StringFlag{Name: "model", Usage: "`NAME` of the served model (default: the first one listed)"},
		&cli.IntFlag{Name: "context", DefaultText: "as the server says", Usage: "context of the served model in `TOKENS`, for a server that does not say, or to hold it to"},
		&cli.StringFlag{Name: "api-key-env", Value: "OPENAI_API_KEY", Usage: "environment variable `NAME` that holds the API key"},
		&cli.DurationFlag{Name: "timeout", DefaultText: "2m", Usage: "longest wait for a connection, a first token, or the next one"},
		&cli.DurationFlag{Name: "wait-ready", DefaultText: "not at all", Usage: "wait so long for a server that loads: refused connections and 503; wrong answers are not waited for"},
		&cli.DurationFlag{Name: "deadline", DefaultText: "none", Usage: "longest time for all of it; what is not asked by then is a hard failure"},
		&cli.StringFlag{Name: "image", Usage: "`DIGEST` of the container image, which the server cannot tell"},
	}
}

// severalTargets lets the target be named more than once.
func severalTargets(flags []cli.Flag) []cli.Flag {
	for i, f := range flags {
		if f.Names()[0] == "target" {
			flags[i] = &cli.StringSliceFlag{Name: "target", Usage: "`URL` of the endpoint, such as http://127.0.0.1:8000; may be repeated: measured in turns, side by side"}
		}
	}
	return flags
}

func checkpointFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "checkpoint", Usage: "`PATH or URL` of the checkpoint: a folder, an index file alone, a .safetensors or .gguf file, https://HOST/ORG/NAME"},
		&cli.StringFlag{Name: "revision", Usage: "branch, tag or `COMMIT` of a checkpoint that is named by a URL (default: main)"},
		&cli.StringFlag{Name: "header-cache", DefaultText: "the user's cache folder", Usage: "`FOLDER` for headers read over HTTP, kept by commit; \"off\" keeps none"},
	}
}

func hardwareFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "device", Usage: "accelerator `NAME`, such as sm_90, \"h200 x8\" or gfx942, where the server does not tell; \"auto\" takes that of this machine"},
		&cli.StringSliceFlag{Name: "kernels", Usage: "`PATH` of an image archive or layout, a wheel, a folder or a library whose compiled kernels are read; may be repeated"},
		platformFlag(),
		&cli.StringFlag{Name: "engine-log", Usage: "`FILE` that the engine writes its log to: known bad lines are looked for"},
	}
}

func platformFlag() cli.Flag {
	return &cli.StringFlag{Name: "platform", DefaultText: "Linux on this machine's architecture", Usage: "which `PLATFORM` of an image of several, such as linux/arm64"}
}

func evidenceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "evidence", DefaultText: defaultEvidence, Usage: "`FOLDER` for what failed checks asked and got, to be replayed; \"off\" keeps none, \"all\" or all:FOLDER that of warnings too"},
	}
}

func correctnessFlags() []cli.Flag {
	return append(referenceFlags(), []cli.Flag{
		&cli.BoolFlag{Name: "batch-invariant", Usage: "the server is declared to answer the same in every batch: any difference is a failure"},
		&cli.DurationFlag{Name: "budget", DefaultText: "5m", Usage: "time for stage 3: its checks go as deep as their share of it allows"},
	}...)
}

func performanceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "arrival", DefaultText: "sessions:n=1, n=2, n=4, n=8", Usage: "`MODEL` of one level; may be repeated. Forms: " + strings.Join(arrival.Usage(), " · ")},
		&cli.DurationFlag{Name: "per-level", DefaultText: "10s", Usage: "least time for which a level starts requests"},
		&cli.IntFlag{Name: "requests", DefaultText: "no limit", Usage: "most requests of a level"},
		&cli.StringFlag{Name: "workload", DefaultText: "agent where every level has sessions and no length of prompts is given", Usage: "`NAME` of what is sent: " + strings.Join(performance.Workloads(), ", ")},
		&cli.BoolFlag{Name: "past-saturation", Usage: "go on to heavier levels when more load only makes people wait longer"},
		&cli.StringFlag{Name: "depths", DefaultText: "1024,8192,16384,… as far as the context goes", Usage: "prompt `LENGTHS` in tokens at which one stream's decoding is measured, or off"},
		&cli.IntFlag{Name: "prompt-tokens", DefaultText: "512", Usage: "length of independent prompts"},
		&cli.IntFlag{Name: "output-tokens", DefaultText: "64", Usage: "length of the answers"},
		&cli.StringFlag{Name: "resume", Usage: "journal `FILE` of a run that was stopped while it measured: goes on at the level that was not over"},
		&cli.StringFlag{Name: "tokenizer", Usage: "tokenizer.json `FILE` to count with where the server counts no tokens"},
		tierFlag(),
		&cli.StringFlag{Name: "dcgm", Usage: "`URL` of a DCGM exporter's page, such as http://127.0.0.1:9400/metrics: the power of the engine's accelerators"},
	}
}

// settingsOf reads the configuration file and lays the flags over it.
func settingsOf(ctx *cli.Context) (settings, error) {
	s := settings{workload: performance.DefaultConfig()}
	if path := ctx.String("config"); path != "" {
		c, err := config.Load(path)
		if err != nil {
			return s, usageError{err.Error()}
		}
		s.Config = c
	}
	over := func(name string, to *string) {
		if ctx.IsSet(name) || *to == "" {
			*to = ctx.String(name)
		}
	}
	if err := s.targets(ctx); err != nil {
		return s, err
	}
	over("model", &s.Model)
	over("checkpoint", &s.Checkpoint)
	over("revision", &s.Revision)
	over("header-cache", &s.HeaderCache)
	over("out", &s.Out)
	over("api-key-env", &s.APIKeyEnv)
	over("image", &s.Identity.Image)
	over("device", &s.Hardware.Device)
	over("engine-log", &s.Hardware.EngineLog)
	over("tokenizer", &s.Performance.Tokenizer)
	over("dcgm", &s.Performance.DCGM)
	over("evidence", &s.Evidence)
	s.evidence = evidenceOf(s.Evidence)
	if s.Hardware.Device == "" {
		s.Hardware.Device = s.Identity.Accelerator
	}
	if ctx.IsSet("context") {
		s.Context = ctx.Int("context")
	}
	if s.Context < 0 || ctx.IsSet("context") && s.Context == 0 {
		return s, usagef("--context %d: want a number of tokens", s.Context)
	}
	if ctx.IsSet("timeout") {
		s.Timeout = ctx.Duration("timeout")
	}
	if s.Timeout < 0 || ctx.IsSet("timeout") && s.Timeout == 0 {
		return s, usagef("--timeout %v: want more than 0", s.Timeout)
	}
	if _, ok := os.LookupEnv(s.APIKeyEnv); !ok && ctx.IsSet("api-key-env") && s.APIKeyEnv != "" {
		return s, usagef("--api-key-env names the environment variable %.60q, which is not set", s.APIKeyEnv)
	}
	for _, path := range ctx.StringSlice("kernels") {
		if _, err := os.Stat(path); err != nil {
			return s, usagef("--kernels %.120q: there is no such file or folder", path)
		}
	}
	if ctx.IsSet("kernels") {
		s.Hardware.Kernels = ctx.StringSlice("kernels")
	}
	if err := platformOf(ctx); err != nil {
		return s, err
	}
	if ctx.IsSet("platform") {
		s.Hardware.Platform = ctx.String("platform")
	}
	looks := slices.ContainsFunc(ctx.Command.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), "engine-log") })
	if looks && s.Hardware.EngineLog != "" {
		if err := readable(s.Hardware.EngineLog); err != nil {
			return s, usagef("the engine's log %.120q cannot be read: %v", s.Hardware.EngineLog, err)
		}
	}
	s.json, s.quiet = ctx.Bool("json"), ctx.Bool("quiet")
	s.waitReady, s.deadline, s.line, s.report = ctx.Duration("wait-ready"), ctx.Duration("deadline"), ctx.Bool("line"), ctx.String("report")
	if ctx.IsSet("batch-invariant") {
		s.BatchInvariant = ctx.Bool("batch-invariant")
	}
	if ctx.IsSet("budget") {
		s.Budget = ctx.Duration("budget")
	}
	switch {
	case s.Budget < 0 || ctx.IsSet("budget") && s.Budget < time.Second:
		return s, usagef("--budget %v: want a second or more", s.Budget)
	case s.waitReady < 0 || ctx.IsSet("wait-ready") && s.waitReady == 0:
		return s, usagef("--wait-ready %v: want more than 0", s.waitReady)
	case s.deadline < 0 || ctx.IsSet("deadline") && s.deadline == 0:
		return s, usagef("--deadline %v: want more than 0", s.deadline)
	case s.line && s.json:
		return s, usagef("--line and --json both want stdout; --report FILE keeps the JSON")
	}
	if s.Performance.DCGM != "" {
		if _, err := power.DCGM(s.Performance.DCGM); err != nil {
			return s, usagef("--dcgm: %v", err)
		}
	}
	if err := s.load(ctx); err != nil {
		return s, err
	}
	if ctx.Command.Name == "baseline" {
		if err := s.loadFrozen(ctx); err != nil {
			return s, err
		}
	}
	if err := s.compared(ctx); err != nil {
		return s, err
	}
	return s, s.secrets()
}

// targets settles which endpoints are asked: flags win over the file, of which a command that
// asks one takes one.
func (s *settings) targets(ctx *cli.Context) error {
	flags := ctx.StringSlice("target")
	if one := ctx.String("target"); len(flags) == 0 && one != "" {
		flags = []string{one}
	}
	if len(flags) > 0 {
		s.Target, s.Targets = "", flags
	}
	switch {
	case len(s.Targets) == 0:
	case len(s.Targets) == 1:
		s.Target, s.Targets = s.Targets[0], nil
	case !asksSeveral(ctx.Command):
		return usagef("the configuration file names %d targets, and %s asks one: name it by --target", len(s.Targets), ctx.Command.Name)
	default:
		s.Target = s.Targets[0]
	}
	return nil
}

func asksSeveral(c *cli.Command) bool {
	return slices.ContainsFunc(c.Flags, func(f cli.Flag) bool {
		_, many := f.(*cli.StringSliceFlag)
		return many && f.Names()[0] == "target"
	})
}

// platformOf refuses a --platform that is none, before anything is read.
func platformOf(ctx *cli.Context) error {
	if name := ctx.String("platform"); name != "" {
		if err := tree.CheckPlatform(name); err != nil {
			return usagef("--platform %v", err)
		}
	}
	return nil
}

// separated splits values at commas, for flags whose values have none of their own.
func separated(values []string) []string {
	var out []string
	for _, v := range values {
		out = append(out, strings.Split(v, ",")...)
	}
	return out
}

// readable says why a file cannot be read, without its name.
func readable(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return errors.New("it is no regular file")
	}
	if err == nil {
		var f *os.File
		if f, err = os.Open(path); err == nil {
			return f.Close()
		}
	}
	return tree.WithoutPath(err)
}

// reportable finds out whether the report can be written, before anything is asked.
func (s *settings) reportable() error {
	if s.report == "" {
		return nil
	}
	if err := whole.Prove(s.report); err != nil {
		return fmt.Errorf("--report %w", err)
	}
	return nil
}

// maxNumber bounds token and request counts: ten million is beyond any context.
const maxNumber = 10_000_000

// load lays the performance flags over the defaults.
func (s *settings) load(ctx *cli.Context) error {
	p := s.Performance
	for _, n := range []struct {
		flag string
		file int
		to   *int
	}{
		{"requests", p.Requests, &s.workload.Requests}, {"prompt-tokens", p.PromptTokens, &s.workload.PromptTokens}, {"output-tokens", p.OutputTokens, &s.workload.OutputTokens},
	} {
		if n.file > 0 {
			*n.to = n.file
		}
		if ctx.IsSet(n.flag) {
			if *n.to = ctx.Int(n.flag); *n.to < 1 {
				return usagef("--%s %d: want 1 or more", n.flag, *n.to)
			}
			if *n.to > maxNumber {
				return usagef("--%s %d: want at most %d", n.flag, *n.to, maxNumber)
			}
		}
	}
	if p.PerLevel > 0 {
		s.workload.PerLevel = p.PerLevel
	}
	if ctx.IsSet("per-level") {
		if s.workload.PerLevel = ctx.Duration("per-level"); s.workload.PerLevel <= 0 || s.workload.PerLevel > 24*time.Hour {
			return usagef("--per-level %v: want more than 0 and at most 24h", s.workload.PerLevel)
		}
	}
	s.arrivals = p.Arrival
	if ctx.IsSet("arrival") {
		s.arrivals = nil
		for _, text := range splitModels(ctx.StringSlice("arrival")) {
			m, err := arrival.Parse(text)
			if err != nil {
				return usageError{err.Error()}
			}
			s.arrivals = append(s.arrivals, m)
		}
	}
	if len(s.arrivals) == 0 {
		for _, n := range []int{1, 2, 4, 8} {
			m, err := arrival.Sessions(n, 0, arrival.DefaultSeed)
			if err != nil {
				return err
			}
			s.arrivals = append(s.arrivals, m)
		}
	}
	if err := s.loadTiers(ctx); err != nil {
		return err
	}
	if err := s.loadWorkload(ctx); err != nil {
		return err
	}
	for _, m := range s.arrivals {
		if d := m.FirstDue(); d >= s.workload.PerLevel {
			return usagef("%s starts its first request after %v, and a level starts requests for %v: raise --per-level or the rate", m.Label(), d.Round(time.Millisecond), s.workload.PerLevel)
		}
	}
	if _, err := arrival.Sweep(s.arrivals...); err != nil {
		return usageError{err.Error()}
	}
	return nil
}

// splitModels takes models that commas separate apart: a model's own arguments are
// separated by them too.
func splitModels(values []string) []string {
	var out []string
	for _, p := range separated(values) {
		if key, _, pair := strings.Cut(p, "="); len(out) > 0 && pair && !strings.Contains(key, ":") {
			out[len(out)-1] += "," + p
			continue
		}
		out = append(out, p)
	}
	return out
}

// secrets reads the key and the headers' values from the environment.
func (s *settings) secrets() error {
	if s.APIKeyEnv != "" {
		s.key = os.Getenv(s.APIKeyEnv)
	}
	s.headers = map[string]string{}
	for header, variable := range s.Headers {
		value, ok := os.LookupEnv(variable)
		if !ok {
			return usagef("header %.40q takes its value from the environment variable %.60q, which is not set", header, variable)
		}
		s.headers[header] = value
	}
	return nil
}

// loadWorkload settles what is sent.
func (s *settings) loadWorkload(ctx *cli.Context) error {
	s.workload.Workload = s.Performance.Workload
	if ctx.IsSet("workload") {
		s.workload.Workload = ctx.String("workload")
	}
	s.workload.PastSaturation = s.Performance.PastSaturation || ctx.Bool("past-saturation")
	if err := s.loadDepths(ctx); err != nil {
		return err
	}
	w := s.workload.Workload
	if w != "" && !slices.Contains(performance.Workloads(), w) {
		return usagef("workload %q: want %s", gates.Printable(w, 40), strings.Join(performance.Workloads(), " or "))
	}
	if w != performance.Agent {
		return nil
	}
	if s.workload.PromptTokens > 0 {
		return usagef("an agent's prompts grow from turn to turn: a length of prompts goes with the workload %q", performance.Independent)
	}
	for _, m := range s.arrivals {
		if m.Sessions() == 0 {
			return usagef("an agent's next turn waits for its last answer, and %s does not: take sessions, or the workload %q", m.Label(), performance.Independent)
		}
	}
	return nil
}

// maxDepths bounds a ladder.
const maxDepths = 32

// loadDepths settles the ladder of depths.
func (s *settings) loadDepths(ctx *cli.Context) error {
	depths := s.Performance.Depths
	if ctx.IsSet("depths") {
		depths = []int{}
		if text := ctx.String("depths"); text != "off" {
			for _, word := range strings.Split(text, ",") {
				n, err := strconv.Atoi(strings.TrimSpace(word))
				if err != nil {
					return usagef("--depths %q: want lengths in tokens such as 1024,8192, or off", gates.Printable(text, 60))
				}
				depths = append(depths, n)
			}
		}
	}
	if depths == nil {
		return nil
	}
	if len(depths) > maxDepths {
		return usagef("%d depths: want at most %d", len(depths), maxDepths)
	}
	for i, n := range depths {
		if n < 64 || n > maxNumber || i > 0 && n <= depths[i-1] {
			return usagef("depth %d: want lengths of 64 tokens and more, ascending", n)
		}
	}
	s.workload.Depths = depths
	return nil
}
