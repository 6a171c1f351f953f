package static_test

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"infbench/gates"
	"infbench/stages/checkpoint"
	"infbench/stages/static"
)

// notReported are expectations that this version does not meet, each with the
// reason. The test fails when one of them is met after all.
var notReported = map[string]string{}

// consequences are checks whose further findings are not judged after another one
// failed: what follows from a broken index is no news.
var consequences = map[string][]string{
	"cfg.missing": {"arch.", "q.", "tok."}, "cfg.pointer": {"arch.", "q.", "tok."},
	"idx.parse": {"arch.", "q.", "tok."}, "idx.empty": {"arch.", "q.", "tok."},
}

// stubs are folders in which nearly everything is absent.
var stubs = []string{"deepseek-v3-fp8-stub-index"}

// TestCorpus runs stage 0 over a folder of real checkpoints, which is too large to
// keep here: sub-folders with a listing.tsv each, and expected.tsv beside them.
func TestCorpus(t *testing.T) {
	root := os.Getenv("INFBENCH_CHECKPOINTS")
	if root == "" {
		t.Skip("INFBENCH_CHECKPOINTS names no folder of real checkpoints; those in testdata/real are run by TestReal")
	}
	corpus(t, root)
}

// TestReal runs stage 0 over the few real checkpoints that are kept here.
func TestReal(t *testing.T) { corpus(t, filepath.Join("testdata", "real")) }

func corpus(t *testing.T, root string) {
	known := map[string]bool{}
	for _, c := range static.Checks() {
		known[strings.TrimPrefix(c.ID, "static/")] = true
	}
	rows := table(t, filepath.Join(root, "expected.tsv"))
	if len(rows) == 0 {
		t.Fatal("expected.tsv has no row")
	}
	for _, row := range rows {
		t.Run(row["folder"], func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(root, row["folder"])
			inv, err := checkpoint.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			inv = inv.WithListed(listing(t, dir)...)
			compare(t, row, judge(t, inv), known)
		})
	}
}

// judge returns the verdicts by the short name of their check.
func judge(t *testing.T, inv checkpoint.Inventory) map[string]gates.Verdict {
	t.Helper()
	out := map[string]gates.Verdict{}
	for _, c := range static.Checks() {
		v := gates.Run(t.Context(), c, inv)
		out[strings.TrimPrefix(c.ID, "static/")] = v
	}
	return out
}

func compare(t *testing.T, row map[string]string, got map[string]gates.Verdict, known map[string]bool) {
	expect := map[string]gates.Status{}
	for _, id := range ids(row["fail"]) {
		expect[id] = gates.Failed
	}
	for _, id := range ids(row["warn"]) {
		expect[id] = gates.Warned
	}
	for id, want := range expect {
		why, excused := notReported[row["folder"]+" "+id]
		switch v := got[id]; {
		case !known[id]:
			t.Errorf("%s is wanted, and there is no such check", id)
		case excused && v.Status() == want:
			t.Errorf("%s is reported after all: take it off the list (%s)", id, why)
		case !excused && v.Status() != want:
			t.Errorf("%s says %s (%s), want %s", id, v.Status(), v.Summary(), want)
		}
	}
	for id, v := range got {
		s := v.Status()
		if _, wanted := expect[id]; wanted || s == gates.Passed || s == gates.NotApplicable || follows(row["folder"], expect, id) {
			continue
		}
		// "Cannot judge" and "needs header" are said by one skip: the tensors are not known.
		if s == gates.Skipped && id == "arch.layers" && strings.Contains(v.Summary(), "not known") {
			continue
		}
		if s == gates.Skipped && expect["q.unknown_method"] != 0 && strings.HasPrefix(id, "q.") {
			continue // "not verified" is what an unknown method must lead to
		}
		t.Errorf("false alarm: %s says %s (%s)\n%s", id, s, v.Summary(), strings.Join(v.Evidence(), "\n"))
	}
	for _, id := range ids(row["info"]) {
		if v, ok := got[id]; ok && !strings.HasPrefix(v.Summary(), "info:") {
			t.Errorf("%s says %q, want an info", id, v.Summary())
		}
	}
}

func follows(folder string, expect map[string]gates.Status, id string) bool {
	for cause, prefixes := range consequences {
		if expect[cause] == gates.Failed && slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(id, p) }) {
			return true
		}
	}
	return slices.Contains(stubs, folder) && (strings.HasPrefix(id, "arch.") || strings.HasPrefix(id, "q.") || strings.HasPrefix(id, "tok."))
}

func ids(cell string) []string {
	return strings.FieldsFunc(cell, func(r rune) bool { return r == ',' || r == ' ' })
}

// listing reads the table of a repository's files: the product knows no such file.
func listing(t *testing.T, dir string) []checkpoint.File {
	t.Helper()
	var out []checkpoint.File
	for _, row := range table(t, filepath.Join(dir, "listing.tsv")) {
		size, err := strconv.ParseInt(row["size"], 10, 64)
		if err != nil {
			size = -1
		}
		out = append(out, checkpoint.ListedFile(row["name"], size))
	}
	return out
}

// table reads a file of tab-separated columns with a heading.
func table(t *testing.T, path string) []map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var head []string
	var rows []map[string]string
	for sc := bufio.NewScanner(f); sc.Scan(); {
		cells := strings.Split(sc.Text(), "\t")
		if head == nil {
			head = cells
			continue
		}
		row := map[string]string{}
		for i, c := range cells {
			if i < len(head) {
				row[head[i]] = c
			}
		}
		rows = append(rows, row)
	}
	return rows
}
