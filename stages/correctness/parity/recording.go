package parity

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"infbench/gates"
	"infbench/internal/whole"
)

// A Recording is what one server answered: all that a comparison needs of it, so that two
// servers which do not fit on one machine can be compared all the same. [Record] and
// [ReadRecording] make one.
type Recording struct {
	origin  string
	set     string // of prompts
	answers []answer
	calls   [][]toolAnswer // one list for each time that all were asked
}

// answer is what came for one prompt.
type answer struct {
	promptTokens gates.Count
	tokens       gates.Count // of the text
	text         string      // asked for without log probabilities
	retold       bool        // asked for with them, another text came
	positions    []position  // nil where the server reports none
}

// toolAnswer is what came for one prompt with tools.
type toolAnswer struct {
	called bool // finish_reason says tool_calls
	valid  bool // each call names a tool and its arguments fit the schema
	said   string
}

// Origin says which engine answered.
func (r Recording) Origin() string { return r.origin }

// Prompts returns how many prompts were answered.
func (r Recording) Prompts() int { return len(r.answers) }

// Reports says whether the server reports log probabilities.
func (r Recording) Reports() bool {
	for _, a := range r.answers {
		if a.positions != nil {
			return true
		}
	}
	return false
}

const recordingSchema = "infbench.parity-answers/v1"

// The form of a recording in a file. A token is [text, logprob], the chosen one first, and
// a text of null is a token without a name.
type (
	recordingWire struct {
		Schema  string         `json:"schema"`
		Origin  string         `json:"origin"`
		Prompts string         `json:"prompts"`
		Answers []answerWire   `json:"answers"`
		Calls   [][]calledWire `json:"calls,omitempty"`
	}
	answerWire struct {
		PromptTokens *int           `json:"prompt_tokens"`
		Tokens       *int           `json:"tokens"`
		Text         string         `json:"text"`
		Retold       bool           `json:"retold,omitempty"`
		Positions    []positionWire `json:"positions"`
	}
	positionWire struct {
		Token tokenWire   `json:"t"`
		End   bool        `json:"end,omitempty"`
		Top   []tokenWire `json:"top"`
	}
	calledWire struct {
		Called bool   `json:"called"`
		Valid  bool   `json:"valid,omitempty"`
		Said   string `json:"said,omitempty"`
	}
)

type tokenWire scored

// MarshalJSON writes a logprob that is no number as null.
func (t tokenWire) MarshalJSON() ([]byte, error) {
	var name, logprob any
	if t.name != "" {
		name = t.name
	}
	if !math.IsNaN(t.logprob) && !math.IsInf(t.logprob, 0) {
		logprob = t.logprob
	}
	return json.Marshal([]any{name, logprob})
}

func (t *tokenWire) UnmarshalJSON(b []byte) error {
	var parts []json.RawMessage
	var name *string
	var logprob *float64
	if err := json.Unmarshal(b, &parts); err != nil || len(parts) != 2 {
		return errors.New("a token is no pair of text and logprob")
	}
	if json.Unmarshal(parts[0], &name) != nil || json.Unmarshal(parts[1], &logprob) != nil {
		return errors.New("a token is no pair of text and logprob")
	}
	*t = tokenWire{logprob: math.NaN()}
	if name != nil {
		t.name = *name
	}
	if logprob != nil {
		t.logprob = *logprob
	}
	return nil
}

// MarshalJSON writes the recording.
func (r Recording) MarshalJSON() ([]byte, error) {
	w := recordingWire{Schema: recordingSchema, Origin: r.origin, Prompts: r.set, Answers: []answerWire{}}
	for _, a := range r.answers {
		out := answerWire{PromptTokens: pointer(a.promptTokens), Tokens: pointer(a.tokens), Text: a.text, Retold: a.retold}
		for _, p := range a.positions {
			pw := positionWire{Token: tokenWire{p.name, p.logprob}, End: p.end, Top: []tokenWire{}}
			for _, t := range p.top {
				pw.Top = append(pw.Top, tokenWire(t))
			}
			out.Positions = append(out.Positions, pw)
		}
		w.Answers = append(w.Answers, out)
	}
	for _, pass := range r.calls {
		out := []calledWire{}
		for _, c := range pass {
			out = append(out, calledWire{c.called, c.valid, c.said})
		}
		w.Calls = append(w.Calls, out)
	}
	return json.Marshal(w)
}

