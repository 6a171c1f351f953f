package endpoint

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"infbench/gates"
)

const ms = time.Millisecond

// testLimits are round numbers that virtual time meets exactly.
func testLimits() Limits {
	return Limits{
		Connect: time.Second, First: 30 * time.Second, Gap: 10 * time.Second, Settle: 5 * time.Second, Total: 5 * time.Minute,
		EventBytes: 1 << 20, AnswerBytes: 4 << 20,
	}
}

// sends plays the steps as the stream of one request and returns the answer, in
// virtual time.
func sends(t *testing.T, steps ...step) (a Answer) {
	t.Helper()
	return within(t, testLimits(), steps...)
}

func within(t *testing.T, l Limits, steps ...step) (a Answer) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &client{target: mustTarget(t, "http://127.0.0.1:1"), limits: l, http: tripper(func(r *http.Request) (*http.Response, error) {
			return eventStream(newScript(r, steps)), nil
		})}
		a = c.stream(t.Context(), Prepared{body: []byte("{}"), stream: true, maxTokens: 16})
	})
	return a
}

// after waits, then brings the events in one read.
func after(wait time.Duration, events ...string) step {
	return step{wait: wait, text: strings.Join(events, "")}
}

// open keeps the connection open.
func open() step { return step{} }

func event(json string) string { return "data: " + json + "\n\n" }

func delta(fields string) string {
	return event(`{"id":"c1","model":"m","choices":[{"index":0,"delta":{` + fields + `},"finish_reason":null}]}`)
}

func text(s string) string { return delta(`"content":` + fmt.Sprintf("%q", s)) }

func finish(reason string) string {
	return event(`{"id":"c1","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`)
}

func usage(prompt, completion int) string {
	return event(fmt.Sprintf(`{"id":"c1","choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`, prompt, completion, prompt+completion))
}

const done = "data: [DONE]\n\n"

// instants prints the instants of an answer in milliseconds.
func instants(a Answer) string {
	t := a.Timing
	return fmt.Sprintf("event %d token %d answer %d last %d end %d", t.FirstEvent/ms, t.FirstToken/ms, t.FirstAnswer/ms, t.LastToken/ms, t.Ended/ms)
}

func marks(a Answer) string {
	var out []string
	for _, m := range a.Timing.Marks {
		out = append(out, fmt.Sprintf("%d/%d/%d", m.At/ms, m.Read, m.Tokens))
	}
	return strings.Join(out, " ")
}

func breaches(a Answer) string {
	var out []string
	for _, b := range a.Broke {
		out = append(out, map[bool]string{true: "hard: ", false: "soft: "}[b.Hard]+b.What)
	}
	return strings.Join(out, "; ")
}

