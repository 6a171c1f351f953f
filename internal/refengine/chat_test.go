package refengine_test

import (
	"compress/zlib"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"infbench/internal/refengine"
)

const lookupTool = `"tools":[{"type":"function","function":{"name":"lookup","description":"Looks up a key.","parameters":{"type":"object","properties":{"key":{"type":"string"}},"required":["key"]}}}]`

// bodies are requests of every kind, 50 and more.
func bodies() []string {
	list := []string{
		body("The secret code is 48213907. What is the secret code?", ""),
		body("Count from 1 to 500, one per line.", `"max_tokens":16`),
		body("Reply with OK", `"max_tokens":512`),
		body("Write A###B", `"stop":["###"]`),
		body("repeat: 🧪👩‍👩‍👧‍👦漢字👍🏽", ""),
		body("Write a story.", `"max_tokens":64,"temperature":0.8,"seed":7`),
		body("Write a story.", `"max_tokens":64,"stop":"the"`),
		body("Write a story.", `"max_tokens":40,"ignore_eos":true`),
		body("Reply with OK", `"min_tokens":20,"max_tokens":60`),
		body(`Call lookup with key "a\"b".`, lookupTool),
		body(`Call lookup with key "a1" and lookup with key "b2".`, lookupTool),
		body(`Call lookup with key "abcdefghijklmnopqrstuvwxyz".`, lookupTool+`,"max_tokens":14`),
		body("Say hello", lookupTool+`,"tool_choice":"required"`),
		body("Say hello", lookupTool+`,"tool_choice":{"type":"function","function":{"name":"lookup"}}`),
		body("The code is 5. What is the code?", `"chat_template_kwargs":{"enable_thinking":true}`),
		body("The code is 5. What is the code?", `"chat_template_kwargs":{"enable_thinking":true},"max_tokens":5`),
		body("Call lookup with key k.", lookupTool+`,"chat_template_kwargs":{"enable_thinking":true}`),
		body("The code is 5. Fill in.", `"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object","properties":{"code":{"type":"integer"}},"required":["code"]}}}`),
		body("The code is 5. What is the code?", `"response_format":{"type":"json_object"}`),
	}
	for i := range 40 {
		list = append(list, body(fmt.Sprintf("The code of ship %d is %d. Write %d lines, each containing the code.", i, 10000000+i*7919, i%7+2), fmt.Sprintf(`"max_tokens":%d`, 5+i*9)))
	}
	return list
}

func TestStreamEqualsPlain(t *testing.T) {
	t.Parallel()
	e := fast(t)
	for _, b := range bodies() {
		p := plain(t, post(t.Context(), e, chat, b))
		s := streamed(t, post(t.Context(), e, chat, strings.TrimSuffix(b, "}")+`,"stream":true,"stream_options":{"include_usage":true}}`))
		if !s.roleFirst || !s.sawDone || !s.usageAlone {
			t.Errorf("%s: role first %v, [DONE] %v, usage chunk without choices %v", b, s.roleFirst, s.sawDone, s.usageAlone)
		}
		if diff := cmp.Diff([]any{p.text, p.thought, p.calls, p.finish, p.stopReason}, []any{s.text, s.thought, s.calls, s.finish, s.stopReason}); diff != "" {
			t.Errorf("%s: plain and streamed differ:\n%s", b, diff)
		}
		for _, field := range []string{"prompt_tokens", "completion_tokens", "total_tokens", "completion_tokens_details.reasoning_tokens"} {
			if p.usage.Get(field).Int() != s.usage.Get(field).Int() {
				t.Errorf("%s: %s is %s plain and %s streamed", b, field, p.usage.Get(field), s.usage.Get(field))
			}
		}
		if p.usage.Get("total_tokens").Int() != p.usage.Get("prompt_tokens").Int()+p.usage.Get("completion_tokens").Int() {
			t.Errorf("%s: usage does not add up: %s", b, p.usage)
		}
	}
}

