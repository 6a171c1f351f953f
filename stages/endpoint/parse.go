package endpoint

import (
	"bytes"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"infbench/gates"
	"infbench/internal/shallow"
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
	objects   int // events that are JSON objects
	finishes  int
	plain     bool
	id        string // as the server wrote it
	target    Target // takes the key out of what the server says
	// Tokens so far: sent by the server's account, and told in marks. byIDs says that
	// token ids are counted, unsure that a text came without any account.
	sent, told    int
	byIDs, unsure bool
	repeat        repeat
	parseAll      bool // for the test that parsing all gives the same
}

type callParts struct {
	id, name  string
	arguments strings.Builder
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
	if text, usage, ok := s.repeat.match(data); ok && ev.Name == "" {
		s.again(text, usage, ev)
		return false
	}
	valid := utf8.Valid(data)
	if !valid {
		s.answer.broke(hard, "event %d is not UTF-8", s.events)
	}
	if !shallow.Valid(data) {
		if ev.Name == "error" {
			s.said(data, "an error event inside the 200 stream")
			return false
		}
		s.answer.broke(hard, "event %d is not JSON: %s", s.events, s.quote(string(data), 80))
		return false
	}
	if s.answer.Timing.FirstEvent == 0 {
		s.answer.Timing.FirstEvent = ev.At
	}
	root := gjson.ParseBytes(data)
	if !root.IsObject() {
		if ev.Name == "error" {
			s.said(data, "an error event inside the 200 stream")
			return false
		}
		s.answer.broke(hard, "event %d is no JSON object: %s", s.events, s.quote(string(data), 80))
		return false
	}
	s.objects++
	c := s.object(root, ev)
	s.stamp(c, ev)
	if valid && ev.Name == "" && !s.plain && !s.parseAll {
		s.repeat.learn(root.Raw, c)
	}
	return false
}

// said fails the answer with the server's own words.
func (s *assembly) said(raw []byte, what string) {
	if hidden := s.target.hide(raw); s.answer.Failure == nil {
		s.answer.raw = bytes.Clone(hidden[:min(len(hidden), maxRaw)])
	}
	s.answer.fail(&Failure{Kind: SaidError, Status: 200, Said: said(s.target.hide(raw)), What: what, Hint: "look at the server's log"})
}

// quote quotes the beginning of what is not an answer.
func (s *assembly) quote(said string, most int) string {
	const enough = 4 << 10 // so that no key which is shown is cut before it is looked for
	hidden := s.target.hide([]byte(said[:min(len(said), enough)]))
	return gates.Quote(string(hidden[:min(len(hidden), 2*most)]), most)
}

// judged returns a text of the answer without the key: checks quote the beginning of it.
func (s *assembly) judged(text string) string {
	hidden, was := s.target.hideIn(text)
	s.answer.hidden = s.answer.hidden || was
	return hidden
}

// How much a breach of the contract costs.
const hard, soft = true, false

// chunk is what one event brought.
type chunk struct {
	text, answer bool // generated text in any channel, in one that is not reasoning
	choice       bool // the choice that was asked for
	accounted    bool // the server says how many tokens
	more         bool // something besides one text
	texts        int
	into         *strings.Builder // where the last text went
	value        gjson.Result     // the last text
	usages       int
	usage        gjson.Result // the last usage
}