func healthy(t *testing.T, a Answer) {
	t.Helper()
	if a.Failure != nil || len(a.Broke) > 0 || a.End != Done {
		t.Errorf("a healthy stream: failure %v, broke %q, end %s", a.Failure, breaches(a), a.End)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestTheFirstTokenIsTheFirstText(t *testing.T) {
	for name, early := range map[string]string{
		"role chunk":         delta(`"role":"assistant","content":""`),
		"null content":       delta(`"role":"assistant","content":null`),
		"empty tool calls":   delta(`"tool_calls":[]`),
		"usage only":         event(`{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":0}}`),
		"prompt progress":    event(`{"choices":[{"index":0,"delta":{"role":"assistant","content":null}}],"prompt_progress":{"total":9,"processed":4}}`),
		"another choice":     event(`{"choices":[{"index":1,"delta":{"content":"other"}}]}`),
		"a tool call's id":   delta(`"tool_calls":[{"index":0,"id":"c"}]`),
		"an empty refusal":   delta(`"refusal":null`),
		"an empty reasoning": delta(`"reasoning_content":""`),
	} {
		t.Run(name, func(t *testing.T) {
			a := sends(t, after(100*ms, early), after(900*ms, text("Hi")), after(20*ms, text(" you")), after(30*ms, finish("stop")), after(40*ms, usage(5, 2)), after(50*ms, done))
			healthy(t, a)
			equal(t, "times", instants(a), "event 100 token 1000 answer 1000 last 1020 end 1140")
			equal(t, "marks", marks(a), "1000/2/0 1020/3/0")
			equal(t, "content", a.Content, "Hi you")
			equal(t, "finish", a.Finish, "stop")
		})
	}
	a := sends(t, after(100*ms, ": ping\n\n"), after(100*ms, ":\n\n"), after(800*ms, text("Hi"), finish("stop"), done))
	healthy(t, a)
	equal(t, "times after comments", instants(a), "event 1000 token 1000 answer 1000 last 1000 end 1000")
	equal(t, "comments", a.Comments, 2)
	equal(t, "reads", a.Timing.Reads, 3)
}

func TestReasoningComesBeforeTheAnswer(t *testing.T) {
	for name, field := range map[string]string{"reasoning": `"reasoning":%q`, "reasoning_content": `"reasoning_content":%q`, "reasoning twice": `"reasoning":%q,"reasoning_content":%[1]q`, "reasoning and null": `"reasoning":null,"reasoning_content":%q`} {
		t.Run(name, func(t *testing.T) {
			a := sends(t, after(1000*ms, delta(fmt.Sprintf(field, "hmm"))), after(20*ms, delta(fmt.Sprintf(field, " yes"))), after(480*ms, text("42")), after(ms, finish("stop"), done))
			healthy(t, a)
			equal(t, "times", instants(a), "event 1000 token 1000 answer 1500 last 1500 end 1501")
			equal(t, "reasoning", a.Reasoning, "hmm yes")
			equal(t, "content", a.Content, "42")
			equal(t, "marks", len(a.Timing.Marks), 3)
			if a.ReasoningField != "reasoning" && a.ReasoningField != "reasoning_content" {
				t.Errorf("field %q", a.ReasoningField)
			}
		})
	}
	a := sends(t, after(ms, delta(`"reasoning":"a","reasoning_content":"b"`), finish("stop"), done))
	equal(t, "two different texts", breaches(a), "hard: reasoning and reasoning_content differ in one event")
	a = sends(t, after(ms, delta(`"refusal":"no"`), finish("stop"), done))
	equal(t, "refusal", a.Refusal, "no")
	a = sends(t, after(ms, event(`{"choices":[{"index":0,"text":"plain"}]}`), finish("stop"), done))
	equal(t, "text completion", a.Content, "plain")
}

func TestTokensOfChunks(t *testing.T) {
	running := func(fields string, n int) string {
		return event(fmt.Sprintf(`{"choices":[{"index":0,"delta":{%s}}],"usage":{"prompt_tokens":5,"completion_tokens":%d}}`, fields, n))
	}
	ids := func(fields, list string) string {
		return event(`{"choices":[{"index":0,"delta":{` + fields + `},"token_ids":` + list + `}]}`)
	}
	for _, c := range []struct {
		name   string
		events []string
		want   string
	}{
		{"running usage", []string{running(`"content":""`, 0), running(`"content":"a"`, 1), running(`"content":"bcd"`, 4), running(`"content":"e"`, 5)}, "20/2/1 30/3/3 40/4/1"},
		{"held back by a parser", []string{running(`"content":"a"`, 1), running(``, 2), running(``, 3), running(`"content":"bcd"`, 4)}, "10/1/1 40/4/3"},
		{"token ids", []string{ids(`"role":"assistant"`, "null"), ids(`"content":"a"`, "[1]"), ids(`"content":"bc"`, "[2,3]")}, "20/2/1 30/3/2"},
		{"token ids of a chunk without text", []string{ids(``, "[1,2]"), ids(`"content":"abc"`, "[3]")}, "20/2/3"},
		{"no account", []string{text("a"), text("b")}, "10/1/0 20/2/0"},
		{"usage only with the last text", []string{text("a"), text("b"), running(`"content":"c"`, 3)}, "10/1/0 20/2/0 30/3/0"},
		{"running timings", []string{
			event(`{"choices":[{"index":0,"delta":{"content":"a"}}],"timings":{"predicted_n":1}}`),
			event(`{"choices":[{"index":0,"delta":{"content":"bc"}}],"timings":{"predicted_n":3}}`),
		}, "10/1/1 20/2/2"},
		{"a usage that falls", []string{running(`"content":"a"`, 4), running(`"content":"b"`, 2)}, "10/1/4 20/2/0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var steps []step
			for _, e := range c.events {
				steps = append(steps, after(10*ms, e))
			}
			a := sends(t, append(steps, after(ms, finish("stop"), usage(5, 9), done))...)
			healthy(t, a)
			equal(t, "marks", marks(a), c.want)
		})
	}
}

func TestEventsOfOneReadShareAStamp(t *testing.T) {
	a := sends(t, after(100*ms, text("a"), text("b"), text("c")), after(50*ms, text("d")[:20]), after(50*ms, text("d")[20:], text("e")), after(ms, finish("stop"), done))
	healthy(t, a)
	equal(t, "marks", marks(a), "100/1/0 100/1/0 100/1/0 200/3/0 200/3/0")
	equal(t, "content", a.Content, "abcde")
}

func TestTimingsOfLlamaCpp(t *testing.T) {
	last := event(`{"choices":[],"usage":{"completion_tokens":12,"prompt_tokens":33,"total_tokens":45,"prompt_tokens_details":{"cached_tokens":24}},"timings":{"cache_n":24,"prompt_n":9,"prompt_ms":78.826,"predicted_n":12,"predicted_ms":305.074}}`)
	a := sends(t, after(ms, text("a"), finish("length"), last, done))
	healthy(t, a)
	equal(t, "engine timing", a.Timing.Engine, EngineTiming{
		PromptTokens: gates.CountOf(9), CachedTokens: gates.CountOf(24), OutputTokens: gates.CountOf(12),
		Prefill: 78826 * time.Microsecond, Decode: 305074 * time.Microsecond,
	})
	equal(t, "cached", a.Usage.Cached, gates.CountOf(24))
}

func TestEndsOfAStream(t *testing.T) {
	cut := func(err error) step { return step{wait: 10 * ms, err: err} }
	hi := after(1000*ms, text("Hi"))
	for _, c := range []struct {
		name    string
		steps   []step
		end     End
		failure Kind
		broke   string
		ended   time.Duration
	}{
		{"[DONE] and a close", []step{hi, after(ms, finish("stop"), done)}, Done, "", "", 1001 * ms},
		{"a close without [DONE]", []step{hi, after(ms, finish("stop"))}, Closed, "", "soft: the stream ended without [DONE]", 1001 * ms},
		{"neither finish_reason nor [DONE]", []step{hi}, Failed, BrokenOff, "", 1000 * ms},
		{"no finish_reason but [DONE]", []step{hi, after(ms, done)}, Done, "", "hard: no finish_reason in the whole stream", 1001 * ms},
		{"no events", nil, Failed, BrokenOff, "", 0},
		{"[DONE] alone", []step{after(ms, done)}, Failed, BrokenOff, "", ms},
		{"role chunk and [DONE]", []step{after(ms, delta(`"role":"assistant"`), done)}, Failed, BrokenOff, "", ms},
		{"open after finish_reason", []step{hi, after(ms, finish("stop")), open()}, StayedOpen, "", "hard: neither [DONE] nor a close within 5s of finish_reason", 6001 * ms},
		{"open after a finish_reason in the only event", []step{after(ms, event(`{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}`)), open()}, StayedOpen, "", "hard: neither [DONE] nor a close within 5s of finish_reason", 5001 * ms},
		{"open after [DONE]", []step{hi, after(ms, finish("stop"), done), open()}, Done, "", "hard: the connection stayed open for 5s after [DONE]", 6001 * ms},
		{"pings after [DONE]", append([]step{hi, after(ms, finish("stop"), done)}, pings(20, time.Second)...), Done, "", "hard: the connection stayed open for 5s after [DONE]", 6001 * ms},
		{"broken after [DONE]", []step{hi, after(ms, finish("stop"), done), cut(syscall.ECONNRESET)}, Done, "", "hard: the connection broke after [DONE]", 1011 * ms},
		{"an event after [DONE]", []step{hi, after(ms, finish("stop"), done), after(ms, text("more"))}, Done, "", "soft: an event after [DONE]", 1002 * ms},
		{"cut", []step{hi, cut(io.ErrUnexpectedEOF)}, Failed, BrokenOff, "", 1010 * ms},
		{"reset", []step{hi, cut(syscall.ECONNRESET)}, Failed, BrokenOff, "", 1010 * ms},
		{"cut after finish_reason", []step{hi, after(ms, finish("stop")), cut(io.ErrUnexpectedEOF)}, Failed, BrokenOff, "", 1011 * ms},
		{"silence in the middle", []step{hi, open()}, Failed, TooSlow, "", 11 * time.Second},
		{"silence from the start", []step{open()}, Failed, TooSlow, "", 30 * time.Second},
		{"pings from the start", pings(200, time.Second), Failed, TooSlow, "", 30 * time.Second},
		{"two finish_reasons", []step{hi, after(ms, finish("stop"), finish("length"), done)}, Done, "", "hard: 2 finish reasons in one stream", 1001 * ms},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := sends(t, c.steps...)
			var kind Kind
			if a.Failure != nil {
				kind = a.Failure.Kind
			}
			if a.End != c.end || kind != c.failure || breaches(a) != c.broke || a.Timing.Ended != c.ended {
				t.Errorf("got end %s failure %q (%v) broke %q at %v\nwant end %s failure %q broke %q at %v", a.End, kind, a.Failure, breaches(a), a.Timing.Ended, c.end, c.failure, c.broke, c.ended)
			}
		})
	}
}

