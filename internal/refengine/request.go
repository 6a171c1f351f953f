package refengine

import (
	"fmt"
	"math"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"infbench/internal/refengine/reader"
	"infbench/internal/shallow"
)

// A request is a completion request whose every parameter has been checked.
type request struct {
	model    string
	talk     reader.Request
	thinking thinking // what the request says; the engine has a default

	stream, includeUsage, continuousUsage, tokenIDs bool

	maxTokens, minTokens int // 0: not given
	ignoreEOS            bool
	stops                []string
	temperature          float64
	seed                 int64
	seeded               bool
	logprobs             bool
	topLogprobs          int
	salt                 string
	plain                bool // the completions route: text in, text out
}

// thinking is what a request says about reasoning before the answer.
type thinking uint8

const (
	thinkUnset thinking = iota // the engine's default holds
	thinkOn
	thinkOff
)

// An apiError is a refusal with its HTTP status.
type apiError struct {
	status  int
	kind    string
	message string
}

func (e *apiError) Error() string { return e.message }

func badRequest(format string, args ...any) *apiError {
	return &apiError{http.StatusBadRequest, "BadRequestError", fmt.Sprintf(format, args...)}
}

// A body reads the fields of one JSON object and remembers the first complaint.
type body struct {
	root gjson.Result
	err  *apiError
}

func parseBody(data []byte) (*body, *apiError) {
	if !shallow.Valid(data) {
		if !shallow.Nests(data) {
			return nil, badRequest("the request body nests deeper than %d levels", shallow.Depth)
		}
		return nil, badRequest("the request body is not valid JSON")
	}
	root := gjson.ParseBytes(data)
	if !root.IsObject() {
		return nil, badRequest("the request body is not a JSON object")
	}
	return &body{root: root}, nil
}

func (b *body) refuse(format string, args ...any) {
	if b.err == nil {
		b.err = badRequest(format, args...)
	}
}

// field returns the value at path; ok is false when it is absent or null.
func (b *body) field(path string) (v gjson.Result, ok bool) {
	v = b.root.Get(path)
	return v, v.Exists() && v.Type != gjson.Null
}

func (b *body) text(path string) string {
	v, ok := b.field(path)
	if ok && v.Type != gjson.String {
		b.refuse("%s must be a string", path)
	}
	return clean(v.Str)
}

func (b *body) flag(path string) bool {
	v, ok := b.field(path)
	if ok && !v.IsBool() {
		b.refuse("%s must be a boolean", path)
	}
	return v.Bool()
}

// whole reads an integer within [low, high]; absent is 0.
func (b *body) whole(path string, low, high int) int {
	v, ok := b.field(path)
	if !ok {
		return 0
	}
	if v.Type != gjson.Number || v.Num != math.Trunc(v.Num) {
		b.refuse("%s must be an integer", path)
		return 0
	}
	if v.Num < float64(low) || v.Num > float64(high) {
		b.refuse("%s must be between %d and %d, got %s", path, low, high, v.Raw)
		return 0
	}
	return int(v.Num)
}

// real reads a number within [low, high].
func (b *body) real(path string, fallback, low, high float64) float64 {
	v, ok := b.field(path)
	if !ok {
		return fallback
	}
	if v.Type != gjson.Number || v.Num < low || v.Num > high {
		b.refuse("%s must be a number between %g and %g", path, low, high)
		return fallback
	}
	return v.Num
}

// clean replaces broken UTF-8: tokens must join to valid text.
func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

const (
	maxOutput      = 1 << 30
	maxTopLogprobs = 20
	maxStops       = 16
)

// parseChat reads the body of a chat completion.
func parseChat(data []byte) (*request, *apiError) {
	b, err := parseBody(data)
	if err != nil {
		return nil, err
	}
	q := parseCommon(b)
	q.logprobs = b.flag("logprobs")
	q.topLogprobs = b.whole("top_logprobs", 0, maxTopLogprobs)
	if q.topLogprobs > 0 && !q.logprobs {
		b.refuse("top_logprobs needs logprobs to be true")
	}
	if n := b.whole("max_completion_tokens", 1, maxOutput); n > 0 {
		q.maxTokens = n
	}
	if v, ok := b.field("chat_template_kwargs.enable_thinking"); ok {
		q.thinking = thinkOff
		if v.Bool() {
			q.thinking = thinkOn
		}
	}
	q.talk.Messages = parseMessages(b, "messages")
	if b.err == nil && len(q.talk.Messages) == 0 {
		b.refuse("messages must not be empty")
	}
	parseTools(b, &q.talk)
	q.talk.Format = parseFormat(b)
	return q, b.err
}

// parseCompletion reads the body of a text completion.
func parseCompletion(data []byte) (*request, *apiError) {
	b, err := parseBody(data)
	if err != nil {
		return nil, err
	}
	q := parseCommon(b)
	q.plain = true
	if _, ok := b.field("logprobs"); ok {
		q.logprobs = true
		q.topLogprobs = b.whole("logprobs", 0, maxTopLogprobs)
	}
	v, ok := b.field("prompt")
	if list := v.Array(); v.IsArray() && len(list) == 1 {
		v = list[0]
	}
	if !ok || v.Type != gjson.String || v.Str == "" {
		b.refuse("prompt must be one string that is not empty")
	}
	q.talk.Messages = []reader.Message{{Role: reader.User, Content: clean(v.Str)}}
	q.thinking = thinkOff
	return q, b.err
}

func parseCommon(b *body) *request {
	q := &request{
		model:           b.text("model"),
		stream:          b.flag("stream"),
		includeUsage:    b.flag("stream_options.include_usage"),
		continuousUsage: b.flag("stream_options.continuous_usage_stats"),
		tokenIDs:        b.flag("return_token_ids"),
		maxTokens:       b.whole("max_tokens", 1, maxOutput),
		minTokens:       b.whole("min_tokens", 0, maxOutput),
		ignoreEOS:       b.flag("ignore_eos"),
		temperature:     b.real("temperature", 0, 0, 2),
		salt:            b.text("cache_salt"),
		stops:           parseStops(b),
	}
	// vLLM samples at 1 when the request does not say; here silence means the
	// deterministic answer, since only prose ever varies.
	b.real("top_p", 1, math.SmallestNonzeroFloat64, 1)
	if n := b.whole("n", 0, 128); n > 1 {
		b.refuse("n must be 1: this engine gives one choice")
	}
	if v, ok := b.field("seed"); ok {
		if v.Type != gjson.Number || v.Num != math.Trunc(v.Num) {
			b.refuse("seed must be an integer")
		}
		q.seed, q.seeded = v.Int(), true
	}
	return q
}

func parseStops(b *body) []string {
	v, ok := b.field("stop")
	if !ok {
		return nil
	}
	list := []gjson.Result{v}
	if v.IsArray() {
		list = v.Array()
	}
	if len(list) > maxStops {
		b.refuse("stop has more than %d strings", maxStops)
		return nil
	}
	var stops []string
	for _, s := range list {
		if s.Type != gjson.String || s.Str == "" {
			b.refuse("stop must be a string or a list of strings, none of them empty")
			return nil
		}
		stops = append(stops, clean(s.Str))
	}
	return stops
}