func TestStopAndLength(t *testing.T) {
	t.Parallel()
	e := fast(t)
	for _, c := range []struct {
		prompt, more string
		text, finish string
		tokens       int64
	}{
		{"Count from 1 to 500, one per line.", `"max_tokens":16`, "1\n2\n3\n4\n5\n6\n7\n8\n", "length", 16},
		{"Count from 1 to 500, one per line.", `"max_completion_tokens":3`, "1\n2", "length", 3},
		{"Reply with OK", `"max_tokens":512`, "OK", "stop", 2},
		{"Reply with OK", `"max_tokens":2`, "OK", "stop", 2},
		{"Reply with OK", `"max_tokens":1`, "OK", "length", 1},
		{"Write A###B", `"stop":["###"]`, "A", "stop", 4},
		{"Write A##B", `"stop":["###"]`, "A##B", "stop", 5},
		{"Repeat: one two three", `"stop":"two"`, "one ", "stop", 2},
		{"Repeat: one two three", `"stop":["three","wo"]`, "one t", "stop", 2},
	} {
		for _, more := range []string{c.more, c.more + `,"stream":true,"stream_options":{"include_usage":true}`} {
			w := post(t.Context(), e, chat, body(c.prompt, more))
			a := answer{}
			if strings.Contains(more, `"stream":true`) {
				a = streamed(t, w)
			} else {
				a = plain(t, w)
			}
			if a.text != c.text || a.finish != c.finish || a.usage.Get("completion_tokens").Int() != c.tokens {
				t.Errorf("%s %s: got %q, %s, %s tokens; want %q, %s, %d", c.prompt, more, a.text, a.finish, a.usage.Get("completion_tokens"), c.text, c.finish, c.tokens)
			}
		}
	}
}

func TestForcedLength(t *testing.T) {
	t.Parallel()
	e := fast(t)
	a := streamed(t, post(t.Context(), e, chat, body("Reply with OK", `"ignore_eos":true,"max_tokens":3000,"stream":true,"stream_options":{"include_usage":true}`)))
	if a.usage.Get("completion_tokens").Int() != 3000 || a.finish != "length" {
		t.Errorf("got %s tokens, %s", a.usage.Get("completion_tokens"), a.finish)
	}
	var z strings.Builder
	w, err := zlib.NewWriterLevel(&z, 6)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write([]byte(a.text[:2000]))
	_ = w.Close()
	if ratio := 2000 / float64(z.Len()); ratio > 4 {
		t.Errorf("2,000 characters compress by %.1f: %s", ratio, a.text[:200])
	}
	b := plain(t, post(t.Context(), e, chat, body("Reply with OK", `"min_tokens":50,"max_tokens":3000`)))
	if n := b.usage.Get("completion_tokens").Int(); n < 50 || n > 120 || b.finish != "stop" {
		t.Errorf("min_tokens 50: got %d tokens, %s", n, b.finish)
	}
}

func TestSamplingVariesOnlyBySeed(t *testing.T) {
	t.Parallel()
	e := fast(t)
	story := func(more string) string {
		return plain(t, post(t.Context(), e, chat, body("Write a story.", more))).text
	}
	if story(`"temperature":0`) != story(`"temperature":0,"seed":5`) {
		t.Error("temperature 0: the seed changed the answer")
	}
	if first, again := story(`"temperature":1,"seed":5`), story(`"temperature":1,"seed":5`); first != again {
		t.Error("same seed, different answers")
	}
	if story(`"temperature":1,"seed":5`) == story(`"temperature":1,"seed":6`) {
		t.Error("different seeds, same answer")
	}
	if first, again := story(`"temperature":1`), story(`"temperature":1`); first == again {
		t.Error("no seed, same answer")
	}
	fact := plain(t, post(t.Context(), e, chat, body("The code is 1234. What is the code?", `"temperature":1.5`)))
	if fact.text != "The code is 1234." {
		t.Errorf("a fact varies with temperature: %q", fact.text)
	}
}