func pings(n int, every time.Duration) (out []step) {
	for range n {
		out = append(out, after(every, ": ping\n\n"))
	}
	return out
}

// A stream that goes on is not stopped by the silence limits, and is by the total.
func TestDeadlinesOfALongStream(t *testing.T) {
	var steps []step
	for range 100 {
		steps = append(steps, after(9*time.Second, text("a")))
	}
	a := sends(t, steps...)
	if a.Failure == nil || a.Failure.Kind != TooSlow || a.Timing.Ended != 5*time.Minute {
		t.Errorf("the total: %v at %v", a.Failure, a.Timing.Ended)
	}
	equal(t, "text until then", len(a.Content), 33)
	a = sends(t, append(steps[:30], after(ms, finish("stop"), done))...)
	healthy(t, a)
}

func TestSlowHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &client{target: mustTarget(t, "http://127.0.0.1:1"), limits: testLimits(), http: tripper(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})}
		a := c.stream(t.Context(), Prepared{body: []byte("{}"), stream: true})
		if a.Failure == nil || a.Failure.Kind != TooSlow || a.Timing.Ended != 30*time.Second {
			t.Errorf("got %v at %v, want too_slow at 30s", a.Failure, a.Timing.Ended)
		}
		for maxTokens, want := range map[int]time.Duration{0: 5 * time.Minute, 16: 38 * time.Second, 100_000: 5 * time.Minute} {
			a = c.complete(t.Context(), Prepared{body: []byte("{}"), maxTokens: maxTokens})
			if a.Failure == nil || a.Failure.Kind != TooSlow || a.Timing.Ended != want {
				t.Errorf("not a stream, %d tokens: got %v at %v, want too_slow at %v", maxTokens, a.Failure, a.Timing.Ended, want)
			}
		}
	})
}

