package parity

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
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
		`{"schema":"` + recordingSchema + `","answers":[` + answers[:len(answers)-1] + `]}`:                                                            "a list of more than 128 entries",
		`{"schema":"` + recordingSchema + `","answers":[{"positions":[{"t":["a"]}]}]}`:                                                                 "no pair",
		`{"schema":"` + recordingSchema + `","answers":[{"positions":[{"t":[1,2]}]}]}`:                                                                 "no pair",
		`{"schema":"` + recordingSchema + `","calls":[[],[],[],[],[],[],[],[],[]]}`:                                                                    "a list of more than 8 entries",
		`{"schema":"` + recordingSchema + `","calls":[[` + strings.Repeat(`{},`, len(toolPrompts)) + `{}]]}`:                                           "a list of more than 36 entries",
		`{"schema":"` + recordingSchema + `","answers":[{"positions":[` + strings.Repeat(`{},`, mostPositions) + `{}]}]}`:                              "a list of more than 4096 entries",
		`{"schema":"` + recordingSchema + `","answers":[{"positions":[{"t":["a",0],"top":[` + strings.Repeat(`["a",0],`, mostListed) + `["a",0]]}]}]}`: "a list of more than 256 entries",
		`{"schema":"` + recordingSchema + `","answers":[{"positions":[{"t":["a",0,0]}]}]}`:                                                             "no pair",
		`{"schema":"` + recordingSchema + `","answers":[{"prompt_tokens":-1}]}`:                                                                        "counts -1 tokens",
		`{"schema":"` + recordingSchema + `","answers":[{"tokens":-9}]}`:                                                                               "counts -9 tokens",
		`{"schema":"` + recordingSchema + `","answers":[{"tokens":9000000000000000}]}`:                                                                 "counts 9000000000000000 tokens",
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

// What is no file is not waited for.
func TestAPipeIsNoRecording(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe.json")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := ReadRecording(path); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("got %v", err)
	}
}

// A small file that unpacks to millions of empty answers, calls or tokens takes memory in
// proportion to what a file may hold, and not to what is in it.
func TestABombIsRefused(t *testing.T) { //nolint:paralleltest // what others take would be counted
	head := `{"schema":"` + recordingSchema + `",`
	for name, text := range map[string]string{
		"answers":   head + `"answers":[` + strings.Repeat(`{},`, mostBytes/4) + `{}]}`,
		"calls":     head + `"calls":[[` + strings.Repeat(`{},`, mostBytes/4) + `{}]]}`,
		"pair":      head + `"answers":[{"positions":[{"t":[` + strings.Repeat(`1,`, mostBytes/4) + `1]}]}]}`,
		"too large": head + `"answers":[` + strings.Repeat(`{},`, mostBytes/3) + `{}]}`,
	} {
		path := filepath.Join(t.TempDir(), "bomb.json.gz")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(compressed(f, []byte(text), true), f.Close()); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = ReadRecording(path)
		runtime.ReadMemStats(&after)
		// All that was ever taken, freed or not: a reading alone takes five times what it reads.
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; err == nil || took > 24*mostBytes>>20 {
			t.Errorf("%s: %d MiB, %v", name, took, err)
		}
	}
}

// What could not be read again is not written, and leaves no file.
func TestWhatIsTooLargeIsNotWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.json")
	r := Recording{answers: []answer{{text: strings.Repeat("x", mostBytes)}}}
	if err := r.Write(path); err == nil || !strings.Contains(err.Error(), "max_tokens") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was left")
	}
}

// A secret is in no text of a recording, and where tokens spell one they go; what holds none
// is as it was.
func TestRedacted(t *testing.T) {
	t.Parallel()
	redact := strings.NewReplacer("sk-secret", "«key»", "gpu7", "host-1").Replace
	r := recorded([]position{at(p("a", 0.5), p("sk-secret", 0.25))}, []position{at(p("sk-", 0.9)), at(p("secret", 0.9))}, []position{at(p("fine", 0.9))})
	r.origin, r.answers[2].text = "engine at gpu7", "you are sk-secret at gpu7"
	r.calls = [][]toolAnswer{{{called: true, said: "a call of sk-secret"}}}
	out := r.Redacted(redact)
	b, err := json.Marshal(out)
	if err != nil || strings.Contains(string(b), "secret") || strings.Contains(string(b), "gpu7") {
		t.Errorf("%s, %v", b, err)
	}
	if len(out.answers[0].positions) != 1 || out.answers[0].positions[0].top[1].name != "«key»" {
		t.Errorf("the names: %+v", out.answers[0].positions)
	}
	if out.answers[1].positions != nil || out.answers[2].positions != nil || out.answers[2].text != "you are «key» at host-1" {
		t.Errorf("spelt: %+v", out.answers[1:])
	}
	if len(r.answers[2].positions) != 1 || r.answers[0].positions[0].top[1].name != "sk-secret" {
		t.Error("the recording itself was changed")
	}
	was, err := json.Marshal(sample())
	now, err2 := json.Marshal(sample().Redacted(redact))
	if err != nil || err2 != nil || string(was) != string(now) {
		t.Errorf("without a secret\n was %s\n is %s", was, now)
	}
	if c, err := Compare(out, r.Redacted(redact)); err != nil || c.equalTexts != 3 || len(c.differing) > 0 {
		t.Errorf("%+v, %v", c, err)
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
	f.Add([]byte(`{"schema":"infbench.parity-answers/v1","answers":[{"tokens":-1,"long":true,"positions":[{"top":null},{"top":{}}]}],"calls":[[],null]}`))
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
