package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/color"
	"net/http"
	"strings"

	"infbench/gates"
	"infbench/internal/drawn"
)

// An Ability is one thing that a server may be able to do, as it was found by doing it.
type Ability struct {
	// Name is a word or two, such as "json schema".
	Name string `json:"name"`
	// State says how sure it is.
	State State `json:"state"`
	// Detail is what was seen: counts, or the server's own words.
	Detail string `json:"detail,omitempty"`
}

// State is how sure it is that a server can do something.
type State string

// The states. Nothing is inferred from a version.
const (
	Verified    State = "verified here" // it was done
	Implemented State = "implemented"   // it was taken, and did not show
	Unavailable State = "unavailable"   // refused, or taken without effect
)

// A trialOf tries one ability. Each is one entry of the list; what it finds out is noted
// for the checks that come later.
type trialOf struct {
	name string
	try  func(context.Context, Endpoint) (State, string)
}

var abilities = []trialOf{
	{"streaming", tryStreaming},
	{"usage in streams", tryUsage},
	{"usage in each chunk", tryRunningUsage},
	{"cached tokens", tryCached},
	{"reset of the cache", tryFlush},
	{"tools", tryTools},
	{"reasoning", tryReasoning},
	{"json schema", trySchema},
	{"logprobs", tryLogprobs},
	{"seed", trySeed},
	{"ignore_eos", tryForced},
	{"min_tokens", tryLeast},
	{"tokenizer", tryTokenizer},
	{"metrics", tryMetrics},
	{"maximum context", tryContext},
	{"embeddings", tryEmbeddings},
	{"images", tryImages},
}

// Probe tries each ability in turn. What could not be asked because ctx ended is left out.
func (e Endpoint) Probe(ctx context.Context) []Ability {
	var out []Ability
	for _, a := range abilities {
		state, detail := a.try(ctx, e)
		if ctx.Err() != nil {
			return out
		}
		out = append(out, Ability{a.name, state, gates.Printable(detail, 200)})
	}
	return out
}

// lacking notes a capability that the server says it has not. One that broke is asked again
// by the checks.
func (e Endpoint) lacking(c gates.Capability, err error) {
	if FateOf(err) == Declined {
		e.FoundUnable(c, refusal(err))
	}
}

// refusal returns the words of a server that refuses, or of a failure.
func refusal(err error) string {
	var f *Failure
	if errors.As(err, &f) && f.Said != "" {
		return fmt.Sprintf("status %d: %s", f.Status, f.Said)
	}
	return err.Error()
}

func tryStreaming(ctx context.Context, e Endpoint) (State, string) {
	a := e.Stream(ctx, Chat("Count from 1 to 10.").MaxTokens(24))
	if err := a.Err(); err != nil {
		return Unavailable, refusal(err)
	}
	return Verified, fmt.Sprintf("%d events with text", len(a.Timing.Marks))
}

func tryUsage(ctx context.Context, e Endpoint) (State, string) {
	a := e.Stream(ctx, Chat("Hello").MaxTokens(4))
	if err := a.Err(); err != nil {
		return Unavailable, refusal(err)
	}
	if n, ok := a.Usage.Completion.N(); ok {
		return Verified, fmt.Sprintf("%d completion tokens counted", n)
	}
	e.FoundUnable(UsageStream, "asked for with stream_options.include_usage, and it did not come")
	return Unavailable, "asked for with stream_options.include_usage, and it did not come"
}

func tryRunningUsage(ctx context.Context, e Endpoint) (State, string) {
	a := e.Stream(ctx, Chat("Count from 1 to 10.").MaxTokens(12).PerChunkUsage())
	if err := a.Err(); err != nil {
		return Unavailable, refusal(err)
	}
	told := 0
	for _, m := range a.Timing.Marks {
		if m.Tokens > 0 {
			told++
		}
	}
	if told > 1 {
		return Verified, fmt.Sprintf("%d of %d events say how many tokens", told, len(a.Timing.Marks))
	}
	return Unavailable, "no running count comes"
}

// longPrompt is long enough for several cache blocks in every engine.
func longPrompt() Request { return Chat(NewProse(11).Sentences(60) + " Say OK.").MaxTokens(1) }

func tryCached(ctx context.Context, e Endpoint) (State, string) {
	var a Answer
	for range 2 {
		if a = e.Complete(ctx, longPrompt()); a.Err() != nil {
			return Unavailable, refusal(a.Err())
		}
	}
	n, ok := a.Usage.Cached.N()
	switch {
	case !ok:
		e.FoundUnable(CachedCount, "usage holds no prompt_tokens_details.cached_tokens")
		return Unavailable, "usage holds no prompt_tokens_details.cached_tokens"
	case n == 0:
		return Implemented, "0 of a prompt that was sent twice"
	}
	return Verified, fmt.Sprintf("%d of %d prompt tokens", n, a.Usage.Prompt.Or(0))
}