// An error's headers came, and its body never does.
func TestAnErrorBodyThatNeverComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &client{target: mustTarget(t, "http://127.0.0.1:1"), limits: testLimits(), http: tripper(func(r *http.Request) (*http.Response, error) {
			resp := eventStream(newScript(r, []step{open()}))
			resp.StatusCode, resp.Header = 500, http.Header{}
			return resp, nil
		})}
		a := c.stream(t.Context(), Prepared{body: []byte("{}"), stream: true})
		if a.Failure == nil || a.Failure.Kind != ServerFault || a.Timing.Ended != 30*time.Second {
			t.Errorf("got %v at %v", a.Failure, a.Timing.Ended)
		}
	})
}

func TestStopping(t *testing.T) {
	for name, cause := range map[string]error{"by the person": gates.ErrStopped, "by a plain cancel": nil} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(3*time.Second, func() { cancel(cause) })
			c := &client{target: mustTarget(t, "http://127.0.0.1:1"), limits: testLimits(), http: tripper(func(r *http.Request) (*http.Response, error) {
				return eventStream(newScript(r, []step{after(time.Second, text("Hi")), open()})), nil
			})}
			a := c.stream(ctx, Prepared{body: []byte("{}"), stream: true})
			if a.Failure == nil || a.Failure.Kind != Stopped || a.Timing.Ended != 3*time.Second || a.Content != "Hi" {
				t.Errorf("%s: %v at %v with %q", name, a.Failure, a.Timing.Ended, a.Content)
			}
		})
	}
}

func TestErrorsInsideAStream(t *testing.T) {
	for name, c := range map[string]struct{ event, said string }{
		"error object":             {`data: {"error":{"message":"out of memory","code":500}}` + "\n\n", "out of memory"},
		"a space before the brace": {`data: { "error": {"message":"out of memory"}}` + "\n\n", "out of memory"},
		"no space after data":      {`data:{"error":{"message":"out of memory"}}` + "\n\n", "out of memory"},
		"object: error":            {`data: {"object":"error","message":"out of memory","code":500}` + "\n\n", "out of memory"},
		"error text":               {`data: {"error":"out of memory"}` + "\n\n", "out of memory"},
		"error event":              {"event: error\ndata: {\"message\":\"out of memory\"}\n\n", "out of memory"},
		"error event, an object":   {"event: error\ndata: {\"error\":{\"message\":\"out of memory\"}}\n\n", "out of memory"},
		"error event, text":        {"event: error\ndata: out of memory\n\n", "out of memory"},
		"error event, a string":    {"event: error\ndata: \"out of memory\"\n\n", `"out of memory"`},
		"older error: line":        {"error: {\"code\":500,\"message\":\"out of memory\"}\n\n", "out of memory"},
		"with choices":             {`data: {"choices":[],"error":{"message":"out of memory"}}` + "\n\n", "out of memory"},
		"with escapes":             {`data: {"error":{"message":"out\u001b[31m of\nmemory"}}` + "\n\n", `out\u{1b}[31m of\nmemory`},
	} {
		t.Run(name, func(t *testing.T) {
			a := sends(t, after(ms, text("Hi")), after(ms, c.event), after(ms, done))
			if a.Failure == nil || a.Failure.Kind != SaidError || a.End != Failed {
				t.Fatalf("got %v, end %s, broke %q", a.Failure, a.End, breaches(a))
			}
			equal(t, "said", a.Failure.Said, c.said)
			equal(t, "text before", a.Content, "Hi")
			if a.Failure.Hint == "" || strings.Contains(a.Failure.Error(), "\n") {
				t.Errorf("the line is %q", a.Failure.Error())
			}
		})
	}
	healthy(t, sends(t, after(ms, event(`{"error":null,"choices":[{"index":0,"delta":{"content":"Hi"}}]}`), finish("stop"), done)))
}

