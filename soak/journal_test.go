package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"infbench/gates"
	"infbench/stages/endpoint"
)

func subject(t testing.TB) gates.Subject {
	t.Helper()
	s, err := gates.NewSubject(gates.SubjectParts{Endpoint: "http://loopback:1", Engine: "e 1", Model: "m", Process: "started 1"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// entries is one of each kind of event, in an order that can happen.
func entries(t testing.TB) []Entry {
	t.Helper()
	about := subject(t)
	n := gates.CountOf
	passed := gates.Run(t.Context(), gates.Check[int]{ID: "smoke/x", Run: func(context.Context, int) (gates.Finding, error) { return gates.Pass("well"), nil }}, 0)
	ledger, err := gates.NewLedger(about, []string{"smoke/x"}, []gates.Verdict{passed}, nil)
	if err != nil {
		t.Fatal(err)
	}
	load := Answers{Asked: 6, Right: 2, Wrong: 1, Busy: 1, Lost: 1, Foreign: 1, PromptTokens: n(600), CachedTokens: n(450)}
	events := []Event{
		Begun{"20261130T080000Z-00000000", "infbench 0", DefaultPlan(), about},
		Round{N: 0, Answers: ledger},
		Reading{Round: 1, FirstToken: ratio(1), PerToken: ratio(1.0312), Anchor: "c2VhbGVk", Rest: endpoint.Gauges{Running: n(0), KVPermille: n(12), ResidentBytes: n(1 << 30)}, Load: load},
		Round{N: 1, Answers: ledger},
		Drifts{"first token", "OPS-08", "it grows"},
		Failed{"smoke/x", 2, "another answer", []string{"asked for 1, answered 2"}, 1},
		Again{"smoke/x", gates.Failed, "again", 1, 3},
		Healed{"smoke/x", 3, true},
		Away{"connection refused"},
		Restarted{"the server process was 1 and is 2", true, about},
		Round{N: 3, Void: "the server was replaced in it"},
		Ended{Cause: interrupted, Stopped: true, Load: load},
		Resumed{"infbench 1", about},
		Ended{},
	}
	var out []Entry
	for i, e := range events {
		out = append(out, Entry{time.Date(2026, 11, 30, 8, i, 0, 0, time.UTC), time.Duration(i) * time.Minute, e})
	}
	return out
}

func linesOf(t testing.TB, list []Entry) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, e := range list {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes()
}

// Each event comes back as it was, and adds up to the same history.
func TestEntriesComeBack(t *testing.T) {
	t.Parallel()
	list := entries(t)
	want := &History{}
	for _, e := range list {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var got Entry
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		again, err := json.Marshal(got)
		if err != nil || !bytes.Equal(line, again) {
			t.Errorf("%s came back as %s, %v", line, again, err)
		}
		if err := want.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	got, skipped, err := Read(bytes.NewReader(linesOf(t, list)))
	if err != nil || skipped != nil {
		t.Fatal(err, skipped)
	}
	if diff := cmp.Diff(asJSON(t, want.Summary("x")), asJSON(t, got.Summary("x"))); diff != "" {
		t.Error(diff)
	}
	// 4 + 2 minutes in two sittings: from the beginning to the interruption, and after it.
	if got.Lasted() != 12*time.Minute || got.Resumed() != 1 || got.Rounds() != 3 || got.Voided() != 1 || got.Load().Asked != 12 {
		t.Errorf("lasted %v, resumed %d times, %d rounds, %d void, %d questions", got.Lasted(), got.Resumed(), got.Rounds(), got.Voided(), got.Load().Asked)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestJournal(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deep", "x.jsonl")
	j, err := Begin(path)
	if err != nil {
		t.Fatal(err)
	}
	list := entries(t)
	for _, e := range list[:4] {
		if err := j.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, _, err := GoOn(path); err == nil || !strings.Contains(err.Error(), "is being written by another soak") {
		t.Errorf("two soaks write one journal: %v", err)
	}
	if _, err := Begin(path); err == nil || !strings.Contains(err.Error(), "there already") {
		t.Errorf("a journal is begun twice: %v", err)
	}
	j.Close()
	before, _ := os.ReadFile(path)
	if !bytes.Equal(before, linesOf(t, list[:4])) {
		t.Errorf("the file holds\n%s", before)
	}
	// A kill in the middle of a line.
	torn := append(bytes.Clone(before), `{"schema":"infbench.soak/v1","time":"20`...)
	if err := os.WriteFile(path, torn, 0o600); err != nil {
		t.Fatal(err)
	}
	j, h, skipped, err := GoOn(path)
	if err != nil || len(skipped) != 1 || skipped[0].Error() != "line 5 is torn (the file ends inside it), skipped" || h.Rounds() != 1 {
		t.Fatalf("%v, skipped %v, %d rounds", err, skipped, h.Rounds())
	}
	if err := j.Append(list[12]); err != nil {
		t.Fatal(err)
	}
	j.Close()
	after, _ := os.ReadFile(path)
	if want := string(torn) + "\n" + string(linesOf(t, list[12:13])); string(after) != want {
		t.Errorf("the file holds\n%s\nwant\n%s", after, want)
	}
	// The torn line stays where it is, and is told again.
	f, _ := os.Open(path)
	defer f.Close()
	if h, skipped, err := Read(f); err != nil || len(skipped) != 1 || h.Resumed() != 1 {
		t.Errorf("%v, skipped %v", err, skipped)
	}
}

// A disk that is full: the error says so, and what was whole stays whole.
func TestJournalOnAFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full here")
	}
	j := &Journal{path: "/dev/full", file: full}
	defer full.Close()
	if err := j.Append(entries(t)[0]); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("%v", err)
	}
	if _, err := Begin(filepath.Join("/dev/full", "x.jsonl")); err == nil {
		t.Error("a journal was begun below a device")
	}
	if _, _, _, err := GoOn("/dev/full"); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("%v", err)
	}
}

func TestJournalsThatAreNone(t *testing.T) {
	t.Parallel()
	list := entries(t)
	begun := string(linesOf(t, list[:1]))
	for name, c := range map[string]struct{ text, want string }{
		"empty":            {"", "it is empty"},
		"blank":            {"\n \n\n", "it is empty"},
		"torn at once":     {begun[:50], "line 1 is torn"},
		"no beginning":     {string(linesOf(t, list[1:2])), "a soak begins with its plan"},
		"another schema":   {strings.Replace(begun, "infbench.soak/v1", "infbench.record/v1", 1), "is not infbench.soak/v1"},
		"a plan for years": {strings.Replace(begun, "8h0m0s", "80000h", 1), "want 1s to"},
		"no plan":          {`{"schema":"infbench.soak/v1","time":"2026-11-30T08:00:00Z","at_ms":0,"begun":{"run":"x"}}` + "\n", "a subject needs"},
		"a record":         {`{"schema":"infbench.record/v1","kind":"verdicts"}` + "\n", "is not infbench.soak/v1"},
		"not when":         {strings.Replace(begun, `"at_ms":0`, `"at_ms":-1`, 1), "not when"},
		"before all time":  {strings.Replace(begun, `"time":"20`, `"time":"00`, 1), "line 1: it says not when"},
		"the year 1":       {strings.Replace(begun, begun[strings.Index(begun, `"time":"`):][:12], `"time":"0001`, 1), "line 1: it says not when"},
		"far ahead":        {strings.Replace(begun, begun[strings.Index(begun, `"time":"`):][:12], `"time":"9000`, 1), "line 1: it says not when"},
		"two at once":      {strings.Replace(begun, `"begun":`, `"away":{"what":"x"},"begun":`, 1), "2 events in one line"},
	} {
		if _, _, err := Read(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), "no journal of a soak") || !strings.Contains(err.Error(), c.want) && name != "no plan" {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	// In the middle a line that cannot be is skipped, and told.
	for name, line := range map[string]string{
		"nonsense":       "x",
		"begun twice":    begun,
		"time goes back": string(linesOf(t, []Entry{{list[0].Time, 0, Away{"x"}}})),
		"no such round":  strings.Replace(string(linesOf(t, list[3:4])), `"n":1`, `"n":-7`, 1),
		"counts":         strings.Replace(string(linesOf(t, list[2:3])), `"right":2`, `"right":3`, 1),
		"a ratio":        strings.Replace(string(linesOf(t, list[2:3])), `"first_token":1`, `"first_token":-1`, 1),
		"a status":       strings.Replace(string(linesOf(t, list[3:4])), `"passed"`, `"splendid"`, 1),
		"too long":       `{"schema":"` + strings.Repeat("x", maxLine) + "\"}",
	} {
		text := begun + string(linesOf(t, list[1:2])) + strings.TrimSuffix(line, "\n") + "\n" + string(linesOf(t, list[12:13]))
		if h, skipped, err := Read(strings.NewReader(text)); err != nil || len(skipped) != 1 || !strings.HasPrefix(skipped[0].Error(), "line 3 skipped: ") || h.Resumed() != 1 {
			t.Errorf("%s: %v, skipped %.200v", name, err, skipped)
		}
	}
}

// Texts of a journal are shown on a terminal: nothing in them is taken for a command.
func TestJournalTextsArePrintable(t *testing.T) {
	t.Parallel()
	list := entries(t)
	text := strings.ReplaceAll(string(linesOf(t, list)), "another answer", `\u001b[2J\u202eanother answer`)
	h, skipped, err := Read(strings.NewReader(text))
	if err != nil || skipped != nil {
		t.Fatal(err, skipped)
	}
	if s := h.Failures()[0].Event.Summary; s != `\u{1b}[2J\u{202e}another answer` {
		t.Errorf("%q", s)
	}
}

// Whatever is read, nothing breaks, nothing grows beyond it, and what was read comes back
// when it is written.
func FuzzRead(f *testing.F) {
	f.Add(linesOf(f, entries(f)))
	f.Add([]byte("{}\n"))
	f.Add(append(linesOf(f, entries(f)[:3]), `{"schema":"infbench.soak/v1"`...))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, skipped, err := Read(bytes.NewReader(b))
		if err != nil {
			if h != nil {
				t.Fatal("an error and a history at once")
			}
			return
		}
		if len(skipped) > maxSkipped {
			t.Fatalf("%d lines are told of", len(skipped))
		}
		if h.Lasted() < 0 || h.Plan().Validate() != nil {
			t.Fatalf("lasted %v, plan %+v", h.Lasted(), h.Plan())
		}
		if _, err := json.Marshal(h.Summary("")); err != nil {
			t.Fatalf("the summary does not marshal: %v", err)
		}
		_ = h.Verdict()
		for line := range bytes.Lines(b) {
			var e Entry
			if json.Unmarshal(line, &e) != nil {
				continue
			}
			once, err := json.Marshal(e)
			if err != nil {
				t.Fatalf("%s does not marshal: %v", line, err)
			}
			var again Entry
			if err := json.Unmarshal(once, &again); err != nil {
				t.Fatalf("%s does not come back: %v", once, err)
			}
			if twice, _ := json.Marshal(again); !bytes.Equal(once, twice) {
				t.Fatalf("%s came back as %s", once, twice)
			}
		}
	})
}
