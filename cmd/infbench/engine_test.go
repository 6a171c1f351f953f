//go:build engine

package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"infbench/gates"
	"infbench/internal/faultproxy"
	"infbench/internal/realengine"
)

// load is a short sweep: two levels of a few requests on two cores.
var load = []string{"--arrival", "sessions:n=1", "--arrival", "sessions:n=2", "--budget", "5s", "--per-level", "3s", "--prompt-tokens", "128", "--output-tokens", "16", "--depths", "256,1024"}

// A healthy small model is never called broken, run after run. INFBENCH_RUNS says how
// often.
func TestRealEngineRunLeavesARecord(t *testing.T) {
	s := realengine.Start(t, realengine.Options{Slots: 2, Context: 8192})
	runs, _ := strconv.Atoi(os.Getenv("INFBENCH_RUNS"))
	for i := range max(1, runs) {
		out := filepath.Join(t.TempDir(), "real.jsonl")
		exit, stdout, stderr := infbench(t, nil, nil, append([]string{"run", "--target", s.URL, "--out", out, "--device", "cpu"}, load...)...)
		if exit != 0 && exit != 1 {
			t.Fatalf("run %d: exit %d\n%s\n%s", i+1, exit, stdout, stderr)
		}
		run := lastRun(t, out)
		perf, ok := run.Performance()
		if !ok || !run.Parts().Ending.Complete {
			t.Fatalf("run %d left no complete numbers: %+v\n%s", i+1, run.Parts().Ending, stdout)
		}
		for _, v := range run.Parts().Ledger.Verdicts() {
			if v.Check() != "performance/engine-agrees" {
				continue
			}
			if v.Status() != gates.Passed {
				t.Errorf("run %d: the numbers are not those of the engine's own timers: %s %v", i+1, v.Summary(), v.Evidence())
			}
			t.Logf("run %d: %s", i+1, v.Summary())
		}
		t.Logf("run %d: exit %d in %v, %d levels, caveats: %s", i+1, exit, run.Parts().Took, len(perf.Levels()), strings.Join(perf.Caveats(), "; "))
	}
}

func TestRealEngineMakesToolCalls(t *testing.T) {
	s := realengine.Start(t, realengine.Options{Slots: 2, Context: 8192, Tools: true})
	exit, stdout, _ := infbench(t, nil, nil, "stage2", "--all", "--target", s.URL)
	if exit > 1 {
		t.Fatalf("exit %d\n%s", exit, stdout)
	}
	if !strings.Contains(stdout, "smoke/tool-call") || strings.Contains(stdout, "knows no tools") {
		t.Errorf("the tool call was not asked for:\n%s", stdout)
	}
	t.Log(stdout)
}

// notHere are faults that this server cannot show: it has no reasoning and no pictures,
// and ignores tool_choice by itself.
func notHere(f faultproxy.Info) bool {
	reasons := func(m string) bool { return strings.HasPrefix(m, "RSN") }
	return f.Stage == 0 || f.Stage > 2 || slices.ContainsFunc(f.Modes, reasons) || strings.HasPrefix(f.ID, "image-") || f.ID == "tool-choice-ignored"
}

// Faults drawn at random are caught on a real server too, beyond what it is warned of as
// it is. INFBENCH_FAULTS says how many, INFBENCH_SEED which; each takes half a minute.
func TestRealEngineFaults(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("INFBENCH_FAULTS"))
	if n < 1 {
		t.Skip("INFBENCH_FAULTS does not say how many")
	}
	s := realengine.Start(t, realengine.Options{Slots: 4, Context: 16384, Tools: true})
	var list []string
	for _, f := range faultproxy.Faults() {
		if !notHere(f) {
			list = append(list, f.ID)
		}
	}
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv("INFBENCH_SEED"), "1"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	args := []string{"selftest", "--target", s.URL, "--timeout", "40s"}
	for _, f := range list[:min(n, len(list))] {
		args = append(args, "--fault", f)
	}
	exit, stdout, stderr := infbench(t, func(_ *os.Process, line string) { t.Log(line) }, nil, args...)
	if exit != 0 {
		t.Errorf("exit %d\n%s\n%s", exit, stdout, stderr)
	}
}