func TestBreaches(t *testing.T) {
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	for name, c := range map[string]struct{ event, broke string }{
		"null choice":          {event(`{"choices":[null]}`), `hard: event 2 holds a choice that is "null"`},
		"a choice of text":     {event(`{"choices":["x"]}`), `hard: event 2 holds a choice that is "\"x\""`},
		"id change":            {event(`{"id":"c2","choices":[{"index":0,"delta":{"content":"x"}}]}`), "soft: the id changes within the stream"},
		"bad UTF-8":            {event("{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\xff\"}}]}"), "hard: event 2 is not UTF-8"},
		"bad JSON":             {event(`{"choices":[{"index`), `hard: event 2 is not JSON: "{\"choices\":[{\"index"`},
		"text in place":        {event(`hello`), `hard: event 2 is not JSON: "hello"`},
		"no object":            {event(`[1]`), `hard: event 2 is no JSON object: "[1]"`},
		"a JSON string":        {event(`"hello"`), `hard: event 2 is no JSON object: "\"hello\""`},
		"100,000 deep":         {event(deep), `hard: event 2 is not JSON: "[[[[[`},
		"100,000 deep, inside": {event(`{"choices":[{"index":0,"delta":{"content":` + deep + `}}]}`), `hard: event 2 is not JSON: "{\"choices\"`},
		"content is parts":     {delta(`"content":[{"type":"text","text":"x"}]`), `hard: event 2 holds "[{\"type\":\"text\"`},
		"empty data":           {"data:\n\n", `hard: event 2 is not JSON: ""`},
	} {
		t.Run(name, func(t *testing.T) {
			a := sends(t, after(ms, text("Hi")), after(ms, c.event, finish("stop"), done))
			if a.Failure != nil || !strings.HasPrefix(breaches(a), c.broke) || len(a.Broke) != 1 {
				t.Errorf("failure %v, broke %q, want %q", a.Failure, breaches(a), c.broke)
			}
		})
	}
}

// Many soft breaches do not hide a hard one.
func TestBreachesAreBoundedAndHardOnesStay(t *testing.T) {
	var a Answer
	for i := range 100 {
		a.broke(soft, "soft %d", i)
		a.broke(soft, "the same")
	}
	equal(t, "kept", len(a.Broke), 8)
	a.broke(hard, "hard")
	equal(t, "kept", len(a.Broke), 8)
	equal(t, "the last is hard", a.Broke[7], Breach{true, "hard"})
	for i := range 20 {
		a.broke(hard, "hard %d", i)
	}
	a.broke(soft, "one more")
	equal(t, "kept", len(a.Broke), 8)
}

// A long or unprintable id is compared as it was sent.
func TestTheIdIsComparedAsItWasSent(t *testing.T) {
	for _, id := range []string{strings.Repeat("x", 300), `é\u200b`} {
		e := event(`{"id":"` + id + `","choices":[{"index":0,"delta":{"content":"x"}}]}`)
		healthy(t, sends(t, after(ms, e, e, event(`{"id":"`+id+`","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`), done)))
	}
}

func TestAnEndlessStream(t *testing.T) {
	for name, pattern := range map[string]string{"text": text("more and more"), "comments": ": ping\n\n", "empty chunks": delta("")} {
		src := &endless{pattern: pattern, left: 1 << 40}
		c := &client{target: mustTarget(t, "http://127.0.0.1:1"), limits: testLimits(), http: tripper(func(*http.Request) (*http.Response, error) {
			return eventStream(io.NopCloser(src)), nil
		})}
		a := c.stream(t.Context(), Prepared{body: []byte("{}"), stream: true})
		if a.Failure == nil || a.Failure.Kind != TooLarge {
			t.Errorf("%s: %v", name, a.Failure)
		}
		if most := 4<<20 + 1<<20; a.Timing.Bytes > most || len(a.Content) > most {
			t.Errorf("%s: read %d bytes, kept %d", name, a.Timing.Bytes, len(a.Content))
		}
	}
}

func TestAnEventBeyondTheLimit(t *testing.T) {
	a := sends(t, after(ms, text("Hi")), after(ms, text(strings.Repeat("x", 2<<20))))
	if a.Failure == nil || a.Failure.Kind != TooLarge || a.Content != "Hi" {
		t.Errorf("%v with %d bytes", a.Failure, len(a.Content))
	}
}

func TestBodiesThatAreNoStream(t *testing.T) {
	for name, c := range map[string]struct{ kind, body, want string }{
		"HTML":    {"text/html; charset=utf-8", "<html>Welcome</html>", "a stream was asked for and another kind of body came: an HTML page (is the target the API itself, and not a web page before it?)"},
		"JSON":    {"application/json", `{"choices":[]}`, "a stream was asked for and a plain JSON body came (does a gateway in between buffer or strip streams?)"},
		"no type": {"", "hello\x1b[0m", `a stream was asked for and another kind of body came: hello\u{1b}[0m (is the target the API itself, and not a web page before it?)`},
	} {
		cl := &client{target: mustTarget(t, "http://127.0.0.1:1"), limits: testLimits(), http: tripper(func(*http.Request) (*http.Response, error) {
			r := jsonReply(200, c.body)
			r.Header.Set("Content-Type", c.kind)
			return r, nil
		})}
		a := cl.stream(t.Context(), Prepared{body: []byte("{}"), stream: true})
		if a.Failure == nil || a.Failure.Kind != NotTheAPI || a.Failure.Error() != c.want {
			t.Errorf("%s: %v", name, a.Failure)
		}
	}
}