func TestThinking(t *testing.T) {
	t.Parallel()
	prompt := "The code is 1234. What is the code?"
	on, off := `"chat_template_kwargs":{"enable_thinking":true}`, `"chat_template_kwargs":{"enable_thinking":false}`
	for _, c := range []struct {
		thinks bool
		more   string
		want   bool
	}{{false, "", false}, {false, on, true}, {true, "", true}, {true, off, false}} {
		e := engine(t, refengine.Config{Thinks: c.thinks})
		a := plain(t, post(t.Context(), e, chat, body(prompt, c.more)))
		n := a.usage.Get("completion_tokens_details.reasoning_tokens")
		if (a.thought != "") != c.want || n.Exists() != c.want || a.text != "The code is 1234." {
			t.Errorf("thinks %v, %q: got thought %q, usage %s, text %q", c.thinks, c.more, a.thought, a.usage, a.text)
		}
		if n.Int() > a.usage.Get("completion_tokens").Int() {
			t.Errorf("more reasoning than output: %s", a.usage)
		}
	}
	e := engine(t, refengine.Config{ReasoningField: "reasoning_content"})
	if w := post(t.Context(), e, chat, body(prompt, on)); gjson.Get(w.Body.String(), "choices.0.message.reasoning_content").Str == "" {
		t.Errorf("no reasoning_content in %s", w.Body)
	}
}

func TestToolCalls(t *testing.T) {
	t.Parallel()
	e := fast(t)
	id := regexp.MustCompile(`^call_[0-9a-f]{24}$`)
	seen := map[string]bool{}
	for range 20 {
		a := streamed(t, post(t.Context(), e, chat, body(`Call lookup with key "a1" and lookup with key "b2".`, lookupTool+`,"stream":true`)))
		if want := []string{`lookup{"key": "a1"}`, `lookup{"key": "b2"}`}; !slices.Equal(a.calls, want) || a.finish != "tool_calls" {
			t.Fatalf("got %v, %s", a.calls, a.finish)
		}
		for _, s := range a.ids {
			if !id.MatchString(s) || seen[s] {
				t.Errorf("id %q is malformed or repeated", s)
			}
			seen[s] = true
		}
	}
	with := plain(t, post(t.Context(), e, chat, body("hi", lookupTool))).usage.Get("prompt_tokens").Int()
	without := plain(t, post(t.Context(), e, chat, body("hi", ""))).usage.Get("prompt_tokens").Int()
	if with < without+30 {
		t.Errorf("tools add %d prompt tokens", with-without)
	}
}

func TestLogprobs(t *testing.T) {
	t.Parallel()
	e := fast(t)
	for _, more := range []string{`"logprobs":true,"top_logprobs":5`, `"logprobs":true`, `"logprobs":true,"top_logprobs":20,"stop":["bridge","the"]`} {
		for _, stream := range []bool{false, true} {
			b := body("Write a story about 漢字.", fmt.Sprintf(`%s,"max_tokens":80,"stream":%v`, more, stream))
			w := post(t.Context(), e, chat, b)
			a := answer{}
			if stream {
				a = streamed(t, w)
			} else {
				a = plain(t, w)
			}
			var joined []byte
			for _, lp := range a.logprobs {
				joined = checkLogprob(t, lp, joined)
			}
			if string(joined) != a.text {
				t.Errorf("%s stream %v: bytes join to %q, text is %q", more, stream, joined, a.text)
			}
		}
	}
}

func checkLogprob(t *testing.T, lp gjson.Result, joined []byte) []byte {
	t.Helper()
	for _, c := range lp.Get("bytes").Array() {
		joined = append(joined, byte(c.Int()))
	}
	sum := 0.0
	top := lp.Get("top_logprobs").Array()
	seen := map[string]bool{}
	for i, alt := range top {
		p := alt.Get("logprob").Num
		if p > 0 || math.IsInf(p, 0) || p > top[0].Get("logprob").Num || seen[alt.Get("token").Str] {
			t.Errorf("alternative %d of %s", i, lp.Raw)
		}
		seen[alt.Get("token").Str] = true
		sum += math.Exp(p)
	}
	if sum > 1 || lp.Get("logprob").Num > 0 || len(top) > 0 && top[0].Get("token").Str != lp.Get("token").Str {
		t.Errorf("sum %g: %s", sum, lp.Raw)
	}
	return joined
}

