package endpoint

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// thinker answers with reasoning alone until its budget is at least enough; it counts
// the prompt as given. It notes the limits that it was asked with.
func thinker(limits *[]int, enough, prompt int) func(string) *http.Response {
	return func(body string) *http.Response {
		n := int(gjson.Get(body, "max_tokens").Int())
		*limits = append(*limits, n)
		answer, how := "", "length"
		if n >= enough {
			answer, how = "42", "stop"
		}
		if !gjson.Get(body, "stream").Bool() {
			return jsonReply(200, fmt.Sprintf(`{"choices":[{"index":0,"message":{"reasoning":"hmm","content":%q},"finish_reason":%q}],"usage":{"prompt_tokens":%d}}`, answer, how, prompt))
		}
		return streamReply(delta(`"reasoning":"hmm"`), text(answer), finish(how), usage(prompt, n), done)
	}
}

// A model that uses up its budget while it thinks is asked once more, with more room.
func TestAskGivesRoomToThink(t *testing.T) {
	for _, c := range []struct {
		name                  string
		limit, enough, prompt int
		context               int
		want                  string
		content               string
	}{
		{"no thinking needed", 2048, 0, 10, 0, "[320]", "42"},
		{"the caller's own limit is smaller", 64, 0, 10, 0, "[64]", "42"},
		{"more room", 2048, 1000, 10, 0, "[320 8192]", "42"},
		{"more room after a small limit", 16, 1000, 10, 0, "[16 8192]", "42"},
		{"once and no more", 2048, 100_000, 10, 0, "[320 8192]", ""},
		{"a context of 4096", 2048, 1000, 10, 4096, "[320 2048]", "42"},
		{"a long prompt in a context of 4096", 2048, 1000, 2896, 4096, "[320 1200]", "42"},
		{"a prompt that leaves no more", 2048, 1000, 3900, 4096, "[320]", ""},
		{"a small context", 2048, 1000, 10, 400, "[200]", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var limits []int
			ep := opened(t, Options{}, thinker(&limits, c.enough, c.prompt))
			ep.build.ContextTokens = count(gjson.Parse(fmt.Sprint(max(c.context, 1<<20))))
			if c.context > 0 {
				ep.build.ContextTokens = count(gjson.Parse(fmt.Sprint(c.context)))
			}
			for _, ask := range []func(context.Context, Request) (Answer, error){ep.Ask, ep.AskPlain} {
				limits = nil
				a, err := ask(t.Context(), Chat("?").MaxTokens(c.limit))
				if err != nil || a.Content != c.content || fmt.Sprint(limits) != c.want {
					t.Errorf("%q and %v with limits %v, want %q with %s", a.Content, err, limits, c.content, c.want)
				}
			}
		})
	}
}

func TestNothingElseIsAskedAgain(t *testing.T) {
	for name, reply := range map[string]func() *http.Response{
		"cut in the answer": func() *http.Response { return streamReply(text("4"), finish("length"), done) },
		"cut in an answer after thinking": func() *http.Response {
			return streamReply(delta(`"reasoning":"hm"`), text("4"), finish("length"), done)
		},
		"a call cut short": func() *http.Response {
			return streamReply(delta(`"reasoning":"hm"`), delta(`"tool_calls":[{"index":0,"id":"a","function":{"name":"f"}}]`), finish("length"), done)
		},
		"only reasoning, and stop": func() *http.Response { return streamReply(delta(`"reasoning":"hm"`), finish("stop"), done) },
		"nothing at all":           func() *http.Response { return streamReply(finish("length"), done) },
		"broken while thinking":    func() *http.Response { return streamReply(delta(`"reasoning":"hm"`)) },
	} {
		n := 0
		ep := opened(t, Options{}, func(string) *http.Response { n++; return reply() })
		_, _ = ep.Ask(t.Context(), Chat("?"))
		equal(t, name, n, 1)
	}
	n := 0
	ep := opened(t, Options{}, func(string) *http.Response { n++; return streamReply(text("<think>so"), finish("length"), done) })
	_, _ = ep.Ask(t.Context(), Chat("?"))
	equal(t, "a think block in the content", n, 2)
}

func TestWhatAnAnswerSays(t *testing.T) {
	for _, c := range []struct {
		a             Answer
		visible, says string
	}{
		{Answer{Content: " 42\n"}, "42", `"42"`},
		{Answer{Content: "<think>so</think>\n\n42"}, "42", `"42"`},
		{Answer{Content: "<think>so"}, "<think>so", `"<think>so"`},
		{Answer{Reasoning: "so"}, "", `nothing but reasoning: "so"`},
		{Answer{Calls: []ToolCall{{"i", "f", `{"a":"b"}`}}}, "", `a call of "f" with "{\"a\":\"b\"}"`},
		{Answer{Finish: "stop"}, "", `nothing (finish_reason "stop")`},
		{Answer{Content: "a\x1b[31m"}, "a\x1b[31m", `"a\u{1b}[31m"`},
	} {
		equal(t, "visible", c.a.Visible(), c.visible)
		equal(t, "says", c.a.Says(), c.says)
	}
	long := Answer{Content: strings.Repeat("x", 10_000)}
	if len(long.Says()) > 300 {
		t.Error("a long answer is quoted whole")
	}
	equal(t, "everything", Answer{Content: "b", Reasoning: "a", Refusal: "c", Calls: []ToolCall{{"i", "d", "e"}}}.Everything(), "abcde")
	if !(Answer{Finish: "length"}).CutShort() || !(Answer{Failure: &Failure{}}).CutShort() || (Answer{Finish: "stop"}).CutShort() {
		t.Error("cut short")
	}
}

func TestLimitsWithin(t *testing.T) {
	l := DefaultLimits().Within(2 * testLimits().Connect)
	if l.First != 2*testLimits().Connect || l.Total != 10*l.First || l.Gap > l.Total || l.Settle > l.Total || l.Connect > l.Total || l.EventBytes != DefaultLimits().EventBytes {
		t.Errorf("%+v", l)
	}
	equal(t, "no bound", DefaultLimits().Within(0), DefaultLimits())
}

func TestProse(t *testing.T) {
	a, b := NewProse(7).Sentences(50), NewProse(7).Sentences(50)
	equal(t, "the same seed", a, b)
	if strings.ContainsAny(a, "0123456789\n") || a == NewProse(8).Sentences(50) || strings.Count(a, ".") != 50 {
		t.Error(a)
	}
}