func TestUsageIsTakenLastAndNeverSummed(t *testing.T) {
	a := sends(t,
		after(ms, event(`{"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}}`)),
		after(ms, event(`{"choices":[{"index":0,"delta":{"content":"b"}}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`)),
		after(ms, finish("stop"), usage(5, 3), done))
	healthy(t, a)
	equal(t, "usage", a.Usage, Usage{Prompt: gates.CountOf(5), Completion: gates.CountOf(3), Total: gates.CountOf(8)})

	equal(t, "absent", sends(t, after(ms, text("a"), finish("stop"), done)).Usage, Usage{})
	for name, c := range map[string]struct {
		details string
		want    Usage
	}{
		"cached absent":          {`"prompt_tokens":5`, Usage{Prompt: gates.CountOf(5)}},
		"details null":           {`"prompt_tokens_details":null`, Usage{}},
		"cached null":            {`"prompt_tokens_details":{"cached_tokens":null}`, Usage{}},
		"cached 0":               {`"prompt_tokens_details":{"cached_tokens":0}`, Usage{Cached: gates.CountOf(0)}},
		"cached 48":              {`"prompt_tokens_details":{"cached_tokens":48}`, Usage{Cached: gates.CountOf(48)}},
		"reasoning, details":     {`"completion_tokens_details":{"reasoning_tokens":7}`, Usage{Reasoning: gates.CountOf(7)}},
		"reasoning, top level":   {`"reasoning_tokens":7`, Usage{Reasoning: gates.CountOf(7)}},
		"a negative is no count": {`"completion_tokens":-1`, Usage{}},
		"text is no count":       {`"completion_tokens":"9"`, Usage{}},
	} {
		a := sends(t, after(ms, text("a"), finish("stop"), event(`{"choices":[],"usage":{`+c.details+`}}`), done))
		equal(t, name, a.Usage, c.want)
	}
}

func TestToolCallDeltas(t *testing.T) {
	call := func(fields string) string { return delta(`"tool_calls":[{` + fields + `}]`) }
	for _, c := range []struct {
		name   string
		events []string
		want   string
		broke  string
	}{
		{"joined by index", []string{
			call(`"index":0,"id":"a","function":{"name":"f","arguments":""}`), call(`"index":1,"id":"b","function":{"name":"g"}`),
			call(`"index":0,"function":{"arguments":"{\"x\":"}`), call(`"index":1,"function":{"arguments":"{}"}`), call(`"index":0,"function":{"arguments":"1}"}`),
		}, `[{a f {"x":1}} {b g {}}]`, ""},
		{"a new id in each delta", []string{call(`"index":0,"id":"a","function":{"name":"f","arguments":"{"}`), call(`"index":0,"id":"b","function":{"arguments":"}"}`)}, "[{a f {}}]", ""},
		{"the name in each delta", []string{call(`"index":0,"id":"a","function":{"name":"f","arguments":"{"}`), call(`"index":0,"function":{"name":"f","arguments":"}"}`)}, "[{a f {}}]", ""},
		{"the name changes", []string{call(`"index":0,"id":"a","function":{"name":"f","arguments":"{}"}`), call(`"index":0,"function":{"name":"g"}`)}, "[{a f {}}]", "hard: a tool call changes its name"},
		{"without an index", []string{call(`"id":"a","function":{"name":"f","arguments":"{"}`), call(`"function":{"arguments":"}"}`), call(`"id":"b","function":{"name":"g","arguments":"{}"}`)}, "[{a f {}} {b g {}}]", "soft: a tool-call delta has no index"},
		{"without an index, the id in each delta", []string{call(`"id":"a","function":{"name":"f","arguments":"{"}`), call(`"id":"a","function":{"arguments":"}"}`)}, "[{a f {}}]", "soft: a tool-call delta has no index"},
		{"the index jumps", []string{call(`"index":2,"id":"a","function":{"name":"f","arguments":"{}"}`)}, "[{  } {  } {a f {}}]", "hard: tool-call indices jump from -1 to 2"},
		{"a negative index", []string{text("x"), call(`"index":-1,"id":"a"`)}, "[]", "hard: a tool call has the index -1"},
		{"arguments as an object", []string{call(`"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}`)}, `[{a f {"x":1}}]`, "hard: a tool call's arguments are an object, not text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var steps []step
			for _, e := range c.events {
				steps = append(steps, after(10*ms, e))
			}
			a := sends(t, append(steps, after(ms, finish("tool_calls"), done))...)
			equal(t, "calls", fmt.Sprint(a.Calls), c.want)
			equal(t, "broke", breaches(a), c.broke)
			if a.Failure != nil {
				t.Error(a.Failure)
			}
			equal(t, "first token", a.Timing.FirstToken, 10*ms)
		})
	}
	var many []string
	for i := range 300 {
		many = append(many, call(fmt.Sprintf(`"index":%d,"id":"c%[1]d","function":{"name":"f","arguments":"{}"}`, i)))
	}
	a := sends(t, after(ms, many...), after(ms, finish("tool_calls"), done))
	if len(a.Calls) != maxCalls || len(a.Broke) != 8 || !a.Broke[0].Hard {
		t.Errorf("300 calls: kept %d, broke %q", len(a.Calls), breaches(a))
	}
	a = sends(t, after(ms, call(`"index":1000000000,"id":"a"`), text("x"), finish("stop"), done))
	equal(t, "a huge index", len(a.Calls), 0)
}

