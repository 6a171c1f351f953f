package record_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"infbench/arrival"
	"infbench/gates"
	"infbench/record"
	"infbench/record/recordtest"
)

func journalHead(t *testing.T) record.JournalHead {
	t.Helper()
	_, m := proven(t)
	one, err := arrival.Sessions(1, 0, "test")
	if err != nil {
		t.Fatal(err)
	}
	return record.JournalHead{
		Run: "20261130T120000Z-0123abcd", Began: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), Harness: "infbench test", Identity: recordtest.Identity("sha256:aa", "x"),
		Arrivals: []arrival.ArrivalModel{one, m}, Asked: "as a test", Workload: recordtest.Workload(),
	}
}

func aLevel(t *testing.T) record.Level {
	t.Helper()
	_, model := recordtest.Measurements(12)
	var samples []record.Sample
	for i := range 12 {
		samples = append(samples, recordtest.Sample(time.Duration(i)*10*time.Second))
	}
	l, err := record.NewLevel(record.LevelParts{Arrival: model, Window: 120 * time.Second, Samples: samples, TokenGapsWithheld: "unknown"})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func seals() *record.Redactor { return record.NewRedactor(bytes.Repeat([]byte{7}, 32)) }

// begun returns a journal with one level that has ended and two requests of the next one.
func begun(t *testing.T) (*record.Journal, string) {
	t.Helper()
	g, _ := proven(t)
	path := filepath.Join(t.TempDir(), "x.journal")
	j, err := record.BeginJournal(path, seals(), g, journalHead(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.Close)
	for range 12 {
		j.Sample("level 0", recordtest.Sample(0))
	}
	if err := j.Done("level 0", aLevel(t), []byte(`{"good":12}`)); err != nil {
		t.Fatal(err)
	}
	j.Sample("level 1", recordtest.Sample(0))
	j.Sample("level 1", recordtest.Sample(time.Second))
	if err := j.Lost(); err != nil {
		t.Fatal(err)
	}
	return j, path
}

func TestJournalGoesOn(t *testing.T) {
	t.Parallel()
	g, _ := proven(t)
	j, path := begun(t)
	j.Close()
	again, err := record.OpenJournal(path, seals())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if diff := journalHead(t).ThisVersion().Differences(again.Head()); diff != nil || again.Head().Run != journalHead(t).Run {
		t.Errorf("the head came back another: %q", diff)
	}
	r, err := again.Restore(g, "20261130T130000Z-0123abcd")
	if err != nil {
		t.Fatal(err)
	}
	l, facts, ok := r.Step("level 0")
	if !ok || string(facts) != `{"good":12}` || !reflect.DeepEqual(l, aLevel(t)) {
		t.Errorf("the level came back another: %v, %s", ok, facts)
	}
	if _, _, ok := r.Step("level 1"); ok || r.Steps() != 1 || r.Unfinished() != 2 || len(r.Skipped()) != 0 || time.Since(r.Last()) > time.Minute {
		t.Errorf("%d levels, %d requests besides, skipped %v, last %v", r.Steps(), r.Unfinished(), r.Skipped(), r.Last())
	}
	// A second sitting adds to it, and a third finds both.
	if err := again.Done("level 1", aLevel(t), []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	again.Close()
	third, err := record.OpenJournal(path, seals())
	if err != nil {
		t.Fatal(err)
	}
	if r, err = third.Restore(g, "20261130T140000Z-0123abcd"); err != nil || r.Steps() != 2 || r.Unfinished() != 0 {
		t.Errorf("%v, %d levels, %d besides", err, r.Steps(), r.Unfinished())
	}
	third.Discard()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("it is still there")
	}
}

// Numbers come out of a journal only behind the gates of the same subject, and go into one
// only so.
func TestJournalIsGated(t *testing.T) {
	t.Parallel()
	g, _ := proven(t)
	required, verdicts := recordtest.Passing()
	other, err := recordtest.Ledger(recordtest.Identity("sha256:aa", "another checkpoint"), required, verdicts).Gates()
	if err != nil {
		t.Fatal(err)
	}
	j, path := begun(t)
	var ungated *record.UngatedResultError
	for name, proof := range map[string]gates.GateSet{"none": {}, "of another subject": other} {
		if r, err := j.Restore(proof, "20261130T130000Z-0123abcd"); r != nil || !errors.As(err, &ungated) {
			t.Errorf("restored with gates %s: %v", name, err)
		}
		if made, err := record.BeginJournal(filepath.Join(t.TempDir(), "y"), seals(), proof, journalHead(t)); made != nil || !errors.As(err, &ungated) {
			t.Errorf("begun with gates %s: %v", name, err)
		}
	}
	h := journalHead(t)
	h.Arrivals = nil
	var unmodelled *record.UnmodelledArrivalError
	if _, err := record.BeginJournal(filepath.Join(t.TempDir(), "y"), seals(), g, h); !errors.As(err, &unmodelled) {
		t.Errorf("without arrivals: %v", err)
	}
	r, err := j.Restore(g, "20261130T130000Z-0123abcd")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := json.Marshal(r); !errors.As(err, &ungated) {
		t.Errorf("what was restored marshals: %s", b)
	}
	if s := fmt.Sprintf("%+v %#v", r, r); strings.ContainsAny(s, "0123456789") {
		t.Errorf("what was restored prints %q", s)
	}
	// Nor does the file tell a number that was measured: 9.08 s and 400 tokens of the samples.
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(b)), "\n")[1:] {
		for _, number := range []string{"_ns", "9080000000", "ttft", "92888"} {
			if strings.Contains(line, number) {
				t.Errorf("line %d shows %q", i+2, number)
			}
		}
	}
}