func pointer(c gates.Count) *int {
	if n, ok := c.N(); ok {
		return &n
	}
	return nil
}

func countOf(n *int) gates.Count {
	if n == nil {
		return gates.Count{}
	}
	return gates.CountOf(*n)
}

// What a file may hold: far above what [Record] writes.
const (
	mostBytes     = 256 << 20
	mostPositions = 4096 // of an answer
	mostListed    = 256  // tokens of a position
	mostPasses    = 8
)

// UnmarshalJSON reads a recording; it may come from anywhere.
func (r *Recording) UnmarshalJSON(b []byte) error {
	var w recordingWire
	if err := json.Unmarshal(b, &w); err != nil {
		return fmt.Errorf("no recording of answers: %w", err)
	}
	if w.Schema != recordingSchema {
		return fmt.Errorf("no recording of answers: the schema is %.60q, want %q", w.Schema, recordingSchema)
	}
	if len(w.Answers) > MostPrompts || len(w.Calls) > mostPasses {
		return errors.New("the recording holds more answers than there are prompts")
	}
	out := Recording{origin: gates.Printable(w.Origin, 120), set: gates.Printable(w.Prompts, 40)}
	for _, a := range w.Answers {
		read, err := a.answer()
		if err != nil {
			return err
		}
		out.answers = append(out.answers, read)
	}
	for _, pass := range w.Calls {
		if len(pass) > len(toolPrompts) {
			return errors.New("the recording holds more calls than there are prompts with tools")
		}
		list := []toolAnswer{}
		for _, c := range pass {
			list = append(list, toolAnswer{c.Called, c.Valid, c.Said})
		}
		out.calls = append(out.calls, list)
	}
	*r = out
	return nil
}

func (w answerWire) answer() (answer, error) {
	if len(w.Positions) > mostPositions {
		return answer{}, errors.New("the recording holds an answer that is longer than any")
	}
	a := answer{promptTokens: countOf(w.PromptTokens), tokens: countOf(w.Tokens), text: w.Text, retold: w.Retold}
	for _, p := range w.Positions {
		if len(p.Top) > mostListed {
			return answer{}, errors.New("the recording holds a list of tokens that is longer than any")
		}
		read := position{name: p.Token.name, end: p.End, logprob: p.Token.logprob}
		for _, t := range p.Top {
			read.top = append(read.top, scored(t))
		}
		read.top = named(read.top)
		a.positions = append(a.positions, read)
	}
	return a, nil
}

// ReadRecording reads a file that [Recording.Write] wrote, compressed where its name ends
// in .gz.
func ReadRecording(path string) (Recording, error) {
	f, err := os.Open(path)
	if err != nil {
		return Recording{}, fmt.Errorf("recording of answers: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	var from io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if from, err = gzip.NewReader(f); err != nil {
			return Recording{}, fmt.Errorf("recording of answers %s: %w", path, err)
		}
	}
	b, err := io.ReadAll(io.LimitReader(from, mostBytes+1))
	if err == nil && len(b) > mostBytes {
		err = errors.New("larger than any recording")
	}
	var r Recording
	if err == nil {
		err = r.UnmarshalJSON(b)
	}
	if err != nil {
		return Recording{}, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Write writes the recording to a file, whole or not at all.
func (r Recording) Write(path string) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return whole.Write(path, func(w io.Writer) error { return compressed(w, append(b, '\n'), strings.HasSuffix(path, ".gz")) })
}

func compressed(w io.Writer, b []byte, zip bool) error {
	if !zip {
		_, err := w.Write(b)
		return err
	}
	z := gzip.NewWriter(w)
	if _, err := z.Write(b); err != nil {
		return err
	}
	return z.Close()
}
