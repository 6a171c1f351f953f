package parity

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"infbench/gates"
)

func sample() Recording {
	r := recorded([]position{at(p("a", 0.5), p(" é", 0.25)), {logprob: -1, top: []scored{{"x", -2}}}, {end: true, logprob: -0.5}}, nil)
	r.answers[0].retold = true
	r.answers[0].positions[0].logprob = math.NaN()
	r.answers[1].promptTokens = gates.Count{}
	r.calls = [][]toolAnswer{{{called: true, valid: true, said: "a call"}, {said: "text"}}, {{}, {called: true}}}
	return r
}

// A file gives back what was written, compressed or not; a second writing is the same.
func TestRecordingsComeBack(t *testing.T) {
	t.Parallel()
	want, err := json.Marshal(sample())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"plain.json", "zipped.json.gz"} {
		path := filepath.Join(t.TempDir(), name)
		if err := sample().Write(path); err != nil {
			t.Fatal(err)
		}
		r, err := ReadRecording(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(r)
		if err != nil || string(got) != string(want) {
			t.Errorf("%s: %v\ngot  %s\nwant %s", name, err, got, want)
		}
		raw, err := os.ReadFile(path)
		if err != nil || (raw[0] == '{') != strings.HasSuffix(name, ".json") {
			t.Errorf("%s begins with %q, %v", name, raw[0], err)
		}
	}
	if !sample().Reports() || recorded(nil).Reports() {
		t.Error("a recording with positions reports log probabilities, one without does not")
	}
}

func TestRecordingsAreRefused(t *testing.T) {
	t.Parallel()
	answers := strings.Repeat(`{"text":""},`, MostPrompts+1)
	for text, want := range map[string]string{
		``:                                "no recording",
		`[]`:                              "no recording",
		`{"schema":"infbench.record/v1"}`: "the schema is",
		`{"schema":"` + recordingSchema + `","answers":[` + answers[:len(answers)-1] + `]}`: "more answers",
		`{"schema":"` + recordingSchema + `","answers":[{"positions":[{"t":["a"]}]}]}`:      "no pair",
		`{"schema":"` + recordingSchema + `","answers":[{"positions":[{"t":[1,2]}]}]}`:      "no pair",
		`{"schema":"` + recordingSchema + `","calls":[[],[],[],[],[],[],[],[],[]]}`:         "more answers",
	} {
		path := filepath.Join(t.TempDir(), "x.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadRecording(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "x.json") {
			t.Errorf("%.60s: got %v, want %q", text, err, want)
		}
	}
	if _, err := ReadRecording(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there was read")
	}
}

// Whatever a file holds, it is refused, or compares with itself to zero and comes back.
func FuzzRecording(f *testing.F) {
	b, err := json.Marshal(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"schema":"infbench.parity-answers/v1","prompts":"x","answers":[{"text":"a","positions":[{"t":["a",1e308],"top":[["a",1e308],["a",null]]}]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r Recording
		if r.UnmarshalJSON(b) != nil {
			return
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatalf("%q is read and not written: %v", b, err)
		}
		var second Recording
		if err := second.UnmarshalJSON(again); err != nil {
			t.Fatalf("%q is written and not read: %v", b, err)
		}
		c, err := Compare(r, second)
		if err != nil {
			return
		}
		if c.divergence.mean != 0 || c.chosen.mean != 0 || len(c.differing) > 0 {
			t.Fatalf("%q differs from itself: %+v", b, c)
		}
		if _, err := json.Marshal(c); err != nil {
			t.Fatal(err)
		}
		c.Judge(Claim{})
	})
}