func TestLogprobs(t *testing.T) {
	entry := `{"token":"Hi","logprob":-0.25,"bytes":[72,105],"top_logprobs":[{"token":"Hi","logprob":-0.25},{"token":"Yo","logprob":-2}]}`
	a := sends(t, after(ms, event(`{"choices":[{"index":0,"delta":{"content":"Hi"},"logprobs":{"content":[`+entry+`]}}]}`),
		event(`{"choices":[{"index":0,"delta":{"content":"!"},"logprobs":{"content":[{"token":"!","logprob":null}]}}]}`), finish("stop"), done))
	healthy(t, a)
	equal(t, "logprobs", fmt.Sprint(a.Logprobs), "[{{Hi -0.25 Hi} [{Hi -0.25 } {Yo -2 }]} {{! NaN } []}]")
}

// The bytes of a token may be half a character; what is no list of bytes is none.
func TestLogprobBytes(t *testing.T) {
	for bytes, want := range map[string]string{
		`[227,129]`: "\xe3\x81", `[]`: "", `null`: "", `"Hi"`: "", `[72,256]`: "", `[-1]`: "", `[72,"i"]`: "", `[` + strings.Repeat("7,", 256) + `7]`: "",
	} {
		a := sends(t, after(ms, event(`{"choices":[{"index":0,"delta":{"content":"x"},"logprobs":{"content":[{"token":"x","logprob":-1,"bytes":`+bytes+`}]}}]}`), finish("stop"), done))
		if len(a.Logprobs) != 1 || a.Logprobs[0].Bytes != want {
			t.Errorf("%.40s: got %+v, want bytes %q", bytes, a.Logprobs, want)
		}
	}
}

// assembled joins a stream's events and prints the answer.
func assembled(stream string, parseAll bool) string {
	a := Answer{}
	s := &assembly{answer: &a, limit: 1 << 20, target: Target{func() *place { return &place{} }}, parseAll: parseAll}
	r := newEventReader(strings.NewReader(stream), roomy, roomy, func() time.Duration { return 5 }, func(int, time.Duration) {})
	for {
		ev, err := r.next()
		if err != nil {
			break
		}
		s.take(ev)
	}
	s.finish()
	s.contract()
	return fmt.Sprintf("%+v %v", a, a.Err())
}

