package endpoint

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"

	openai "github.com/sashabaranov/go-openai"
)

// Request is one chat request. It is a value: each method returns a changed copy.
// Sampling is always explicit (temperature 0, top_p 1, seed 1, a token limit),
// since servers take what is missing from the checkpoint's own defaults.
type Request struct {
	messages  []openai.ChatCompletionMessage
	tools     []openai.Tool
	choice    any
	maxTokens int
	temp      float64
	seed      *int
	stop      []string
	logprobs  int
	extra     map[string]any // engine fields; the values are of this package's making
	perChunk  bool
	format    map[string]any // response_format, of this package's making
	model     string         // "": the endpoint's own
	newName   bool           // the token limit is called max_completion_tokens
	hangUp    int            // events with text after which reading ends; 0: never
	speaks    func()         // told of the first text of a stream; nil: nobody
}

// DefaultMaxTokens is generous, for models that think before they answer.
const DefaultMaxTokens = 2048

// Chat returns a request with one user message.
func Chat(user string) Request {
	one := 1
	return Request{maxTokens: DefaultMaxTokens, seed: &one}.User(user)
}

// Conversation returns a request without messages yet.
func Conversation() Request {
	one := 1
	return Request{maxTokens: DefaultMaxTokens, seed: &one}
}

func (r Request) message(m openai.ChatCompletionMessage) Request {
	r.messages = append(slices.Clip(r.messages), m)
	return r
}

// System returns the request with a system message at the end.
func (r Request) System(text string) Request {
	return r.message(openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: text})
}

// User returns the request with a user message at the end.
func (r Request) User(text string) Request {
	return r.message(openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: text})
}

// Picture returns the request with a user message that holds a text and a PNG picture.
func (r Request) Picture(text string, png []byte) Request {
	return r.message(openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, MultiContent: []openai.ChatMessagePart{
		{Type: openai.ChatMessagePartTypeText, Text: text},
		{Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{URL: "data:image/png;base64," + base64.StdEncoding.EncodeToString(png)}},
	}})
}

// Assistant returns the request with an assistant message at the end.
func (r Request) Assistant(text string) Request {
	return r.message(openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant, Content: text})
}

// Begin returns the request with a text before that of its first message: what comes after
// is then in no cache.
func (r Request) Begin(text string) Request {
	if len(r.messages) == 0 {
		return r
	}
	r.messages = slices.Clone(r.messages)
	r.messages[0].Content = text + " " + r.messages[0].Content
	return r
}

// Called returns the request with an assistant message that made one call, and the
// tool's answer to it.
func (r Request) Called(call ToolCall, result string) Request {
	return r.CalledSaying("", call, result)
}

// CalledSaying is [Request.Called] for a message that held text beside its call.
func (r Request) CalledSaying(text string, call ToolCall, result string) Request {
	r = r.message(openai.ChatCompletionMessage{
		Role: openai.ChatMessageRoleAssistant, Content: text,
		ToolCalls: []openai.ToolCall{{
			ID: call.ID, Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: call.Name, Arguments: call.Arguments},
		}},
	})
	return r.message(openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, ToolCallID: call.ID, Content: result})
}

// CallIDs returns the request with other ids for the calls of its history, the n-th from 0
// called id(n), and the results tied to them.
func (r Request) CallIDs(id func(n int) string) Request {
	r.messages = slices.Clone(r.messages)
	now := map[string]string{}
	n := 0
	for i, m := range r.messages {
		if len(m.ToolCalls) > 0 {
			calls := slices.Clone(m.ToolCalls)
			for k := range calls {
				was := calls[k].ID
				calls[k].ID = id(n)
				now[was] = calls[k].ID
				n++
			}
			r.messages[i].ToolCalls = calls
		}
		if other, ok := now[m.ToolCallID]; ok && m.ToolCallID != "" {
			r.messages[i].ToolCallID = other
		}
	}
	return r
}

// Tool returns the request with a tool on offer; schema is its parameters' JSON
// schema.
func (r Request) Tool(name, description string, schema json.RawMessage) Request {
	r.tools = append(slices.Clip(r.tools), openai.Tool{
		Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{Name: name, Description: description, Parameters: schema},
	})
	return r
}

// Choose returns the request with tool_choice "auto", "none" or "required".
func (r Request) Choose(choice string) Request { r.choice = choice; return r }

// ChooseTool returns the request with a tool_choice that names the one tool to call.
func (r Request) ChooseTool(name string) Request {
	r.choice = openai.ToolChoice{Type: openai.ToolTypeFunction, Function: openai.ToolFunction{Name: name}}
	return r
}

// JSONSchema returns the request for an answer that fits a JSON schema.
func (r Request) JSONSchema(name string, schema json.RawMessage) Request {
	r.format = map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": name, "strict": true, "schema": schema}}
	return r
}