func (s *assembly) object(root gjson.Result, ev Event) (c chunk) {
	a := s.answer
	running := -1
	root.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "id":
			switch {
			case v.Str == "" || v.Str == s.id:
			case s.id == "":
				s.id, a.ID = v.Str, gates.Printable(s.judged(v.Str), 100)
			default:
				a.broke(soft, "the id changes within the stream")
			}
		case "model":
			if a.Model == "" {
				a.Model = gates.Printable(s.judged(v.Str), 200)
			}
		case "error":
			if v.Type != gjson.Null && v.Type != gjson.False {
				s.said([]byte(root.Raw), "an error inside the 200 answer")
			}
		case "object":
			if v.Str == "error" {
				s.said([]byte(root.Raw), "an error inside the 200 answer")
			}
		case "choices":
			v.ForEach(func(_, choice gjson.Result) bool {
				if !choice.IsObject() {
					c.more = true
					a.broke(hard, "event %d holds a choice that is %s", s.events, s.quote(choice.Raw, 20))
					return true
				}
				s.choice(choice, &c)
				return true
			})
		case "usage":
			if v.IsObject() {
				c.usage = v
				c.usages++
				s.usage(v)
				running = a.Usage.Completion.Or(-1)
			}
		case "timings":
			c.more = true
			if running < 0 {
				running = count(v.Get("predicted_n")).Or(-1)
			}
			s.timings(v)
		case "metrics":
			c.more = true
			s.requestMetrics(v)
		}
		return true
	})
	if ev.Name == "error" && a.Failure == nil {
		s.said([]byte(root.Raw), "an error event inside the 200 stream")
	}
	s.account(&c, running)
	return c
}

// account takes a running count of tokens. A running usage, or llama.cpp's running
// timings, are the only ways besides token ids to know how many tokens a chunk carries.
func (s *assembly) account(c *chunk, running int) {
	if c.choice && running >= 0 && !s.byIDs {
		s.sent, c.accounted = running, true
	}
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
	t.Marks = append(t.Marks, Mark{At: ev.At, Read: int32(ev.Read), Tokens: s.tokens(c)})
}

// tokens returns how many tokens came since the mark before. Once a text has come
// without an account the next account covers it too, so that none can be told apart.
func (s *assembly) tokens(c chunk) int32 {
	if s.unsure = s.unsure || !c.accounted; s.unsure {
		return 0
	}
	n := max(0, s.sent-s.told)
	s.told = s.sent
	return int32(min(n, 1<<30))
}

// choice reads a delta of the stream, a whole message, or a text completion. Another
// choice than the one asked for is left out.
func (s *assembly) choice(choice gjson.Result, c *chunk) {
	if choice.Get("index").Int() != 0 {
		return
	}
	c.choice = true
	choice.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "delta", "message":
			s.delta(v, c)
		case "text":
			s.keep(&s.content, v, c, true)
		case "finish_reason":
			if v.Type == gjson.String && v.Str != "" {
				c.more = true
				s.finishes++
				s.answer.Finish = gates.Printable(s.judged(v.Str), 40)
			}
		case "logprobs":
			c.more = c.more || v.Type != gjson.Null
			s.logprobs(v)
		case "token_ids":
			if v.IsArray() {
				s.sent += int(v.Get("#").Int())
				s.byIDs, c.accounted, c.more = true, true, true
			}
		}
		return true
	})
}

func (s *assembly) delta(delta gjson.Result, c *chunk) {
	var first gjson.Result // of the two names of reasoning
	delta.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "content":
			s.keep(&s.content, v, c, true)
		case "reasoning", "reasoning_content":
			// Some servers send the same text under both names for a while.
			switch {
			case v.Type != gjson.String || v.Str == "":
			case !first.Exists():
				first = v
				s.answer.ReasoningField = k.Str
				s.keep(&s.reasoning, v, c, false)
			case v.Str == first.Str:
				c.more = true
			default:
				c.more = true
				s.answer.broke(hard, "reasoning and reasoning_content differ in one event")
			}
		case "refusal":
			s.keep(&s.refusal, v, c, true)
		case "tool_calls":
			v.ForEach(func(_, call gjson.Result) bool {
				c.more = true
				s.call(call, c)
				return true
			})
		}
		return true
	})
}

