package app

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"infbench/gates"
)

// stageTexts are the usage lines and examples of the stage commands.
var stageTexts = [...]struct{ usage, more string }{
	{
		"judge a checkpoint by its small files and headers",
		`Says whether the checkpoint holds what its quantisation and architecture require, before the weights are served: loaders fill
missing scales silently, and the endpoint then speaks garbage at full speed.

Examples:
   infbench stage0 --checkpoint ./model
   infbench stage0 --checkpoint ./model/model.safetensors.index.json     before any weight has landed
   infbench stage0 --checkpoint https://HOST/ORG/NAME --device "h200 x8" before the download: reads headers only
   infbench stage0 --checkpoint ./model-00001-of-00003.gguf              GGUF, all pieces

A private repository wants a token in the environment: INFBENCH_HUB_TOKEN is sent to the host of the URL, HF_TOKEN to the host of
HF_ENDPOINT alone.`,
	},
	{
		"which engine and device, and does every kernel path of it run",
		`Asks for one token, for prompts around the sizes of blocks and chunks, for 2, 4, 8 and more streams at once, for a long prompt beside
others and for every way to sample, and reads what the engine says of itself. Seconds; docs/HARDWARE.md says more.

Examples:
   infbench stage1 --target http://127.0.0.1:8000
   infbench stage1 --target http://127.0.0.1:8000 --device auto           the accelerator of this machine, where the target runs on it
   infbench stage1 --target http://127.0.0.1:8000 --engine-log vllm.log   looks for known bad lines, after the requests
   infbench stage1 --kernels ./site-packages/vllm --device sm_90          without a server`,
	},
	{
		"does the server say the right thing on every channel; the restart hook",
		`Asks a handful of questions with known answers, streamed and plain, with tools, with logprobs, up to the token limit. Seconds.

Examples:
   infbench stage2 --target http://127.0.0.1:8000
   infbench stage2 --target http://127.0.0.1:8000 --json --quiet          in a hook: act on the exit code`,
	},
	{
		"is it right at length, in company, on a warm cache (runs stage 2 first)",
		`Compares a server with itself: alone and in company, cold and warm, short and at length. Before it asks it states how much it will
ask and how long that takes.

Examples:
   infbench stage3 --target http://127.0.0.1:8000                              as much as 5 minutes allow
   infbench stage3 --target http://127.0.0.1:8000 --budget 30m                 deeper prompts, more rounds, longer conversations
   infbench stage3 --target URL --reference http://127.0.0.1:9000 --precision fp8
                                                                               and beside another server of the same weights
   infbench stage3 --target http://127.0.0.1:8000 --batch-invariant            any difference in company is a failure
   infbench stage3 --target http://127.0.0.1:8000 --context 32768              where the server does not say how long its context is

Exit codes: 0 healthy · 1 something was warned of or skipped · 2 a failure, or the target cannot be reached · 64 nothing was examined ·
130 interrupted (docs/EXIT-CODES.md)`,
	},
	{
		"how fast, under which arrivals (runs stages 0 to 3 first)",
		`Examples:
   infbench stage4 --target http://127.0.0.1:8000 --arrival sessions:n=1 --arrival sessions:n=8
   infbench stage4 --target http://127.0.0.1:8000 --arrival poisson:rate=2 --per-level 60s
   infbench stage4 --target http://127.0.0.1:8000 --arrival poisson:rate=2 --per-level 60s --resume FILE.journal
                                                                               the same command, stopped while it measured: goes on
   infbench stage4 --target http://127.0.0.1:8000 --target http://127.0.0.1:8001
                                                                               side by side: gates for each, then load points in turns`,
	},
}

func stageCommand(c console, n int) *cli.Command {
	text := stageTexts[n]
	name := fmt.Sprintf("stage%d", n)
	cmd := &cli.Command{Name: name, Usage: text.usage, Description: text.more, Flags: commonFlags()}
	switch n {
	case 0:
		cmd.Flags = join(cmd.Flags, checkpointFlags(), []cli.Flag{&cli.StringFlag{Name: "device", Usage: "accelerator `NAME`, such as h200 or \"h100 x2\", memory, such as 24GiB, or \"auto\" for this machine's: does it fit?"}})
	case 1:
		cmd.Flags = join(cmd.Flags, targetFlags(), hardwareFlags(), evidenceFlags())
	case 2, 3:
		cmd.Flags = join(cmd.Flags, targetFlags(), []cli.Flag{&cli.BoolFlag{Name: "explain", Usage: "list the requests that each check sent"}}, evidenceFlags())
		if n == 3 {
			cmd.Flags = join(cmd.Flags, correctnessFlags())
		}
	case 4:
		cmd.Flags = join(cmd.Flags, severalTargets(targetFlags()), hardwareFlags(), correctnessFlags(), performanceFlags(), checkpointFlags(), evidenceFlags())
	}
	cmd.Action = func(ctx *cli.Context) error {
		switch n {
		case 0:
			s, err := settingsOf(ctx)
			if err != nil {
				return err
			}
			if s.Checkpoint == "" {
				return usagef("no checkpoint; give --checkpoint PATH or URL: a folder, an index file alone, a .safetensors or .gguf file")
			}
			s.Target = ""
			return pipeWith(c, ctx, name, s, false, gates.Static)
		case 1:
			s, err := settingsOf(ctx)
			if err != nil {
				return err
			}
			if s.Target == "" && len(s.Hardware.Kernels) == 0 && s.Hardware.EngineLog == "" {
				return usagef("nothing to look at; give --target URL, --kernels PATH, --engine-log FILE, or several")
			}
			return pipeWith(c, ctx, name, s, false, gates.Hardware)
		case 2:
			return pipe(c, ctx, name, true, false, gates.Smoke)
		case 3:
			return pipe(c, ctx, name, true, false, gates.Smoke, gates.Correctness)
		}
		return pipe(c, ctx, name, true, true, gates.Static, gates.Hardware, gates.Smoke, gates.Correctness, gates.Performance)
	}
	return cmd
}
