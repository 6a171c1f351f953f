package evidence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"infbench/gates"
	"infbench/internal/lists"
	"infbench/stages/endpoint"
)

// text is a text of a server, which may be no UTF-8: then it is written in base64, since
// JSON has no other way to keep the bytes that are the evidence.
type text string

type bytesWire struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON writes a string, or an object with the bytes.
func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return []byte(quoted(string(t))), nil
	}
	return json.Marshal(bytesWire{[]byte(t)})
}

// UnmarshalJSON reads both forms.
func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		var w bytesWire
		err := json.Unmarshal(b, &w)
		*t = text(w.Base64)
		return err
	}
	return json.Unmarshal(b, (*string)(t))
}

// number is a logprob: what is no number in JSON is null.
type number float64

// MarshalJSON writes null for what JSON has no word for.
func (n number) MarshalJSON() ([]byte, error) {
	if f := float64(n); !math.IsNaN(f) && !math.IsInf(f, 0) {
		return json.Marshal(f)
	}
	return []byte("null"), nil
}

// UnmarshalJSON reads null as no number.
func (n *number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = number(math.NaN())
		return nil
	}
	return json.Unmarshal(b, (*float64)(n))
}

// marshal writes a value without escapes for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// count is a [gates.Count] as it is read: absent, null or a number.
type count struct{ gates.Count }

// UnmarshalJSON reads a number or null.
func (c *count) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	var n int
	if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	if n < 0 {
		return fmt.Errorf("a count of %d", n)
	}
	c.Count = gates.CountOf(n)
	return nil
}

// IsZero says that nothing was counted.
func (c count) IsZero() bool { return c.Count == gates.Count{} }

type bundleWire struct {
	// Schema stands first: the keeper of a folder knows its files by their first bytes.
	Schema    string                   `json:"schema"`
	Run       string                   `json:"run"`
	Command   string                   `json:"command"`
	Harness   string                   `json:"harness"`
	Written   time.Time                `json:"written"`
	Model     text                     `json:"model"`
	Ledger    json.RawMessage          `json:"ledger"`
	Dropped   int                      `json:"dropped,omitempty"`
	Exchanges lists.List[exchangeWire] `json:"exchanges,omitzero"`
}

type exchangeWire struct {
	Number   int           `json:"number"`
	Began    time.Duration `json:"began_ns"`
	Stream   bool          `json:"stream"`
	HangUp   int           `json:"hang_up,omitempty"`
	Again    bool          `json:"again,omitempty"`
	Redacted bool          `json:"redacted,omitempty"`
	Cut      bool          `json:"cut,omitempty"`
	NoBody   bool          `json:"request_left_out,omitempty"`
	Request  text          `json:"request"`
	Answer   answerWire    `json:"answer"`
	Raw      text          `json:"raw,omitempty"`
}

type answerWire struct {
	Status         int                     `json:"status"`
	Content        text                    `json:"content"`
	Reasoning      text                    `json:"reasoning,omitempty"`
	ReasoningField text                    `json:"reasoning_field,omitempty"`
	Refusal        text                    `json:"refusal,omitempty"`
	Calls          lists.List[callWire]    `json:"calls,omitzero"`
	Finish         text                    `json:"finish_reason"`
	End            endpoint.End            `json:"end"`
	Usage          usageWire               `json:"usage"`
	Logprobs       lists.List[logprobWire] `json:"logprobs,omitzero"`
	ID             text                    `json:"id,omitempty"`
	Model          text                    `json:"model,omitempty"`
	Broke          lists.List[breachWire]  `json:"broke,omitzero"`
	Comments       int                     `json:"comments,omitempty"`
	Failure        *failureWire            `json:"failure,omitempty"`
	Times          timesWire               `json:"times"`
}

type callWire struct {
	ID        text `json:"id,omitempty"`
	Name      text `json:"name"`
	Arguments text `json:"arguments"`
}

type usageWire struct {
	Prompt     count `json:"prompt_tokens,omitzero"`
	Completion count `json:"completion_tokens,omitzero"`
	Total      count `json:"total_tokens,omitzero"`
	Cached     count `json:"cached_tokens,omitzero"`
	Reasoning  count `json:"reasoning_tokens,omitzero"`
}

type logprobWire struct {
	Token   text                    `json:"token"`
	Logprob number                  `json:"logprob"`
	Top     lists.List[logprobWire] `json:"top,omitzero"`
}

type breachWire struct {
	Hard bool `json:"hard"`
	What text `json:"what"`
}

type failureWire struct {
	Kind       endpoint.Kind `json:"kind"`
	Status     int           `json:"status,omitempty"`
	Said       text          `json:"said,omitempty"`
	What       text          `json:"what"`
	Hint       text          `json:"hint,omitempty"`
	RetryAfter time.Duration `json:"retry_after_ns,omitempty"`
}

type timesWire struct {
	Wrote       time.Duration        `json:"wrote_ns,omitempty"`
	Headers     time.Duration        `json:"headers_ns,omitempty"`
	FirstEvent  time.Duration        `json:"first_event_ns,omitempty"`
	FirstToken  time.Duration        `json:"first_token_ns,omitempty"`
	FirstAnswer time.Duration        `json:"first_answer_ns,omitempty"`
	LastToken   time.Duration        `json:"last_token_ns,omitempty"`
	Ended       time.Duration        `json:"ended_ns"`
	Fresh       bool                 `json:"fresh_connection,omitempty"`
	Dialled     time.Duration        `json:"dialled_ns,omitempty"`
	Resent      bool                 `json:"resent,omitempty"`
	Reads       int                  `json:"reads,omitempty"`
	Bytes       int                  `json:"bytes,omitempty"`
	Marks       lists.List[markWire] `json:"marks,omitzero"`
	Engine      engineWire           `json:"engine,omitzero"`
}

type markWire struct {
	At     time.Duration `json:"at_ns"`
	Read   int32         `json:"read"`
	Tokens int32         `json:"tokens,omitempty"`
}

type engineWire struct {
	Prompt   count         `json:"prompt_tokens,omitzero"`
	Cached   count         `json:"cached_tokens,omitzero"`
	Output   count         `json:"output_tokens,omitzero"`
	Prefill  time.Duration `json:"prefill_ns,omitempty"`
	Decode   time.Duration `json:"decode_ns,omitempty"`
	Queue    gates.Span    `json:"queue_ns,omitzero"`
	Drafted  count         `json:"drafted_tokens,omitzero"`
	Accepted count         `json:"accepted_tokens,omitzero"`
}