func TestTokenIDsAndRunningUsage(t *testing.T) {
	t.Parallel()
	e := fast(t)
	w := post(t.Context(), e, chat, body("Write a story.", `"max_tokens":50,"stream":true,"return_token_ids":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}`))
	a := streamed(t, w)
	if len(a.tokens) != 50 || int64(a.promptIDs) != a.usage.Get("prompt_tokens").Int() || a.chunks != 50 {
		t.Errorf("got %d ids, %d prompt ids, %d chunks with text; usage %s", len(a.tokens), a.promptIDs, a.chunks, a.usage)
	}
	last := int64(-1)
	for _, event := range strings.Split(w.Body.String(), "\n\n") {
		if n := gjson.Get(strings.TrimPrefix(event, "data: "), "usage.completion_tokens"); n.Exists() {
			if n.Int() < last {
				t.Errorf("usage falls from %d to %s", last, n)
			}
			last = n.Int()
		}
	}
	d := post(t.Context(), e, "/detokenize", fmt.Sprintf(`{"tokens":%s}`, strings.ReplaceAll(fmt.Sprint(a.tokens), " ", ",")))
	if got := gjson.Get(d.Body.String(), "prompt").Str; got != a.text {
		t.Errorf("ids spell %q, text is %q", got, a.text)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	e := engine(t, refengine.Config{ContextLength: 64})
	for _, c := range []struct {
		name, body string
		status     int
	}{
		{"not JSON", `{"messages":`, 400},
		{"not an object", `[1]`, 400},
		{"JSON that nests too deep", `{"x":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `,"messages":[{"role":"user","content":"x"}],"max_tokens":4}`, 400},
		{"eight million levels", strings.Repeat("[", 8_000_000), 400},
		{"no messages", `{"model":"infbench-reference"}`, 400},
		{"empty messages", `{"messages":[]}`, 400},
		{"a message without role", `{"messages":[{"content":"x"}]}`, 400},
		{"an image", `{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, 400},
		{"unknown model", `{"model":"other","messages":[{"role":"user","content":"x"}]}`, 404},
		{"a prompt over the context", body(strings.Repeat("word ", 80), ""), 400},
		{"prompt and output over the context", body("x", `"max_tokens":60`), 400},
		{"max_tokens 0", body("x", `"max_tokens":0`), 400},
		{"max_tokens as text", body("x", `"max_tokens":"5"`), 400},
		{"two choices", body("x", `"n":2`), 400},
		{"negative temperature", body("x", `"temperature":-1`), 400},
		{"top_p 0", body("x", `"top_p":0`), 400},
		{"top_logprobs alone", body("x", `"top_logprobs":2`), 400},
		{"empty stop", body("x", `"stop":""`), 400},
		{"required without tools", body("x", `"tool_choice":"required"`), 400},
		{"an unknown tool named", body("x", lookupTool+`,"tool_choice":{"type":"function","function":{"name":"f"}}`), 400},
		{"an unknown format", body("x", `"response_format":{"type":"xml"}`), 400},
		{"fine", body("x", ""), 200},
	} {
		w := post(t.Context(), e, chat, c.body)
		r := gjson.Parse(w.Body.String())
		if w.Code != c.status || c.status != 200 && (r.Get("error.message").Str == "" || r.Get("error.type").Str == "") {
			t.Errorf("%s: got %d %s, want %d", c.name, w.Code, w.Body, c.status)
		}
	}
	if w := get(t, e, chat); w.Code != http.StatusMethodNotAllowed && w.Code != http.StatusNotFound {
		t.Errorf("GET on a POST route: %d", w.Code)
	}
}