// What stage 0 says of a model is what the server makes of it: it refuses each damaged
// one, but for an end token outside the vocabulary, which it serves without a word.
func TestRealEngineAgreesWithStage0(t *testing.T) {
	model := realengine.Model(t)
	sound, err := os.ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}
	number := func(key string, n uint32) func([]byte) []byte {
		return func(b []byte) []byte {
			at := bytes.Index(b, []byte(key)) + len(key) + 4 // behind the value's type
			binary.LittleEndian.PutUint32(b[at:], n)
			return b
		}
	}
	for name, c := range map[string]struct {
		damage func([]byte) []byte
		check  string
		loads  bool
	}{
		"sound":              {func(b []byte) []byte { return b }, "", true},
		"4096 bytes cut off": {func(b []byte) []byte { return b[:len(b)-4096] }, "static/shard.truncated", false},
		"a layer more":       {number("llama.block_count", 31), "static/arch.layers", false},
		"nine key heads":     {number("llama.attention.head_count_kv", 9), "static/gguf.shapes", false},
		"a tensor renamed": {func(b []byte) []byte {
			return bytes.Replace(b, []byte("blk.7.attn_k.weight"), []byte("blk.7.attn_y.weight"), 1)
		}, "static/arch.layer_shape", false},
		"an end token outside": {number("tokenizer.ggml.eos_token_id", 99999), "static/gguf.tokens", true},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "model.gguf")
			if err := os.WriteFile(path, c.damage(bytes.Clone(sound)), 0o644); err != nil {
				t.Fatal(err)
			}
			exit, stdout, _ := infbench(t, nil, nil, "stage0", "--checkpoint", path)
			if wants := c.check != ""; wants != (exit == 2) || wants && !strings.Contains(stdout, "FAIL  "+c.check) || !wants && exit != 0 {
				t.Errorf("exit %d, want %q to fail\n%s", exit, c.check, stdout)
			}
			if got := realengine.Loads(t, path); got != c.loads {
				t.Errorf("the server loads it: %v, want %v", got, c.loads)
			}
		})
	}
}

// A server that dies in the middle: exit 2, and what was found out is kept.
func TestRealEngineKilledInTheMiddle(t *testing.T) {
	for _, at := range []struct {
		line    string
		numbers bool
	}{{"stage 2 smoke: ", false}, {"level 1 of 2: ", true}} {
		t.Run(at.line, func(t *testing.T) {
			s := realengine.Start(t, realengine.Options{Slots: 2, Context: 8192})
			out := filepath.Join(t.TempDir(), "killed.jsonl")
			seen := 0
			exit, stdout, stderr := infbench(t, func(_ *os.Process, line string) {
				if strings.HasPrefix(line, at.line) {
					// The second such line says that the stage or level has ended.
					if seen++; seen == 2 {
						s.Kill()
					}
				}
			}, nil, append([]string{"run", "--target", s.URL, "--out", out, "--timeout", "30s"}, load...)...)
			if exit != 2 {
				t.Fatalf("exit %d, want 2\n%s\n%s", exit, stdout, stderr)
			}
			run := lastRun(t, out)
			if _, ok := run.Performance(); ok != at.numbers {
				t.Errorf("numbers kept: %v, want %v\n%s", ok, at.numbers, stdout)
			}
			if at.numbers && run.Parts().Ending.Complete {
				t.Error("the run says that it is complete")
			}
			if status, _, _ := run.Parts().Ledger.Outcome(gates.Smoke); status != gates.Passed && status != gates.Warned {
				t.Errorf("the verdicts of stage 2 are lost: %s", status)
			}
		})
	}
}

func TestRealEngineRefusesTheWrongKey(t *testing.T) {
	s := realengine.Start(t, realengine.Options{Key: "sk-right-one"})
	exit, stdout, stderr := infbench(t, nil, []string{"OPENAI_API_KEY=sk-wrong-one"}, "stage2", "--target", s.URL)
	if exit != 2 || !strings.Contains(stdout, "401") || strings.Contains(stdout+stderr, "sk-wrong-one") {
		t.Errorf("exit %d\n%s", exit, stdout)
	}
	if exit, stdout, _ := infbench(t, nil, []string{"MY_KEY=sk-right-one"}, "stage2", "--target", s.URL, "--api-key-env", "MY_KEY"); exit > 1 {
		t.Errorf("with the right key: exit %d\n%s", exit, stdout)
	}
}