func (s *assembly) keep(into *strings.Builder, v gjson.Result, c *chunk, answer bool) {
	if v.Type == gjson.JSON || v.Type == gjson.Number {
		c.more = true
		s.answer.broke(hard, "event %d holds %s in place of text", s.events, s.quote(v.Raw, 40))
	}
	if v.Type != gjson.String || v.Str == "" {
		return
	}
	c.brought(into, v, answer)
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
		i = len(s.calls)
		if id := call.Get("id").Str; i > 0 && (id == "" || id == s.calls[i-1].id) {
			i--
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
		if p.name != "" && name != p.name {
			s.answer.broke(hard, "a tool call changes its name")
		}
		p.name = or(p.name, name)
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
		c.text, c.answer = true, true
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
		switch n := count(r); {
		case n != (gates.Count{}):
			*c = n
		case r.Type != gjson.Null:
			s.answer.broke(hard, "usage holds %s, which is no count of tokens", s.quote(r.Raw, 40))
		}
	}
	v.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "prompt_tokens":
			set(&u.Prompt, v)
		case "completion_tokens":
			set(&u.Completion, v)
		case "total_tokens":
			set(&u.Total, v)
		case "reasoning_tokens":
			set(&u.Reasoning, v)
		case "prompt_tokens_details":
			set(&u.Cached, v.Get("cached_tokens"))
		case "completion_tokens_details":
			set(&u.Reasoning, v.Get("reasoning_tokens"))
		}
		return true
	})
}

func (s *assembly) timings(v gjson.Result) {
	e := &s.answer.Timing.Engine
	set := func(c *gates.Count, key string) {
		if n := count(v.Get(key)); n != (gates.Count{}) {
			*c = n
		}
	}
	set(&e.PromptTokens, "prompt_n")
	set(&e.CachedTokens, "cache_n")
	set(&e.OutputTokens, "predicted_n")
	set(&e.Drafted, "draft_n")
	set(&e.Accepted, "draft_n_accepted")
	e.Prefill = milliseconds(v.Get("prompt_ms")).Or(0)
	e.Decode = milliseconds(v.Get("predicted_ms")).Or(0)
}

// requestMetrics reads vLLM's metrics of one request. Its time to the first token begins when
// the request is scheduled.
func (s *assembly) requestMetrics(v gjson.Result) {
	if !v.IsObject() {
		return
	}
	e := &s.answer.Timing.Engine
	e.Queue = milliseconds(v.Get("queue_time_ms"))
	e.Prefill = milliseconds(v.Get("time_to_first_token_ms")).Or(0)
	e.Decode = milliseconds(v.Get("generation_time_ms")).Or(0)
}

// milliseconds reads a time that an engine claims of a request, absent for what is none.
func milliseconds(r gjson.Result) gates.Span {
	const day = 24 * 60 * 60 * 1000
	if ms := r.Num; r.Type == gjson.Number && ms >= 0 && ms <= day {
		return gates.SpanOf(time.Duration(ms * float64(time.Millisecond)))
	}
	return gates.Span{}
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

// alternative reads one entry. A logprob that is no number, such as the null that a
// server writes for NaN, is NaN and not the certainty that 0 would be.
func alternative(v gjson.Result) Alternative {
	a := Alternative{Token: v.Get("token").Str, Logprob: math.NaN()}
	if lp := v.Get("logprob"); lp.Type == gjson.Number {
		a.Logprob = lp.Num
	}
	if b := v.Get("bytes"); b.IsArray() {
		a.Bytes = byteList(b)
	}
	return a
}

// byteList reads the bytes of a token, "" for what is no list of bytes.
func byteList(v gjson.Result) string {
	const most = 256 // no tokenizer has longer tokens
	var out []byte
	ok := true
	v.ForEach(func(_, n gjson.Result) bool {
		ok = n.Type == gjson.Number && n.Num >= 0 && n.Num <= 255 && len(out) < most
		out = append(out, byte(n.Num))
		return ok
	})
	if !ok {
		return ""
	}
	return string(out)
}

// finish moves the joined texts into the answer.
func (s *assembly) finish() {
	a := s.answer
	a.Content, a.Reasoning, a.Refusal = s.judged(s.content.String()), s.judged(s.reasoning.String()), s.judged(s.refusal.String())
	for _, p := range s.calls {
		a.Calls = append(a.Calls, ToolCall{s.judged(p.id), s.judged(p.name), s.judged(p.arguments.String())})
	}
	if s.kept > s.limit {
		a.fail(&Failure{Kind: TooLarge, What: "the answer is larger than the limit", Hint: "does the server honour max_tokens?"})
	}
	if s.finishes > 1 && !s.plain {
		a.broke(hard, "%d finish reasons in one stream", s.finishes)
	}
}
