package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"infbench/baseline"
	"infbench/baseline/baselinetest"
	"infbench/cmd/infbench/internal/config"
	"infbench/record"
	"infbench/stages/checkpoint/demo"
	"infbench/stages/endpoint/endpointtest"
)

// variable is what differs from run to run: times, rates, counts of a timed sweep,
// ports, ids and the harness's version.
var variable = []struct {
	what *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`\b\d{8}T\d{6}Z-[0-9a-f]{8}\b`), "RUN"},
	{regexp.MustCompile(`\b\d+(\.\d+)?(m\d+s|ms|µs|ns|s|m)\b`), "VALUE"},
	{regexp.MustCompile(`\b\d+(\.\d+)? tok/s`), "VALUE"},
	{regexp.MustCompile(`\b\d+(\.\d+)? requests/s`), "VALUE"},
	{regexp.MustCompile(`\b[\d,]+ tokens per hour`), "N tokens per hour"},
	{regexp.MustCompile(`\b\d+ tokens deep`), "N tokens deep"},
	{regexp.MustCompile(`\b\d+\.\d in flight`), "N in flight"},
	{regexp.MustCompile(`\bpass, confident\b`), "pass"},
	{regexp.MustCompile(`(sessions:n=\d+ +)\d+( +\d+ %)`), "${1}N$2"},
	{regexp.MustCompile(`loopback:\d+`), "loopback:PORT"},
	{regexp.MustCompile(`\d+/\d+  `), "N/N  "},
	{regexp.MustCompile(`\d+\.\d+ \(peak \d+\)`), "N (peak N)"},
	{regexp.MustCompile(`(VALUE +)\d+( +)`), "${1}N$2"},
	{regexp.MustCompile(`((?:VALUE|—) +)\d+$`), "${1}N"},
	{regexp.MustCompile(`\b\d+ checks\b`), "N checks"},
	{regexp.MustCompile(`\band \d+ more: `), "and N more: "},
	{regexp.MustCompile(`\d+ events with text in \d+ reads`), "N events with text in N reads"},
	{regexp.MustCompile(`infbench-reference (0\.1\.0|test)`), "infbench-reference VERSION"},
	{regexp.MustCompile(`· (0\.1\.0|test) ·`), "· VERSION ·"},
	{regexp.MustCompile(`\b\d{8}\b`), "CODE"},
	{regexp.MustCompile(`infbench 0\.1\.0( [0-9a-f]{12})?`), "infbench VERSION"},
	{regexp.MustCompile(` +`), " "},
	{regexp.MustCompile(`—`), "VALUE"},
}

func settle(line string) string {
	for _, v := range variable {
		line = v.what.ReplaceAllString(line, v.to)
	}
	return strings.TrimSpace(line)
}

var console = regexp.MustCompile("(?ms)^```console\n\\$ (.*?)\n(.*?)^```$")

// TestPagesShowWhatHappens runs each command that README.md and docs/*.md show in a
// console block and compares what it prints. A line "…" stands for any lines.
func TestPagesShowWhatHappens(t *testing.T) {
	pages, _ := filepath.Glob("../../docs/*.md")
	pages = append([]string{"../../README.md"}, pages...)
	dir := t.TempDir()
	if err := demo.Write(filepath.Join(dir, "model")); err != nil {
		t.Fatal(err)
	}
	docs, err := filepath.Abs("../../docs")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(docs, filepath.Join(dir, "docs")); err != nil {
		t.Fatal(err)
	}
	target := endpointtest.Serve(t, &txtar.Archive{})
	faulty := endpointtest.Serve(t, &txtar.Archive{Comment: []byte("fault: lost-tail\n")}) // which docs/EVIDENCE.md has
	recordTwoRuns(t, dir, target)
	makeBaselines(t, dir)
	blocks := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range console.FindAllStringSubmatch(string(text), -1) {
			blocks++
			command := strings.NewReplacer("http://127.0.0.1:8000", target, "http://127.0.0.1:8001", faulty).Replace(m[1])
			var want, got []string
			for try := range 6 {
				c := exec.Command("sh", "-c", command)
				c.Dir = dir
				c.Env = append(os.Environ(), "NO_COLOR=1", "XDG_CONFIG_HOME="+dir)
				out, _ := c.Output()
				want, got = lines(m[2]), lines(string(out))
				// The page shows a machine that did not hold the harness up.
				if matches(want, got) || !heldUp(string(out)) || try == 5 {
					break
				}
			}
			if !matches(want, got) {
				t.Errorf("%s: $ %s\n-shown +printed\n%s", filepath.Base(page), m[1], cmp.Diff(want, got))
			}
		}
	}
	if blocks < 4 {
		t.Errorf("only %d console blocks: the four jobs each have one", blocks)
	}
}

