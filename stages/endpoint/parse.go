package endpoint

import (
	"bytes"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"infbench/gates"
)

// assembly joins the events of a stream, or the one body of a plain answer, into an
// Answer. Text is kept up to a limit of bytes over all channels.
type assembly struct {
	answer    *Answer
	content   strings.Builder
	reasoning strings.Builder
	refusal   strings.Builder
	calls     []*callParts
	kept      int
	limit     int
	events    int
	finishes  int
	counted   int // completion tokens by running usage
	plain     bool
}

type callParts struct {
	id, name  string
	arguments strings.Builder
	named     bool
}

// maxCalls bounds the tool calls of one answer: a degenerate model makes hundreds.
const maxCalls = 256

// take reads one event. stop is true after [DONE].
func (s *assembly) take(ev Event) (stop bool) {
	s.events++
	data := bytes.TrimSpace(ev.Data)
	if string(data) == "[DONE]" {
		s.answer.End = Done
		return true
	}
	if !utf8.Valid(data) {
		s.answer.broke(hard, "event %d is not UTF-8", s.events)
	}
	if !shallow(data) || !gjson.ValidBytes(data) {
		if ev.Name == "error" {
			s.answer.fail(&Failure{Kind: SaidError, Status: 200, Said: said(data), What: "an error inside the 200 stream"})
			return false
		}
		s.answer.broke(hard, "event %d is not JSON: %s", s.events, gates.Quote(string(data[:min(len(data), 200)]), 80))
		return false
	}
	if s.answer.Timing.FirstEvent == 0 {
		s.answer.Timing.FirstEvent = ev.At
	}
	s.object(gjson.ParseBytes(data), ev)
	return false
}

// How much a breach of the contract costs.
const hard, soft = true, false

// chunk is what one event brought.
type chunk struct {
	text, answer bool  // generated text in any channel, in one that is not reasoning
	tokens       int32 // 0: unknown
}

func (s *assembly) object(root gjson.Result, ev Event) {
	a := s.answer
	var c chunk
	var choices, usage bool
	running := -1
	root.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "id":
			if v.Str != "" && a.ID != "" && v.Str != a.ID {
				a.broke(soft, "the id changes within the stream")
			}
			a.ID = or(a.ID, gates.Printable(v.Str, 100))
		case "model":
			a.Model = or(a.Model, gates.Printable(v.Str, 200))
		case "error":
			if v.Type != gjson.Null && v.Type != gjson.False {
				a.fail(&Failure{Kind: SaidError, Status: 200, Said: said([]byte(root.Raw)), What: "an error inside the 200 answer", Hint: "look at the server's log"})
			}
		case "object":
			if v.Str == "error" {
				a.fail(&Failure{Kind: SaidError, Status: 200, Said: said([]byte(root.Raw)), What: "an error inside the 200 answer", Hint: "look at the server's log"})
			}
		case "choices":
			v.ForEach(func(_, choice gjson.Result) bool {
				if choice.Get("index").Int() != 0 {
					return true // another choice than the one asked for
				}
				choices = true
				s.choice(choice, &c)
				return true
			})
			if choices || len(v.Raw) <= 4 {
				break
			}
			if v.IsArray() && strings.Contains(v.Raw, "null") {
				a.broke(hard, "event %d holds a null choice", s.events)
			}
		case "usage":
			if v.IsObject() {
				usage = true
				s.usage(v)
				running = a.Usage.Completion.Or(-1)
			}
		case "timings":
			s.timings(v)
		}
		return true
	})
	if ev.Name == "error" && a.Failure == nil {
		a.fail(&Failure{Kind: SaidError, Status: 200, Said: said([]byte(root.Raw)), What: "an error event inside the 200 stream"})
	}
	// Per-chunk usage counts the tokens of the chunk: the only way besides token ids
	// to know how many a chunk carries.
	if choices && usage && running >= 0 {
		if c.tokens == 0 && c.text {
			c.tokens = int32(max(0, running-s.counted))
		}
		s.counted = running
	}
	s.stamp(c, ev)
}

func (s *assembly) stamp(c chunk, ev Event) {
	if !c.text || s.plain {
		return
	}
	t := &s.answer.Timing
	if t.FirstToken == 0 {
		t.FirstToken = ev.At
	}
	if c.answer && t.FirstAnswer == 0 {
		t.FirstAnswer = ev.At
	}
	t.LastToken = ev.At
	t.Marks = append(t.Marks, Mark{At: ev.At, Read: int32(ev.Read), Tokens: c.tokens})
}

// choice reads a delta of the stream, a whole message, or a text completion.
func (s *assembly) choice(choice gjson.Result, c *chunk) {
	choice.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "delta", "message":
			s.delta(v, c)
		case "text":
			s.keep(&s.content, v, c, true)
		case "finish_reason":
			if v.Type == gjson.String && v.Str != "" {
				s.finishes++
				s.answer.Finish = gates.Printable(v.Str, 40)
			}
		case "logprobs":
			s.logprobs(v)
		case "token_ids":
			if v.IsArray() {
				c.tokens = int32(v.Get("#").Int())
			}
		}
		return true
	})
}