func tryFlush(ctx context.Context, e Endpoint) (State, string) {
	f, ok := e.engine.(CacheFlusher)
	if !ok {
		return Unavailable, "no way to reset the cache of this engine is known"
	}
	if err := f.FlushCache(ctx); err != nil {
		return Unavailable, refusal(err)
	}
	a := e.Complete(ctx, longPrompt())
	n, told := a.Usage.Cached.N()
	switch {
	case a.Err() != nil:
		return Unavailable, refusal(a.Err())
	case !told:
		return Implemented, "taken; the server does not say what is cached"
	case n > 0:
		return Unavailable, fmt.Sprintf("taken, and %d tokens are still cached", n)
	}
	return Verified, "nothing is cached after it"
}

func tryTools(ctx context.Context, e Endpoint) (State, string) {
	schema := json.RawMessage(`{"type":"object","properties":{"key":{"type":"string"}},"required":["key"]}`)
	r := Chat(`Call lookup_record with key "48213907".`).Tool("lookup_record", "Look up a record by its key.", schema).MaxTokens(200)
	var a Answer
	for _, choice := range []string{"auto", "required"} {
		var err error
		a, err = e.Ask(ctx, r.Choose(choice))
		if err != nil {
			e.lacking(Tools, err)
			return Unavailable, refusal(err)
		}
		if len(a.Calls) > 0 {
			return Verified, fmt.Sprintf("a call with tool_choice %s", choice)
		}
	}
	if n, known, err := e.AddedTokens(ctx, a, Chat(r.messages[0].Content)); err == nil && known && n < ToolTokens {
		return Unavailable, fmt.Sprintf("taken, and it adds %d tokens to the prompt", n)
	}
	return Implemented, "taken, and the model makes no call"
}

func tryReasoning(ctx context.Context, e Endpoint) (State, string) {
	a, err := e.Ask(ctx, Chat("What is 17 + 25?"))
	if err != nil {
		return Unavailable, refusal(err)
	}
	if a.Reasoning == "" {
		e.FoundUnable(Reasons, "the model was not seen to think")
		return Unavailable, "the model was not seen to think"
	}
	return Verified, fmt.Sprintf("%d characters under %q", len([]rune(a.Reasoning)), a.ReasoningField)
}

