package record_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"infbench/gates"
	"infbench/record"
	"infbench/record/recordtest"
)

var update = flag.Bool("update", false, "write the record files of the current version")

// TestEveryVersionStaysReadable reads record files as they were written by each
// version, below testdata/<version>: the names of files that must be refused begin
// with "refused-", and what they are refused for stands behind it.
func TestEveryVersionStaysReadable(t *testing.T) {
	t.Parallel()
	if *update {
		write(t)
	}
	files, _ := filepath.Glob("testdata/v*/*.jsonl")
	if len(files) < 4 {
		t.Fatalf("only %d record files", len(files))
	}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		refusal, refused := strings.CutPrefix(filepath.Base(path), "refused-")
		for run, err := range record.Read(f) {
			switch {
			case refused && err == nil:
				t.Errorf("%s is read: %s", path, run.Parts().ID)
			case refused && strings.HasPrefix(refusal, "ungated"):
				var ungated *record.UngatedResultError
				if !errors.As(err, &ungated) {
					t.Errorf("%s: %v, want an ungated result", path, err)
				}
			case refused && strings.HasPrefix(refusal, "unmodelled"):
				var unmodelled *record.UnmodelledArrivalError
				if !errors.As(err, &unmodelled) {
					t.Errorf("%s: %v, want an unmodelled arrival", path, err)
				}
			case !refused && err != nil:
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}

// write leaves the files of the current version. It never overwrites: a file that
// exists is what a version really wrote.
func write(t *testing.T) {
	required, verdicts := recordtest.Passing()
	verdicts = append(verdicts[:2:2], recordtest.Verdict("smoke/known-answer", gates.Fail("answered garbage")))
	failed := recordtest.Run(id, recordtest.Ledger(id, required, verdicts, gates.NotRun{Stage: gates.Correctness, Why: "stage 2 failed"},
		gates.NotRun{Stage: gates.Performance, Why: "stage 2 failed"}))
	good, err := json.Marshal(recordtest.PerfRun(id))
	if err != nil {
		t.Fatal(err)
	}
	bad, err := json.Marshal(failed)
	if err != nil {
		t.Fatal(err)
	}
	hosted, err := json.Marshal(recordtest.Hosted(id))
	if err != nil {
		t.Fatal(err)
	}
	for name, line := range map[string][]byte{
		"ladder.jsonl":      recordtest.Line(t, id, recordtest.Laddered()),
		"baseline.jsonl":    recordtest.Line(t, id, recordtest.Frozen()),
		"calibrated.jsonl":  recordtest.Line(t, id, recordtest.Calibrated()),
		"performance.jsonl": good,
		"verdicts.jsonl":    bad,
		"host.jsonl":        hosted,
		"refused-ungated.jsonl": edit(t, good, func(v map[string]any) {
			v["ledger"].(map[string]any)["verdicts"].([]any)[2].(map[string]any)["status"] = "failed"
		}),
		"refused-unmodelled.jsonl": edit(t, good, func(v map[string]any) { delete(v["performance"].(map[string]any), "arrival") }),
	} {
		path := filepath.Join("testdata", "v2", name)
		if _, err := os.Stat(path); err == nil {
			continue
		}
		if err := os.WriteFile(path, append(line, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