// Whatever is wrong with the file is one line that names it; what can be read is.
func TestJournalsThatAreNotWhole(t *testing.T) {
	t.Parallel()
	g, _ := proven(t)
	_, path := begun(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rows := bytes.SplitAfter(bytes.TrimSuffix(whole, []byte{'\n'}), []byte{'\n'})
	foreign := func() []byte { // the same head by the same key, in another journal
		h := journalHead(t)
		h.Run = "20261130T120000Z-99999999"
		p := filepath.Join(t.TempDir(), "x")
		j, err := record.BeginJournal(p, seals(), g, h)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Done("level 0", aLevel(t), []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		j.Close()
		b, _ := os.ReadFile(p)
		return bytes.SplitAfter(b, []byte{'\n'})[1]
	}()
	for _, c := range []struct {
		name    string
		content []byte
		key     byte
		refused string // "" where it opens
		steps   int
		skipped string
	}{
		{"whole", whole, 7, "", 1, ""},
		{"a torn last line", whole[:len(whole)-20], 7, "", 1, "torn"},
		{"a line of another journal", bytes.Join([][]byte{rows[0], foreign}, nil), 7, "", 0, "its seal is broken, or of another journal"},
		{"a level as another one", bytes.Replace(whole, []byte(`"step":"level 0","done"`), []byte(`"step":"level 1","done"`), 1), 7, "", 0, "its seal is broken"},
		{"rubbish in the middle", bytes.Join([][]byte{rows[0], []byte("rubbish\n"), bytes.Join(rows[1:], nil)}, nil), 7, "", 1, "invalid character"},
		{"a line of no kind", bytes.Join([][]byte{rows[0], []byte("{}\n")}, nil), 7, "", 0, "of no kind"},
		{"another key", whole, 8, "sealed on another machine", 0, ""},
		{"another head", bytes.Replace(whole, []byte("as a test"), []byte("as a lie!"), 1), 7, "its head was changed", 0, ""},
		{"another version", bytes.Replace(whole, []byte("journal/v1"), []byte("journal/v9"), 1), 7, `its schema is "infbench.journal/v9", not infbench.journal/v1`, 0, ""},
		{"a record", []byte(`{"schema":"infbench.record/v1"}` + "\n"), 7, "its schema is", 0, ""},
		{"a torn head", rows[0][:40], 7, "torn", 0, ""},
		{"nothing", nil, 7, "it is empty", 0, ""},
		{"rubbish", []byte("\x00\x01\n"), 7, "no journal of a measurement", 0, ""},
	} {
		p := filepath.Join(t.TempDir(), "x.journal")
		if err := os.WriteFile(p, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		j, err := record.OpenJournal(p, record.NewRedactor(bytes.Repeat([]byte{c.key}, 32)))
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v, want %q in one line", c.name, err, c.refused)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		r, err := j.Restore(g, "20261130T130000Z-0123abcd")
		if err != nil || r.Steps() != c.steps {
			t.Errorf("%s: %v, %d levels", c.name, err, r.Steps())
		}
		if got := fmt.Sprint(r.Skipped()); c.skipped == "" && len(r.Skipped()) > 0 || !strings.Contains(got, c.skipped) {
			t.Errorf("%s: skipped %s, want %q", c.name, got, c.skipped)
		}
		// What comes next stands in a line of its own.
		if err := j.Done("level 1", aLevel(t), []byte(`{}`)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if r, err = j.Restore(g, "20261130T130000Z-0123abcd"); err != nil || r.Steps() != c.steps+1 {
			t.Errorf("%s, gone on with: %v, %d levels", c.name, err, r.Steps())
		}
		j.Close()
	}
	if _, err := record.OpenJournal(t.TempDir(), seals()); err == nil {
		t.Error("a folder is a journal")
	}
	if _, err := record.OpenJournal("/dev/null", seals()); err == nil {
		t.Error("a device is a journal")
	}
}

func TestJournalIsWrittenByOne(t *testing.T) {
	t.Parallel()
	_, path := begun(t)
	if _, err := record.OpenJournal(path, seals()); err == nil || !strings.Contains(err.Error(), "is being written by another run") {
		t.Errorf("%v", err)
	}
}

// All reasons come at once, each with both sides; the process is none of them.
func TestJournalOfAnotherMeasurement(t *testing.T) {
	t.Parallel()
	h := journalHead(t).ThisVersion()
	now := h
	parts := now.Identity.Parts()
	parts.Process = record.Known("started later")
	now.Identity, _ = record.NewIdentity(parts)
	if diff := h.Differences(now); diff != nil {
		t.Errorf("another process: %q", diff)
	}
	if restarted, known := h.Restarted(now.Identity); !restarted || !known {
		t.Errorf("restarted %v, known %v", restarted, known)
	}
	parts.Config, parts.Model = record.Known("other"), "other"
	now.Identity, _ = record.NewIdentity(parts)
	now.Harness, now.Asked, now.Definitions, now.Arrivals = "infbench later", "more", "infbench.figures/v9", now.Arrivals[:1]
	now.Columns = []string{"end_ns"}
	now.Workload.ForcedLength = !now.Workload.ForcedLength
	now.Workload.Seed = "another"
	diff := strings.Join(h.Differences(now), "; ")
	for _, want := range []string{
		"the harness was infbench test, is infbench later", "the definition of figures was ", "what is kept of a sample was session", "the levels was ", "what is sent was as a test, is more",
		"the model was ", "the configuration was ", "that the length was forced was false, is true",
	} {
		if !strings.Contains(diff, want) {
			t.Errorf("%q is missing in %s", want, diff)
		}
	}
	if strings.Contains(diff, "another") {
		t.Errorf("the seed is a reason: %s", diff)
	}
}

// FuzzOpenJournal: no file panics, and what opens restores nothing that was not sealed here.
func FuzzOpenJournal(f *testing.F) {
	f.Add([]byte(`{"schema":"infbench.journal/v1","begun":{},"seal":""}` + "\n"))
	f.Add([]byte(`{"schema":"infbench.journal/v1","begun":{"run":"20261130T120000Z-0123abcd"},"seal":"AAAA"}` + "\n{}\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		p := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(p, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if j, err := record.OpenJournal(p, seals()); err == nil {
			j.Close()
			t.Error("it was never sealed, and opens")
		}
	})
}