func FuzzAnswers(f *testing.F) {
	f.Add([]byte(text("a") + text("b") + text("") + delta(`"reasoning":"r"`) + finish("stop") + usage(1, 2) + done))
	f.Add(vllmBody(5))
	f.Add(vllmStream(5, true))
	f.Add([]byte(delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]`) + delta(`"content":"a","logprobs":null`) + "event: error\n" + text("x")))
	f.Fuzz(func(t *testing.T, stream []byte) {
		if fast, slow := assembled(string(stream), false), assembled(string(stream), true); fast != slow {
			t.Errorf("%q\ngave %s\nwant %s", stream, fast, slow)
		}
	})
}

// Taking a known event by its bytes gives what parsing it gives.
func TestRepeatsGiveWhatParsingGives(t *testing.T) {
	kinds := []string{
		text("a"), text("b"), text(""), text("é世界"), delta(`"content":"\u00e9\n"`), delta(`"content":"a\"b"`), delta("\"content\":\"\xff\""), delta(`"content":"x","content":"y"`),
		delta(`"reasoning":"r"`), delta(`"reasoning":"s"`), delta(`"reasoning":"s","reasoning_content":"s"`), delta(`"refusal":"n"`), delta(`"content":null`), delta(`"content":"a","reasoning":"b"`),
		delta(`"content":"a","tool_calls":[{"index":0,"function":{"arguments":"x"}}]`), event(`{"id":"c2","choices":[{"index":0,"delta":{"content":"a"}}]}`),
		event(`{"choices":[{"index":0,"delta":{"content":"a"},"token_ids":[1,2]}]}`), event(`{"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"completion_tokens":7}}`),
		event(`{"choices":[null,{"index":0,"delta":{"content":"a"}}]}`), event(`{"choices":[{"index":0,"delta":{"content":"a"},"logprobs":{"content":[{"token":"a","logprob":-1}]}}]}`),
		event(`{"choices":[{"index":0,"delta":{"content":"b"}}],"usage":{"completion_tokens":8,"prompt_tokens":3}}`), event(`{"choices":[{"index":0,"delta":{"content":"b"}}],"usage":{"completion_tokens":[[8]],"prompt_tokens":3}}`),
		event(`{"choices":[{"index":0,"delta":{"content":"b"}}],"usage":{"completion_tokens":8,"prompt_tokens":3},"id":"c9"}`), event(`{"choices":[{"index":0,"delta":{"content":"b"}}],"usage":{"completion_tokens":9},"usage":{"completion_tokens":2}}`),
		event(`{"usage":{"completion_tokens":9},"choices":[{"index":0,"delta":{"content":"b"}}]}`), event(`{"choices":[{"index":0,"delta":{"content":"b"}}],"usage":{"completion_tokens":}}`), event(`{"choices":[{"index":0,"delta":{"content":"b"}}],"usage":null}`),
		"event: message\n" + text("z"), event(`{"choices":[{"index":1,"delta":{"content":"a"}}]}`), "data: " + `{"choices":[{"index":0,"delta":{"content":"` + "\ndata: " + `"}}]}` + "\n\n",
		event(`{"choices":[{"index":0,"text":"a"}]}`), event(`{"choices":[{"index":0,"text":"b"}]}`), event(` {"choices":[{"index":0,"delta":{"content":"b"}}]} `),
	}
	for seed := range uint64(100) {
		rng := NewProse(seed).rng
		var stream strings.Builder
		for range 40 {
			stream.WriteString(kinds[rng.IntN(len(kinds))])
			if e := kinds[rng.IntN(len(kinds))]; rng.IntN(2) == 0 {
				stream.WriteString(e + strings.Replace(e, `"a"`, `"qq"`, 1) + e)
			}
		}
		if fast, slow := assembled(stream.String(), false), assembled(stream.String(), true); fast != slow {
			t.Fatalf("seed %d:\n%s\ngave  %s\nwant %s", seed, stream.String(), fast, slow)
		}
	}
}

func TestAPlainAnswer(t *testing.T) {
	one := func(status int, body string) Answer {
		c := &client{target: mustTarget(t, "http://127.0.0.1:1"), limits: testLimits(), http: tripper(func(*http.Request) (*http.Response, error) { return jsonReply(status, body), nil })}
		return c.complete(t.Context(), Prepared{body: []byte("{}")})
	}
	a := one(200, `{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"42","reasoning_content":"hm","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"g","arguments":"{}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8}}`)
	if a.Failure != nil || len(a.Broke) > 0 || a.End != Whole {
		t.Errorf("%v %q %s", a.Failure, breaches(a), a.End)
	}
	equal(t, "answer", fmt.Sprint(a.Content, a.Reasoning, a.Calls, a.Finish), "42hm[{a f {}} {b g {}}]stop")
	equal(t, "marks", len(a.Timing.Marks), 0)
	for name, c := range map[string]struct {
		body  string
		kind  Kind
		broke string
	}{
		"no finish_reason":                      {`{"choices":[{"index":0,"message":{"content":"42"},"finish_reason":null}]}`, "", "hard: no finish_reason in the answer"},
		"object arguments and no finish_reason": {`{"choices":[{"index":0,"message":{"tool_calls":[{"function":{"name":"f","arguments":{}}}]}}]}`, "", "hard: a tool call's arguments are an object, not text; hard: no finish_reason in the answer"},
		"no choices":                            {`{"choices":[]}`, Malformed, ""},
		"null choice":                           {`{"choices":[null]}`, Malformed, `hard: event 1 holds a choice that is "null"`},
		"HTML":                                  {"\n<!doctype html>", NotTheAPI, ""},
		"not JSON":                              {"hello", Malformed, `hard: event 1 is not JSON: "hello"`},
		"empty":                                 {"", Malformed, `hard: event 1 is not JSON: ""`},
		"[DONE]":                                {"[DONE]", Malformed, ""},
		"a stream":                              {"data: {}\n\n", Malformed, `hard: event 1 is not JSON: "data: {}"`},
		"error with 200":                        {`{"error":{"message":"no"}}`, SaidError, ""},
	} {
		a := one(200, c.body)
		var kind Kind
		if a.Failure != nil {
			kind = a.Failure.Kind
		}
		if kind != c.kind || breaches(a) != c.broke || (kind == "") != (a.End == Whole) {
			t.Errorf("%s: %v, %q, end %s", name, a.Failure, breaches(a), a.End)
		}
	}
	big := &client{target: mustTarget(t, "http://127.0.0.1:1"), limits: testLimits(), http: tripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: io.NopCloser(&endless{pattern: "x", left: 1 << 40})}, nil
	})}
	if a := big.complete(t.Context(), Prepared{}); a.Failure == nil || a.Failure.Kind != TooLarge {
		t.Errorf("an endless body: %v", a.Failure)
	}
}