// JSONObject returns the request for an answer that is any JSON object.
func (r Request) JSONObject() Request {
	r.format = map[string]any{"type": "json_object"}
	return r
}

// MaxTokens returns the request with a token limit.
func (r Request) MaxTokens(n int) Request { r.maxTokens = n; return r }

// ForModel returns the request for another model than the endpoint's own.
func (r Request) ForModel(name string) Request { r.model = name; return r }

// MaxCompletionTokens returns the request with a token limit under the newer of its two
// names alone.
func (r Request) MaxCompletionTokens(n int) Request {
	r.maxTokens, r.newName = n, true
	return r
}

// HangUp returns the request whose stream is dropped after so many events with text:
// more than it asks for is proof enough that a limit is ignored, and some servers would
// go on to the end of their context.
func (r Request) HangUp(events int) Request { r.hangUp = events; return r }

// Speaks returns the request whose stream tells, once, that its first text has come: from
// then on the server decodes. It is told on the goroutine that reads, and must not wait.
func (r Request) Speaks(told func()) Request { r.speaks = told; return r }

// Thinking returns the request that turns a model's thinking on or off, as chat
// templates are told: chat_template_kwargs.enable_thinking.
func (r Request) Thinking(on bool) Request {
	return r.field("chat_template_kwargs", map[string]any{"enable_thinking": on})
}

// Temperature returns the request with a temperature.
func (r Request) Temperature(t float64) Request { r.temp = t; return r }

// Sampler returns the request with one of the sampler's own fields, such as top_p, top_k,
// min_p or frequency_penalty.
func (r Request) Sampler(name string, value float64) Request { return r.field(name, value) }

// Seed returns the request with a seed.
func (r Request) Seed(n int) Request { r.seed = &n; return r }

// Unseeded returns the request without a seed.
func (r Request) Unseeded() Request { r.seed = nil; return r }

// Stop returns the request with stop strings.
func (r Request) Stop(texts ...string) Request { r.stop = texts; return r }

// Logprobs returns the request asking for the k likeliest tokens beside each.
func (r Request) Logprobs(k int) Request { r.logprobs = k; return r }

// PerChunkUsage returns the request asking for a running usage in each chunk.
func (r Request) PerChunkUsage() Request { r.perChunk = true; return r }

// field returns the request with an engine's own field.
func (r Request) field(name string, value any) Request {
	r.extra = maps.Clone(r.extra)
	if r.extra == nil {
		r.extra = map[string]any{}
	}
	r.extra[name] = value
	return r
}

// Text returns all the text of the messages: what an answer may repeat.
func (r Request) Text() string {
	var n int
	for _, m := range r.messages {
		n += len(m.Content) + 1
	}
	b := make([]byte, 0, n)
	for _, m := range r.messages {
		b = append(append(b, m.Content...), '\n')
	}
	return string(b)
}

// Messages returns a copy of the messages.
func (r Request) Messages() []openai.ChatCompletionMessage { return slices.Clone(r.messages) }

// optional are the fields that a server may refuse, and where they stand; see
// [Endpoint.Refused].
var optional = []struct{ name, path string }{
	{"seed", "seed"},
	{"top_p", "top_p"},
	{"stream_options", "stream_options"},
	{"continuous_usage_stats", "stream_options.continuous_usage_stats"},
}

// body writes the request. go-openai's own request type leaves out a temperature of
// 0, so that the server's default would apply; hence this one.
func (r Request) body(model string, stream bool, refused func(string) bool) ([]byte, error) {
	w := map[string]any{"model": model, "messages": r.messages, "temperature": r.temp, "stream": stream}
	if r.newName {
		w["max_completion_tokens"] = r.maxTokens
	} else {
		w["max_tokens"] = r.maxTokens
	}
	if r.format != nil {
		w["response_format"] = r.format
	}
	if !refused("top_p") {
		w["top_p"] = 1
	}
	if r.seed != nil && !refused("seed") {
		w["seed"] = *r.seed
	}
	if len(r.stop) > 0 {
		w["stop"] = r.stop
	}
	if len(r.tools) > 0 {
		w["tools"] = r.tools
		if r.choice != nil {
			w["tool_choice"] = r.choice
		}
	}
	if r.logprobs > 0 {
		w["logprobs"], w["top_logprobs"] = true, r.logprobs
	}
	if stream && !refused("stream_options") {
		options := map[string]any{"include_usage": true}
		if r.perChunk && !refused("continuous_usage_stats") {
			options["continuous_usage_stats"] = true
		}
		w["stream_options"] = options
	}
	maps.Copy(w, r.extra)
	return json.Marshal(w)
}