func trySchema(ctx context.Context, e Endpoint) (State, string) {
	schema := json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false}`)
	a, err := e.AskPlain(ctx, Chat("Is water wet? Answer in a plain sentence.").JSONSchema("answer", schema).MaxTokens(64))
	if err != nil {
		return Unavailable, refusal(err)
	}
	var v struct{ OK *bool }
	if json.Unmarshal([]byte(strings.TrimSpace(a.Content)), &v) == nil && v.OK != nil {
		return Verified, "the answer fits the schema"
	}
	return Unavailable, "taken, and the answer is " + a.Says()
}

func tryLogprobs(ctx context.Context, e Endpoint) (State, string) {
	a := e.Complete(ctx, Chat("Hello").MaxTokens(4).Logprobs(2))
	switch {
	case a.Err() != nil:
		e.lacking(Logprobs, a.Err())
		return Unavailable, refusal(a.Err())
	case len(a.Logprobs) == 0:
		e.FoundUnable(Logprobs, "taken, and none come")
		return Unavailable, "taken, and none come"
	}
	return Verified, fmt.Sprintf("%d tokens, %d alternatives", len(a.Logprobs), len(a.Logprobs[0].Top))
}

func trySeed(ctx context.Context, e Endpoint) (State, string) {
	said := map[int]string{}
	for _, seed := range []int{1, 2, 1} {
		a, err := e.AskPlain(ctx, Chat("Write one sentence about the sea.").Temperature(1.3).Seed(seed).MaxTokens(16))
		if err != nil {
			return Unavailable, refusal(err)
		}
		if before, ok := said[seed]; ok && before == a.Everything() && said[2] != before && !e.isRefused("seed") {
			return Verified, "one seed repeats, another differs"
		}
		said[seed] = a.Everything()
	}
	if e.isRefused("seed") {
		return Unavailable, "the field is refused"
	}
	return Implemented, "taken, and a difference between seeds did not show"
}

func tryForced(ctx context.Context, e Endpoint) (State, string) {
	f, ok := e.engine.(LengthForcer)
	if !ok || e.Unable(ForcedLong) != "" {
		return Unavailable, "no way to force the length is known: " + e.Unable(ForcedLong)
	}
	return lengthOf(ctx, e, f.ForceLength(Chat("Reply with OK."), forced))
}

// forced is how many tokens are asked for where one would do.
const forced = 40

func tryLeast(ctx context.Context, e Endpoint) (State, string) {
	return lengthOf(ctx, e, Chat("Reply with OK.").field("min_tokens", forced).MaxTokens(forced))
}

func lengthOf(ctx context.Context, e Endpoint, r Request) (State, string) {
	a := e.Complete(ctx, r)
	if err := a.Err(); err != nil {
		return Unavailable, refusal(err)
	}
	n, ok := a.Usage.Completion.N()
	switch {
	case !ok:
		return Implemented, "taken; the server counts no tokens"
	case n >= forced-1:
		return Verified, fmt.Sprintf("%d tokens, asked for %d", n, forced)
	}
	return Unavailable, fmt.Sprintf("taken, and %d tokens came, asked for %d", n, forced)
}

func tryTokenizer(ctx context.Context, e Endpoint) (State, string) {
	n, err := e.CountTokens(ctx, "The quick brown fox jumps over the lazy dog.")
	if err != nil {
		return Unavailable, refusal(err)
	}
	return Verified, fmt.Sprintf("%d tokens for nine words", n)
}

func tryMetrics(ctx context.Context, e Endpoint) (State, string) {
	if _, ok := e.engine.(Metered); !ok {
		return Unavailable, "no counters of this engine are known"
	}
	c, err := e.Counters(ctx)
	if err != nil {
		return Unavailable, refusal(err)
	}
	if _, ok := c.Output.N(); ok {
		return Verified, "generated tokens are counted"
	}
	return Unavailable, "the page of metrics holds no token counters"
}

func tryContext(_ context.Context, e Endpoint) (State, string) {
	if n, ok := e.build.ContextTokens.N(); ok && n > 0 {
		return Implemented, fmt.Sprintf("the server says %d tokens; smoke/over-long tries it", n)
	}
	if n := e.ContextTokens(0); n > 0 {
		return Implemented, fmt.Sprintf("the server does not say, stated are %d tokens; smoke/over-long tries it", n)
	}
	return Unavailable, "the server does not say: state it with --context"
}

func tryEmbeddings(ctx context.Context, e Endpoint) (State, string) {
	body, err := json.Marshal(map[string]any{"model": e.model, "input": "hello"})
	if err != nil {
		return Unavailable, err.Error()
	}
	status, reply, err := e.post(ctx, "/v1/embeddings", body)
	if err != nil {
		return Unavailable, refusal(err)
	}
	if status != http.StatusOK {
		return Unavailable, fmt.Sprintf("status %d: %s", status, said(e.client.target.hide(reply)))
	}
	if n := len(jsonAt(reply, "data.0.embedding").Array()); n > 0 {
		return Verified, fmt.Sprintf("%d dimensions", n)
	}
	return Unavailable, "taken, and no vector comes"
}

func tryImages(ctx context.Context, e Endpoint) (State, string) {
	const question = "Which colour does the image show? Answer with one word."
	a, err := e.AskPlain(ctx, Conversation().Picture(question, drawn.Picture(color.RGBA{R: 220, A: 255}, "")).MaxTokens(32))
	if err != nil {
		e.lacking(Images, err)
		return Unavailable, refusal(err)
	}
	if strings.Contains(strings.ToLower(a.Visible()), "red") {
		return Verified, "red was seen"
	}
	if n, known, err := e.AddedTokens(ctx, a, Chat(question)); err == nil && known && n < PictureTokens {
		return Unavailable, fmt.Sprintf("taken, and it adds %d tokens to the prompt", n)
	}
	return Implemented, "taken, and the answer is " + a.Says()
}

// What reaches a model adds at least so many tokens to its prompt.
const (
	// ToolTokens are less than a small tool's JSON takes: 40 and more in every tokenizer.
	ToolTokens = 12
	// PictureTokens are less than any model makes of a picture.
	PictureTokens = 4
)

// AddedTokens returns how many prompt tokens an answer's request has beyond a bare one, by
// the server's own count: none means that what was added never reached the model. It needs
// no ability of the model. known is false where the server does not count.
func (e Endpoint) AddedTokens(ctx context.Context, with Answer, bare Request) (added int, known bool, err error) {
	p, ok := with.Usage.Prompt.N()
	if !ok {
		return 0, false, nil
	}
	without := e.Complete(ctx, bare.MaxTokens(1))
	if err := without.Err(); err != nil {
		return 0, false, err
	}
	b, ok := without.Usage.Prompt.N()
	return p - b, ok, nil
}