func lines(text string) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = settle(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// matches compares line by line; "…" matches any number of lines, and at the end of a
// line any rest.
func matches(want, got []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if want[0] == "…" {
		for i := range len(got) + 1 {
			if matches(want[1:], got[i:]) {
				return true
			}
		}
		return false
	}
	if len(got) == 0 {
		return false
	}
	head, open := strings.CutSuffix(want[0], "…")
	if want[0] != got[0] && !(open && strings.HasPrefix(got[0], strings.TrimSpace(head))) {
		return false
	}
	return matches(want[1:], got[1:])
}

// recordTwoRuns leaves a good run and one of an image that emits garbage.
func recordTwoRuns(t *testing.T, dir, target string) {
	t.Helper()
	broken := endpointtest.Serve(t, &txtar.Archive{Comment: []byte("fault: one-token\n")})
	quick := []string{"run", "--budget", "5s", "--evidence", "off", "--checkpoint", "model", "--arrival", "sessions:n=1", "--per-level", "300ms", "--prompt-tokens", "64", "--output-tokens", "16"}
	for i, more := range [][]string{{"--target", target, "--out", "bench/runs/a.jsonl"}, {"--target", broken, "--image", "sha256:0123456789abcdef", "--out", "bench/runs/b.jsonl"}} {
		for try := 0; ; try++ {
			c := exec.Command("infbench", slices.Concat(quick, more)...)
			c.Dir = dir
			c.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir)
			out, err := c.CombinedOutput()
			if (err == nil) == (i == 0) {
				break
			}
			// A machine that held the harness up voids the row, rightly; the page shows one
			// that did not.
			if !heldUp(string(out)) || try == 9 {
				t.Fatalf("run %d: %v\n%s", i, err, out)
			}
			if err := os.RemoveAll(filepath.Join(dir, "bench", "runs", "a.jsonl")); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// makeBaselines writes the records that docs/BASELINE.md compares: made up, so that what is said of
// them hangs on no machine. After the change a token of a prompt costs 12 % more.
func makeBaselines(t *testing.T, dir string) {
	t.Helper()
	suite, err := baseline.Scaled(16384)
	if err != nil {
		t.Fatal(err)
	}
	made := func(number int, perToken time.Duration) baselinetest.Parts {
		p := baselinetest.Standard(number)
		p.Suite, p.Model = suite, "some-model"
		p.TTFT = func(d baseline.Depth, warm bool, repeat int) time.Duration {
			if warm {
				return baselinetest.Scattered(34*time.Millisecond, repeat+number)
			}
			return baselinetest.Scattered(30*time.Millisecond+time.Duration(d.PromptTokens)*perToken, repeat+number)
		}
		p.TPOT = func(d baseline.Depth, _ bool, repeat int) time.Duration {
			return baselinetest.Scattered(20*time.Millisecond+time.Duration(d.PromptTokens)*300*time.Nanosecond, repeat+2*number)
		}
		return p
	}
	other := made(5, 100*time.Microsecond)
	other.Accelerator, other.Forced = record.Known("sm_120 x1"), false
	for name, p := range map[string]baselinetest.Parts{"before": made(1, 100*time.Microsecond), "after": made(4, 112*time.Microsecond), "other": other} {
		line, err := baselinetest.Run(p).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "made-"+name+".jsonl"), append(line, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// docs/CHECKS.md, docs/SCHEMES.md and docs/FAILURE-TAXONOMY.md are printed from the code.
func TestPrintedPagesAreUpToDate(t *testing.T) {
	t.Parallel()
	for page, flag := range map[string]string{"CHECKS.md": "--markdown", "SCHEMES.md": "--schemes", "FAILURE-TAXONOMY.md": "--taxonomy"} {
		want, err := exec.Command("infbench", "checks", flag).Output()
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile("../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("make docs writes %s (-printed +page):\n%s", page, diff)
		}
	}
}

// example.toml is a configuration that parses, and shows every key.
func TestExampleShowsEveryKey(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../example.toml")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range config.Keys() {
		name := key[strings.LastIndexByte(key, '.')+1:]
		if !regexp.MustCompile(`(?m)^(# )?(\[)?` + name + `\b`).Match(b) {
			t.Errorf("example.toml does not show %s", key)
		}
	}
	c := exec.Command("infbench", "stage2", "-c", "../../example.toml", "--target", "http://127.0.0.1:1", "--quiet")
	if err := c.Run(); c.ProcessState.ExitCode() != 2 {
		t.Errorf("exit %d (%v), want 2: the example does not parse", c.ProcessState.ExitCode(), err)
	}
}
