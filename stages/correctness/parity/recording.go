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
	"infbench/internal/lists"
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
	long         bool        // more came than was asked for, and its beginning was kept
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

// Long returns how many answers were longer than was asked for. Their beginnings are kept.
func (r Recording) Long() (n int) {
	for _, a := range r.answers {
		if a.long {
			n++
		}
	}
	return n
}

const recordingSchema = "infbench.parity-answers/v1"

// The form of a recording in a file. A token is [text, logprob], the chosen one first, and
// a text of null is a token without a name.
type (
	recordingWire struct {
		Schema  string                             `json:"schema"`
		Origin  string                             `json:"origin"`
		Prompts string                             `json:"prompts"`
		Answers lists.List[answerWire]             `json:"answers,omitzero"`
		Calls   lists.List[lists.List[calledWire]] `json:"calls,omitzero"`
	}
	answerWire struct {
		PromptTokens *int                     `json:"prompt_tokens"`
		Tokens       *int                     `json:"tokens"`
		Text         string                   `json:"text"`
		Retold       bool                     `json:"retold,omitempty"`
		Long         bool                     `json:"long,omitempty"`
		Positions    lists.List[positionWire] `json:"positions,omitzero"`
	}
	positionWire struct {
		Token tokenWire             `json:"t"`
		End   bool                  `json:"end,omitempty"`
		Top   lists.List[tokenWire] `json:"top,omitzero"`
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
	var list lists.List[json.RawMessage]
	var name *string
	var logprob *float64
	err := json.Unmarshal(b, &list)
	parts, broken := lists.Read(list, 2, func(r json.RawMessage) (json.RawMessage, error) { return r, nil })
	if err != nil || broken != nil || len(parts) != 2 {
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
	var errs error
	w := recordingWire{Schema: recordingSchema, Origin: r.origin, Prompts: r.set, Answers: written(r.answers, func(a answer) answerWire {
		return answerWire{
			PromptTokens: pointer(a.promptTokens), Tokens: pointer(a.tokens), Text: a.text, Retold: a.retold, Long: a.long,
			Positions: written(a.positions, func(p position) positionWire {
				top := written(p.top, func(s scored) tokenWire { return tokenWire(s) }, &errs)
				return positionWire{Token: tokenWire{p.name, p.logprob}, End: p.end, Top: top}
			}, &errs),
		}
	}, &errs)}
	var passes []lists.List[calledWire]
	for _, pass := range r.calls {
		l := written(pass, func(c toolAnswer) calledWire { return calledWire{c.called, c.valid, c.said} }, &errs)
		passes = append(passes, l)
	}
	var err error
	if w.Calls, err = lists.Of(passes); err != nil || errs != nil {
		return nil, errors.Join(err, errs)
	}
	return json.Marshal(w)
}

// written turns items into the list that is written of them.
func written[A, B any](items []A, turn func(A) B, errs *error) lists.List[B] {
	var out []B
	for _, i := range items {
		out = append(out, turn(i))
	}
	l, err := lists.Of(out)
	*errs = errors.Join(*errs, err)
	return l
}

func pointer(c gates.Count) *int {
	if n, ok := c.N(); ok {
		return &n
	}
	return nil
}

// mostCounted bounds a number of tokens, as the client does.
const mostCounted = 1_000_000_000_000

func countOf(n *int) (gates.Count, error) {
	switch {
	case n == nil:
		return gates.Count{}, nil
	case *n < 0 || *n > mostCounted:
		return gates.Count{}, fmt.Errorf("the recording counts %d tokens", *n)
	}
	return gates.CountOf(*n), nil
}

// What a file may hold: above what [Record] makes of any server.
const (
	mostBytes     = 16 << 20
	mostPositions = 4096 // of an answer
	mostListed    = 256  // tokens of a position
	mostPasses    = 8
)

// UnmarshalJSON reads a recording; it may come from anywhere.
func (r *Recording) UnmarshalJSON(b []byte) error {
	var w recordingWire
	err := json.Unmarshal(b, &w)
	switch {
	case w.Schema != "" && w.Schema != recordingSchema:
		return fmt.Errorf("no recording of answers: the schema is %s, want %q", gates.Quote(w.Schema, 60), recordingSchema)
	case err != nil:
		return fmt.Errorf("no recording of answers: %w", err)
	case w.Schema == "":
		return errors.New("no recording of answers: it names no schema")
	}
	out := Recording{origin: gates.Printable(w.Origin, 120), set: gates.Printable(w.Prompts, 40)}
	if out.answers, err = lists.Read(w.Answers, MostPrompts, answerWire.answer); err != nil {
		return fmt.Errorf("a broken recording: its answers: %w", err)
	}
	if out.calls, err = lists.Read(w.Calls, mostPasses, passOf); err != nil {
		return fmt.Errorf("a broken recording: its calls: %w", err)
	}
	*r = out
	return nil
}

func passOf(l lists.List[calledWire]) ([]toolAnswer, error) {
	return lists.Read(l, len(toolPrompts), func(c calledWire) (toolAnswer, error) {
		return toolAnswer{c.Called, c.Valid, gates.Printable(c.Said, mostSaid)}, nil
	})
}

func (w answerWire) answer() (a answer, err error) {
	a = answer{text: w.Text, retold: w.Retold, long: w.Long}
	if a.promptTokens, err = countOf(w.PromptTokens); err != nil {
		return answer{}, err
	}
	if a.tokens, err = countOf(w.Tokens); err != nil {
		return answer{}, err
	}
	a.positions, err = lists.Read(w.Positions, mostPositions, positionWire.position)
	return a, err
}

func (w positionWire) position() (position, error) {
	top, err := lists.Read(w.Top, mostListed, func(t tokenWire) (scored, error) { return scored(t), nil })
	return position{name: w.Token.name, end: w.End, logprob: w.Token.logprob, top: named(top)}, err
}

// ReadRecording reads a file that [Recording.Write] wrote, compressed where its name ends
// in .gz.
func ReadRecording(path string) (Recording, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return Recording{}, fmt.Errorf("recording of answers: %w", err)
	case !info.Mode().IsRegular():
		return Recording{}, fmt.Errorf("recording of answers: %s is no regular file", gates.Printable(path, 200))
	}
	f, err := os.Open(path)
	if err != nil {
		return Recording{}, fmt.Errorf("recording of answers: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	var from io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if from, err = gzip.NewReader(f); err != nil {
			return Recording{}, fmt.Errorf("recording of answers %s: %w", gates.Printable(path, 200), err)
		}
	}
	b, err := io.ReadAll(io.LimitReader(from, mostBytes+1))
	if err == nil && len(b) > mostBytes {
		err = errors.New("larger than any recording of answers")
	}
	var r Recording
	if err == nil {
		err = r.UnmarshalJSON(b)
	}
	if err != nil {
		return Recording{}, fmt.Errorf("%s: %s", gates.Printable(path, 200), gates.Printable(err.Error(), 200))
	}
	return r, nil
}

// Write writes the recording to a file, whole or not at all. What could not be read again
// is not written.
func (r Recording) Write(path string) error {
	b, err := json.Marshal(r)
	switch {
	case err != nil:
		return err
	case len(b) >= mostBytes:
		return fmt.Errorf("the answers take %d MiB, and a recording takes at most %d: does the server keep to max_tokens?", len(b)>>20, mostBytes>>20)
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