func (s *assembly) delta(delta gjson.Result, c *chunk) {
	var both bool
	delta.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "content":
			s.keep(&s.content, v, c, true)
		case "reasoning", "reasoning_content":
			// Some servers send the same text under both names for a while.
			if v.Type == gjson.String && v.Str != "" && !both {
				both = true
				s.answer.ReasoningField = k.Str
				s.keep(&s.reasoning, v, c, false)
			}
		case "refusal":
			s.keep(&s.refusal, v, c, true)
		case "tool_calls":
			v.ForEach(func(_, call gjson.Result) bool {
				s.call(call, c)
				return true
			})
		}
		return true
	})
}

func (s *assembly) keep(into *strings.Builder, v gjson.Result, c *chunk, answer bool) {
	if v.Type != gjson.String || v.Str == "" {
		return
	}
	c.text = true
	c.answer = c.answer || answer
	if s.kept += len(v.Str); s.kept <= s.limit {
		into.WriteString(v.Str)
	}
}

func (s *assembly) call(call gjson.Result, c *chunk) {
	i := len(s.calls)
	if at := call.Get("index"); at.Type == gjson.Number {
		i = int(at.Int())
	} else if !s.plain {
		s.answer.broke(soft, "a tool-call delta has no index")
		i = max(0, len(s.calls)-1)
		if call.Get("id").Str != "" || len(s.calls) == 0 {
			i = len(s.calls)
		}
	}
	if i < 0 || i >= maxCalls {
		s.answer.broke(hard, "a tool call has the index %d", i)
		return
	}
	if i > len(s.calls) {
		s.answer.broke(hard, "tool-call indices jump from %d to %d", len(s.calls)-1, i)
	}
	for len(s.calls) <= i {
		s.calls = append(s.calls, &callParts{})
	}
	p := s.calls[i]
	p.id = or(p.id, call.Get("id").Str)
	if name := call.Get("function.name").Str; name != "" {
		if p.named && name != p.name {
			s.answer.broke(hard, "a tool call changes its name")
		}
		p.name, p.named = or(p.name, name), true
		c.text, c.answer = true, true
	}
	switch args := call.Get("function.arguments"); {
	case args.Type == gjson.String && args.Str != "":
		c.text, c.answer = true, true
		if s.kept += len(args.Str); s.kept <= s.limit {
			p.arguments.WriteString(args.Str)
		}
	case args.IsObject():
		s.answer.broke(hard, "a tool call's arguments are an object, not text")
		if s.kept += len(args.Raw); s.kept <= s.limit {
			p.arguments.WriteString(args.Raw)
		}
	}
}

// usage keeps the last report: some servers send a running one in each chunk, and
// it must never be summed.
func (s *assembly) usage(v gjson.Result) {
	u := &s.answer.Usage
	set := func(c *gates.Count, r gjson.Result) {
		if r.Type == gjson.Number {
			*c = gates.CountOf(int(r.Int()))
		}
	}
	set(&u.Prompt, v.Get("prompt_tokens"))
	set(&u.Completion, v.Get("completion_tokens"))
	set(&u.Total, v.Get("total_tokens"))
	set(&u.Cached, v.Get("prompt_tokens_details.cached_tokens"))
	set(&u.Reasoning, v.Get("completion_tokens_details.reasoning_tokens"))
	set(&u.Reasoning, v.Get("reasoning_tokens"))
}

func (s *assembly) timings(v gjson.Result) {
	e := &s.answer.Timing.Engine
	set := func(c *gates.Count, key string) {
		if r := v.Get(key); r.Type == gjson.Number {
			*c = gates.CountOf(int(r.Int()))
		}
	}
	set(&e.PromptTokens, "prompt_n")
	set(&e.CachedTokens, "cache_n")
	set(&e.OutputTokens, "predicted_n")
	e.Prefill = milliseconds(v.Get("prompt_ms"))
	e.Decode = milliseconds(v.Get("predicted_ms"))
}

func milliseconds(r gjson.Result) time.Duration {
	if ms := r.Float(); ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	return 0
}

// maxLogprobs bounds the entries kept of one answer.
const maxLogprobs = 100_000

func (s *assembly) logprobs(v gjson.Result) {
	v.Get("content").ForEach(func(_, e gjson.Result) bool {
		if len(s.answer.Logprobs) >= maxLogprobs {
			return false
		}
		lp := TokenLogprob{Alternative: alternative(e)}
		e.Get("top_logprobs").ForEach(func(_, t gjson.Result) bool {
			lp.Top = append(lp.Top, alternative(t))
			return len(lp.Top) < 20
		})
		s.answer.Logprobs = append(s.answer.Logprobs, lp)
		return true
	})
}

func alternative(v gjson.Result) Alternative {
	return Alternative{Token: v.Get("token").Str, Logprob: v.Get("logprob").Float()}
}

// finish moves the joined texts into the answer.
func (s *assembly) finish() {
	a := s.answer
	a.Content, a.Reasoning, a.Refusal = s.content.String(), s.reasoning.String(), s.refusal.String()
	for _, p := range s.calls {
		a.Calls = append(a.Calls, ToolCall{p.id, p.name, p.arguments.String()})
	}
	if s.kept > s.limit {
		a.fail(&Failure{Kind: TooLarge, What: "the answer is larger than the limit", Hint: "does the server honour max_tokens?"})
	}
	if s.finishes > 1 && !s.plain {
		a.broke(hard, "%d finish reasons in one stream", s.finishes)
	}
}
