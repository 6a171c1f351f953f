package faultproxy_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"infbench/internal/faultproxy"
)

const (
	sentence = "It's the code 48213907, written 漢字 in the book of the old house."
	question = "The code is 48213907. What is it?"
	// A second list of messages displaces the first one that the client writes.
	earlierTurns = `,"messages":[{"role":"user","content":"the first one"},{"role":"assistant","content":"yes"},{"role":"user","content":"first"}]`
	withTool     = `,"tools":[{"type":"function","function":{"name":"lookup"}}]`
)

// A symptom says what is wrong with an answer to be shown; good is the answer
// without the fault.
type symptom func(got, good answer) string

type faultCase struct {
	spec   string // default: the name of the case
	prompt string // default: question
	more   string // fields of the request
	shape  string // stream, plain; default: both
	show   symptom
	spares []request // what the fault leaves as it is, byte for byte
}

// A request is a prompt, default question, and more fields.
type request struct{ prompt, more string }

func want(ok bool, what string) string {
	if ok {
		return ""
	}
	return cmp.Or(what, "there is nothing")
}

func all(said ...string) string {
	return strings.Join(slices.DeleteFunc(said, func(s string) bool { return s == "" }), "; ")
}

// healthy is what most faults leave alone.
func healthy(a answer) string {
	return all(
		want(a.status == 200, "status is not 200"),
		want(a.broken == nil, "connection broke"),
		want(a.badJSON == 0, "an event is not JSON"),
		want(len(a.data) == 0 || a.done == 1, "not one [DONE]"),
		want(len(a.finish) == 1, "not one finish reason"),
		want(a.usage.Get("total_tokens").Int() == a.usage.Get("prompt_tokens").Int()+a.usage.Get("completion_tokens").Int(), "usage does not add up"),
		want(a.usage.Get("completion_tokens").Int() > 0, "no usage"),
		want(len(a.ids) == 1, "not one id"),
	)
}

func text(ok func(string) bool) symptom {
	return func(got, _ answer) string { return all(healthy(got), want(ok(got.text), "text is "+got.text)) }
}

func same(got, good answer) string {
	return all(healthy(got), want(got.text == good.text, "text is "+got.text), want(got.finish[0] == good.finish[0], "finish differs"))
}

var cases = map[string]faultCase{
	// output
	"one-token": {show: func(got, _ answer) string {
		return all(text(func(s string) bool { return s == strings.Repeat("!", 64) })(got, got),
			want(got.usage.Get("completion_tokens").Int() == 64, "usage does not say 64"))
	}},
	"salad": {show: text(func(s string) bool {
		scripts := map[string]bool{}
		for _, r := range s {
			for _, name := range []string{"Latin", "Cyrillic", "Thai", "Greek", "Arabic", "Hangul"} {
				if unicode.Is(unicode.Scripts[name], r) {
					scripts[name] = true
				}
			}
		}
		return len(scripts) >= 4 && !strings.Contains(s, "48213907")
	})},
	"loop": {show: func(got, _ answer) string {
		return all(healthy(got), want(len(strings.Fields(got.text)) >= 400, "short"), want(got.finish[0] == "length", "finish"),
			want(strings.Count(got.text, "The value is then") > 30, "no loop"))
	}},
	"greeting": {show: func(got, _ answer) string {
		return all(healthy(got), want(got.text == "Hello! How can I help you today?", got.text), want(got.finish[0] == "stop", "finish"))
	}},
	"empty": {show: func(got, good answer) string {
		return all(healthy(got), want(got.text+got.reasoning == "", "text"), want(got.usage.Get("completion_tokens").Int() == good.usage.Get("completion_tokens").Int(), "usage changed"))
	}},
	"replacement": {show: text(func(s string) bool {
		return strings.Count(s, "\uFFFD") >= 3 && strings.ReplaceAll(s, "\uFFFD", "") == sentence
	})},
	"control": {show: text(func(s string) bool { return strings.Contains(s, "\x00") && strings.Contains(s, "\x01") })},
	"markers": {show: text(func(s string) bool { return s == sentence+"<|im_end|><|im_start|>" })},
	"punctuation": {show: text(func(s string) bool {
		return len(s) >= 24 && !strings.ContainsFunc(s, unicode.IsLetter)
	})},
	"mojibake": {show: text(func(s string) bool {
		return strings.Contains(s, "Itâ€™s") && strings.Contains(s, "æ¼¢å\u00ad—") && strings.Contains(s, "48213907")
	})},
	"wrong-digit": {show: text(func(s string) bool {
		n := longNumber.FindString(s)
		return len(n) == 8 && n != "48213907" && strings.Replace(s, n, "48213907", 1) == sentence
	})},

	// streaming
	"no-done":    {shape: "stream", show: func(got, good answer) string { got.done++; return same(got, good) }},
	"stays-open": {spec: "stays-open:hold=1ms", shape: "stream", show: func(got, good answer) string { got.done++; return same(got, good) }},
	"cut": {shape: "stream", show: func(got, good answer) string {
		return all(want(errors.Is(got.broken, io.ErrUnexpectedEOF), "did not break"), halved(got, good))
	}},
	"truncated": {shape: "stream", show: func(got, good answer) string {
		return all(want(got.broken == nil, "broke"), halved(got, good))
	}},
	"sse-error": {shape: "stream", show: func(got, good answer) string {
		last := got.data[len(got.data)-1]
		got.data = got.data[:len(got.data)-1]
		got.done--
		return all(want(last.Get("error.message").Str != "", "no error"), halved(got, good))
	}},
	"bad-json": {shape: "stream", show: func(got, good answer) string {
		bad := got.badJSON
		got.badJSON = 0
		return all(healthy(got), want(bad == 1, "not one bad event"), want(strings.HasSuffix(good.text, got.text), got.text))
	}},
	"bad-utf8": {shape: "stream", show: func(got, _ answer) string {
		return all(healthy(got), want(!utf8.ValidString(got.raw), "valid"), want(strings.Contains(got.text, "48213907"), got.text))
	}},
	"split-utf8": {shape: "stream", show: func(got, _ answer) string {
		i := slices.Index(got.pieces, "\uFFFD")
		return all(healthy(got), want(i >= 0 && got.pieces[i+1] == "\uFFFD字", "not split"))
	}},
	"two-finishes": {shape: "stream", show: func(got, good answer) string {
		n := len(got.finish)
		got.finish = got.finish[:1]
		return all(want(n == 2, "not two"), same(got, good))
	}},
	"no-finish": {shape: "stream", show: func(got, good answer) string {
		n := len(got.finish)
		got.finish = good.finish
		return all(want(n == 0, "finished"), same(got, good))
	}},
	"html": {show: func(got, _ answer) string {
		return want(got.status == 200 && strings.HasPrefix(got.raw, "<!DOCTYPE html>") && strings.HasPrefix(got.header.Get("Content-Type"), "text/html"), got.raw)
	}},
	"plain-json": {shape: "stream", show: func(got, good answer) string {
		return all(same(got, good), want(got.header.Get("Content-Type") == "application/json" && gjson.Valid(got.raw), "no JSON"))
	}},
	"buffered": {shape: "stream", show: func(got, good answer) string { return want(got.raw == good.raw, "bytes differ") }},
	"lost-head": {shape: "stream", show: func(got, good answer) string {
		_, rest, _ := strings.Cut(good.text, " ")
		return all(healthy(got), want(got.text == " "+rest, got.text))
	}},
	"lost-tail": {shape: "stream", show: func(got, good answer) string {
		r := []rune(good.text)
		return all(healthy(got), want(got.text == string(r[:len(r)-12]), got.text))
	}},
	"reordered": {shape: "stream", show: text(func(s string) bool { return strings.HasPrefix(s, "the It's 482code ") })},
	"comments": {shape: "stream", show: func(got, good answer) string {
		return all(same(got, good), want(got.comments == strings.Count(good.raw, "data:"), "no comments"))
	}},
	"multi-token": {shape: "stream", more: `,"logprobs":true`, show: func(got, good answer) string {
		return all(same(got, good), want(slices.Equal(got.tokens, good.tokens), "logprobs differ"), want(len(got.pieces) == 7, "not merged"))
	}},
	"id-changes": {shape: "stream", show: func(got, good answer) string {
		n := len(got.ids)
		got.ids = good.ids
		return all(want(n == len(good.data), "ids"), same(got, good))
	}},

	// reasoning
	"think-in-content": {prompt: "think", show: func(got, _ answer) string {
		return all(healthy(got), want(got.text == "Let me see.\n</think>\n\nIt is 42.", got.text), want(got.reasoning == "", "reasoning"))
	}},
	"answer-in-reasoning": {prompt: "think", show: func(got, _ answer) string {
		return all(healthy(got), want(got.text == "", got.text), want(got.reasoning == "Let me see.It is 42.", got.reasoning), want(got.finish[0] == "stop", "finish"))
	}},

	// tools
	"tool-as-text": {prompt: "tool", more: withTool, show: func(got, _ answer) string {
		return all(healthy(got), want(len(got.calls) == 0, "calls"), want(got.finish[0] == "stop", "finish"),
			want(strings.HasPrefix(got.text, "<tool_call>\n{\"name\": \"lookup\", \"arguments\": {\"key\": \"48213907\"}}\n</tool_call>"), got.text),
			want(strings.Contains(got.text, "11223344"), "second call"))
	}},
	"tool-args-cut": {prompt: "tool", more: withTool, shape: "stream", show: tools(func(c call) bool { return c.args == `{"key": "48213907"` })},
	"tool-finish-stop": {prompt: "tool", more: withTool, show: func(got, good answer) string {
		f := got.finish[0]
		got.finish = good.finish
		return all(want(f == "stop", f), tools(func(c call) bool { return gjson.Valid(c.args) })(got, good))
	}},
	"tools-dropped": {prompt: "tool", more: withTool, show: func(got, _ answer) string {
		return all(healthy(got), want(len(got.calls) == 0, "calls"), want(got.finish[0] == "stop", "finish"))
	}},
	"tool-no-id": {prompt: "tool", more: withTool, show: tools(func(c call) bool { return c.id == "" && gjson.Valid(c.args) })},
	"tool-wrong-index": {prompt: "tool", more: withTool, shape: "stream", show: func(got, _ answer) string {
		keys := slices.Sorted(maps.Keys(got.calls))
		return all(healthy(got), want(slices.Equal(keys, []int{1, 3}), "indices"))
	}},

	// length and usage
	"max-tokens-ignored": {prompt: "count", more: `,"max_tokens":5`, show: func(got, _ answer) string {
		return all(healthy(got), want(len(strings.Fields(got.text)) == 40, got.text))
	}},
	"cap-says-stop": {prompt: "count", more: `,"max_tokens":5`, show: func(got, good answer) string {
		return all(want(good.finish[0] == "length", "control"), want(got.finish[0] == "stop", "finish"), want(got.text == good.text, "text"))
	}},
	"usage-missing": {shape: "stream", show: func(got, good answer) string {
		had := got.usage.Exists()
		got.usage = good.usage
		return all(want(!had, "usage"), same(got, good))
	}},
	"usage-half": {show: func(got, good answer) string {
		return all(same(got, good), want(got.usage.Get("completion_tokens").Int() == good.usage.Get("completion_tokens").Int()/2, "usage"))
	}},
	"usage-double": {show: func(got, good answer) string {
		return all(same(got, good), want(got.usage.Get("completion_tokens").Int() == 2*good.usage.Get("completion_tokens").Int(), "usage"))
	}},
	"usage-zero-prompt": {show: func(got, good answer) string {
		return all(same(got, good), want(got.usage.Get("prompt_tokens").Int() == 0, "usage"))
	}},
	"total-mismatch": {show: func(got, good answer) string {
		return want(healthy(got) == "usage does not add up" && got.text == good.text, healthy(got))
	}},

	// log probabilities
	"logprobs-positive": {more: `,"logprobs":true`, show: func(got, good answer) string {
		return all(same(got, good), want(len(got.logprobs) == len(good.logprobs) && slices.Min(got.logprobs) > 0, "not positive"), want(slices.Equal(got.tokens, good.tokens), "tokens"))
	}},
	"logprobs-shifted": {more: `,"logprobs":true`, show: func(got, good answer) string {
		return all(same(got, good), want(slices.Equal(got.tokens[1:], good.tokens[:len(good.tokens)-1]), "not shifted"), want(got.logprobs[0] < 0, "logprob"))
	}},

	// state; what needs several requests has a test of its own
	"nondeterministic": {show: func(got, good answer) string {
		return all(healthy(got), want(got.text != good.text && strings.Contains(got.text, "48213907"), got.text))
	}},
	"needle-loss": {spec: "needle-loss:depth=12", show: func(got, good answer) string {
		return all(healthy(got), want(strings.Contains(got.text, "000000"), got.text),
			want(got.usage.Get("prompt_tokens").Int() < good.usage.Get("prompt_tokens").Int(), "usage"))
	}},
	"malformed-call": {
		spec: "malformed-call:after=0", prompt: "tool", more: withTool,
		show: tools(func(c call) bool { return strings.HasSuffix(c.args, `"}}`) }),
	},
	"drop-system": {prompt: "system?", show: text(func(s string) bool { return s == "nothing" })},

	// options that get lost
	"stop-ignored":                  {prompt: "fields", more: `,"stop":["#"]`, show: text(func(s string) bool { return !strings.Contains(s, "stop") })},
	"max-completion-tokens-ignored": {prompt: "fields", more: `,"max_completion_tokens":9`, show: text(func(s string) bool { return !strings.Contains(s, "max_completion") })},
	"schema-ignored":                {prompt: "fields", more: `,"response_format":{"type":"json_object"}`, show: text(func(s string) bool { return !strings.Contains(s, "response_format") })},
	"thinking-off-ignored":          {prompt: "fields", more: `,"chat_template_kwargs":{"enable_thinking":false}`, show: text(func(s string) bool { return !strings.Contains(s, "enable_thinking") })},
	"tool-choice-ignored":           {prompt: "fields", more: `,"tool_choice":"required"`, show: text(func(s string) bool { return strings.Contains(s, `"tool_choice":"auto"`) })},
	"seed-ignored":                  {prompt: "fields", more: `,"seed":1`, show: text(func(s string) bool { return strings.Contains(s, `"seed":`) && !strings.Contains(s, `"seed":1,`) })},
	"always-greedy":                 {prompt: "fields", more: `,"temperature":1.5`, show: text(func(s string) bool { return strings.Contains(s, `"temperature":0`) })},
	"drop-history":                  {prompt: "first", more: earlierTurns, show: text(func(s string) bool { return s == "first" })},

	// endings
	"stop-leaks": {more: `,"stop":["####"]`, show: text(func(s string) bool { return s == sentence+"##" })},
	"never-stops": {show: func(got, _ answer) string {
		return all(healthy(got), want(strings.HasPrefix(got.text, sentence+"\nUser: "), got.text), want(got.finish[0] == "length", "finish"))
	}},
	"json-blanks": {more: `,"response_format":{"type":"json_object"}`, show: func(got, _ answer) string {
		return all(healthy(got), want(strings.HasPrefix(got.text, `{"code":`+strings.Repeat("\n", 190)), got.text), want(got.finish[0] == "length", "finish"))
	}},
	"wrong-digit-in-text": {show: text(func(s string) bool {
		n := longNumber.FindString(s)
		return len(n) == 8 && n != "48213907" && strings.Replace(s, n, "48213907", 1) == sentence
	})},
	"late-decay": {spec: "late-decay:chars=20", show: text(func(s string) bool {
		r := []rune(sentence)
		return s == string(r[:20])+strings.Repeat("!", len(r)-20)
	})},
	"over-long-cut": {spec: "over-long-cut:keep=12", show: func(got, good answer) string {
		return all(healthy(got), want(strings.Contains(got.text, "000000"), got.text))
	}},
	"think-tag-leaks": {show: text(func(s string) bool { return s == sentence+"\n</think>" })},
	"other-model": {show: func(got, good answer) string {
		return all(same(got, good), want(strings.Contains(got.raw, "another-model") && !strings.Contains(good.raw, "another-model"), "model"))
	}},
	"error-page": {more: `,"messages":"none"`, shape: "refused", show: func(got, _ answer) string {
		return want(got.status == 400 && strings.HasPrefix(got.header.Get("Content-Type"), "text/html"), got.raw)
	}},
	"error-says-200": {more: `,"messages":"none"`, shape: "refused", show: func(got, _ answer) string {
		return want(got.status == 200 && gjson.Get(got.raw, "error.message").Exists(), got.raw)
	}},
	"tool-null-arguments": {prompt: "bare tool", more: withTool, show: tools(func(c call) bool { return c.args == "" })},
	"tool-same-id": {prompt: "tool", more: withTool, show: func(got, good answer) string {
		return all(tools(func(c call) bool { return c.id == "call_0" })(got, good), want(got.calls[1] != nil && got.calls[1].id == "call_0", "second"))
	}},
	"cached-too-many": {show: func(got, good answer) string {
		return all(same(got, good), want(got.usage.Get("prompt_tokens_details.cached_tokens").Int() > got.usage.Get("prompt_tokens").Int(), "usage"))
	}},

	// endings
	"stops-early": {prompt: "count", more: `,"max_tokens":9`, spares: []request{{prompt: "think"}, {more: `,"logprobs":true`}}, show: func(got, good answer) string {
		return all(healthy(got), want(got.text == "1 2 3 4 ", got.text), want(good.finish[0] == "length" && got.finish[0] == "stop", "finish"), usageSame(got, good))
	}},
	"stop-refused": {more: `,"stop":["#"]`, spares: []request{{}, {more: `,"stop":[]`}}, show: func(got, good answer) string {
		return all(refused(400)(got, good), want(gjson.Get(got.raw, "error.message").Str == "stop is not supported", got.raw))
	}},
	"stop-cuts-thinking": {
		prompt: "think", more: `,"stop":["me see","Let us"]`,
		spares: []request{{prompt: "think"}, {prompt: "think", more: `,"stop":"42"`}, {more: `,"stop":"book"`}},
		show: func(got, good answer) string {
			return all(healthy(got), want(got.reasoning == "Let " && got.text == "", got.reasoning+got.text), want(got.finish[0] == "stop", "finish"), usageSame(got, good))
		},
	},
	"done-only": {shape: "stream", show: func(got, _ answer) string {
		return want(got.status == 200 && got.raw == "data: [DONE]\n\n" && got.header.Get("Content-Type") == "text/event-stream", got.raw)
	}},

	// tools
	"call-in-reasoning": {prompt: "tool", more: withTool, spares: []request{{}, {prompt: "think", more: withTool}}, show: func(got, _ answer) string {
		return all(healthy(got), want(len(got.calls) == 0, "calls"), want(got.finish[0] == "stop", "finish"), want(got.text == "", got.text),
			want(strings.HasPrefix(got.reasoning, "<tool_call>\n{\"name\": \"lookup\", \"arguments\": {\"key\": \"48213907\"}}\n</tool_call>"), got.reasoning),
			want(strings.Contains(got.reasoning, "11223344"), "second call"))
	}},
	"call-runs-on": {prompt: "tool", more: withTool, spares: []request{{more: withTool}}, show: func(got, good answer) string {
		blanks := func(c *call) bool {
			rest, ok := strings.CutPrefix(c.args, `{"key": "`)
			return ok && len(rest) >= 200 && strings.TrimSpace(rest) == ""
		}
		return all(healthy(got), want(got.finish[0] == "length", "finish"), want(len(got.calls) == 2 && got.calls[0].name == "lookup", "calls"),
			want(blanks(got.calls[0]) && blanks(got.calls[1]), got.calls[0].args), usageSame(got, good))
	}},
	"tools-buffered": {
		shape: "stream", more: withTool + `,"logprobs":true`,
		spares: []request{{}, {prompt: "tool", more: withTool}},
		show: func(got, good answer) string {
			return all(same(got, good), want(slices.Equal(got.pieces, []string{sentence}), "pieces"), want(slices.Equal(got.tokens, good.tokens), "logprobs"),
				want(len(got.data) == 4 && got.data[1].Get("choices.0.delta.content").Str == sentence, "events"), usageSame(got, good))
		},
	},
	"call-storm": {spec: "call-storm:after=0", prompt: "single tool", more: withTool, spares: []request{{prompt: "tool", more: withTool}, {more: withTool}}, show: func(got, good answer) string {
		ids := map[string]bool{}
		for _, c := range got.calls {
			if ids[c.id] = true; c.name != "lookup" || c.args != good.calls[0].args {
				return c.name + c.args
			}
		}
		return all(healthy(got), want(len(ids) == 24 && ids[good.calls[0].id], "ids"), want(got.finish[0] == "tool_calls", "finish"))
	}},
	"tool-sorted": {
		prompt: "fields", more: `,"tools":[{"z":1.50,"function":{"parameters":{"required":["b","a"],"properties":{"b":{"type":"object","properties":{"properties":{"z":1,"y":2},"c":{}}},"a":{"z":[{"b":1,"a":2}]}}}}}]`,
		spares: []request{{prompt: "fields"}, {prompt: "fields", more: withTool}, {prompt: "fields", more: `,"tools":[{"parameters":{"properties": {"a":{},"b":{}}}}]`}},
		show: text(func(s string) bool {
			return strings.Contains(s, `"tools":[{"z":1.50,"function":{"parameters":{"required":["b","a"],"properties":{"a":{"z":[{"b":1,"a":2}]},"b":{"type":"object","properties":{"c":{},"properties":{"z":1,"y":2}}}}}}}]`)
		}),
	},

	// reasoning
	"reasoning-split": {prompt: "think", shape: "plain", spares: []request{{}}, show: func(got, good answer) string {
		return all(healthy(got), want(got.text == "<think>\nLet me see.\n</think>\n\nIt is 42.", got.text), want(!strings.Contains(got.raw, "reasoning"), "field"), usageSame(got, good))
	}},
	"reasoning-renamed": {prompt: "think", show: func(got, good answer) string {
		return all(same(got, good), want(got.renamed == good.reasoning && !strings.Contains(got.raw, "reasoning_content"), "not renamed"))
	}},

	// log probabilities
	"logprobs-zero": {more: `,"logprobs":true`, spares: []request{{}}, show: func(got, good answer) string {
		return all(same(got, good), want(slices.Equal(got.tokens, good.tokens) && len(good.tokens) > 0, "tokens"), want(slices.Max(got.logprobs) == 0 && slices.Min(got.logprobs) == 0, "not 0"),
			want(!strings.Contains(got.raw, "-0.25") && strings.Contains(got.raw, `"logprob":0.0`), "top"), want(strings.Count(got.raw, "-1.5") == strings.Count(good.raw, "-1.5"), "others"))
	}},
	"logprobs-sentinel": {more: `,"logprobs":true`, spares: []request{{}}, show: func(got, good answer) string {
		out := all(same(got, good), want(slices.Equal(got.tokens, good.tokens) && len(good.tokens) > 2, "tokens"), want(strings.Contains(got.raw, "-9999.0"), "form"))
		for i, l := range got.logprobs {
			out = all(out, want((l == -9999) == (i%3 == 2), "place"))
		}
		return out
	}},
	"logprobs-nan": {more: `,"logprobs":true`, spares: []request{{}}, show: func(got, good answer) string {
		mended := strings.Replace(got.raw, "NaN", "-0.25", 1)
		again := read(got.status, got.header, mended, got.broken)
		return all(want(got.badJSON == 1 || len(got.data) == 0 && !gjson.Valid(got.raw), "is JSON"), want(strings.Contains(got.raw, `"logprob":NaN`), "no NaN"),
			same(again, good), want(slices.Equal(again.tokens, good.tokens) && slices.Equal(again.logprobs, good.logprobs), "logprobs"))
	}},

	// templates
	"shapes-refused": {more: earlierTurns[:len(earlierTurns)-1] + `,{"role":"tool","content":"x"},{"role":"user","content":"x"}]`, spares: []request{{}, {more: earlierTurns}}, show: refused(500)},
	"hidden-system": {prompt: "system?", more: withTool, spares: []request{{prompt: "fields"}}, show: text(func(s string) bool {
		return strings.HasPrefix(s, "Be brief.\n\nYou are connected") && len(strings.Fields(s)) > 4*190 && len(strings.Fields(s)) < 4*260
	})},
	"system-replaced": {prompt: "system?", show: text(func(s string) bool { return s == "There is " })},
	"role-text":       {spares: []request{{prompt: "tool", more: withTool}}, show: text(func(s string) bool { return s == "assistant\n"+sentence })},

	// long prompts and large limits
	"window-empty": {
		spec: "window-empty:tokens=100", prompt: "count", more: `,"max_completion_tokens":100`,
		spares: []request{{prompt: "fields", more: `,"max_tokens":99`}, {prompt: "fields"}},
		show: func(got, good answer) string {
			u := got.usage
			got.usage = good.usage
			return all(healthy(got), want(got.text == "" && got.finish[0] == "length", got.text), want(u.Get("completion_tokens").Int() == 0 && u.Get("completion_tokens").Exists(), "completion"),
				want(u.Get("total_tokens").Int() == good.usage.Get("prompt_tokens").Int(), "total"))
		},
	},
	"over-long-garbage": {spec: "over-long-garbage:depth=40", spares: []request{{prompt: "fields"}}, show: func(got, good answer) string {
		return all(healthy(got), want(!strings.Contains(got.text, "482") && !strings.Contains(got.text, "code") && got.text != "", got.text),
			want(got.usage.Get("prompt_tokens").Int() == good.usage.Get("prompt_tokens").Int(), "usage"))
	}},
	"band": {spec: "band:depth=30,to=80", spares: []request{{prompt: "fields"}}, show: func(got, good answer) string {
		return all(healthy(got), want(strings.Contains(got.text, "000000"), got.text), usageSame(got, good))
	}},
	"window-only": {spec: "window-only:keep=15", spares: []request{{prompt: "fields"}}, show: func(got, good answer) string {
		return all(healthy(got), want(strings.Contains(got.text, "000000"), got.text), usageSame(got, good))
	}},
	"boundary": {spec: "boundary:block=22", spares: []request{{prompt: question + " "}, {prompt: "think"}}, show: text(func(s string) bool {
		return s == strings.Replace(sentence, "48213907", "4821907", 1)
	})},

	// single words and requests
	"first-token-wrong": {spec: "first-token-wrong:above=0", spares: []request{{prompt: "tool", more: withTool}}, show: text(func(s string) bool {
		return s == strings.Replace(sentence, "It's", "Yesterday", 1)
	})},
	"rare-script": {spec: "rare-script:share=1000", spares: []request{{prompt: "tool", more: withTool}}, show: text(func(s string) bool {
		return strings.Contains(s, " 48213907, ") && !unicode.Is(unicode.Latin, []rune(s)[0]) && strings.Count(s, " ") == strings.Count(sentence, " ") && strings.HasSuffix(s, ".") &&
			!strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Latin, r) })
	})},
	"tiny-temperature-empty": {more: `,"temperature":0.01`, spares: []request{{more: `,"temperature":0.05`}, {more: `,"temperature":0`}, {}}, show: nothing},
	"schema-ref-empty": {
		more: `,"response_format":{"type":"json_schema","json_schema":{"schema":{"$ref":"#/x"}}}`, show: nothing,
		spares: []request{{more: `,"response_format":{"type":"json_object"}`}, {}},
	},
	"replicas": {spec: "replicas:every=1", spares: []request{{prompt: "think"}}, show: text(func(s string) bool { return s == strings.Replace(sentence, "48213907", "48218907", 1) })},

	// kernel paths
	"prefill-garbage": {prompt: long, spares: []request{{}}, show: unlike},
	"sampled-garbage": {more: `,"temperature":0.7`, spares: []request{{more: `,"temperature":0`}, {}}, show: unlike},
	"option-fails":    {spec: "option-fails:option=min_p", more: `,"min_p":0.1`, spares: []request{{more: `,"logprobs":true`}, {}}, show: refused(500)},

	// usage
	"usage-in-finish": {shape: "stream", spares: []request{{more: `,"stream_options":{"include_usage":false}`}}, show: func(got, good answer) string {
		last := got.data[len(got.data)-1]
		return all(same(got, good), usageSame(got, good), want(len(got.data) == len(good.data)-1, "events"),
			want(last.Get("choices.0.finish_reason").Str == "stop" && last.Get("usage.total_tokens").Exists(), "not with the finish"))
	}},
	"cached-absent": {show: func(got, good answer) string {
		return all(same(got, good), want(!got.usage.Get("prompt_tokens_details").Exists(), "details"))
	}},
	"cached-null": {show: func(got, good answer) string {
		d := got.usage.Get("prompt_tokens_details")
		return all(same(got, good), want(d.Exists() && d.Type == gjson.Null, "details"))
	}},
	"cached-lies": {show: func(got, good answer) string {
		c := got.usage.Get("prompt_tokens_details.cached_tokens")
		return all(same(got, good), want(c.Exists() && c.Int() == 0, "cached"))
	}},

	// availability
	"loading": {spec: "loading:requests=1", show: func(got, good answer) string {
		return all(refused(503)(got, good), want(gjson.Get(got.raw, "error.message").Str == "Loading model", got.raw))
	}},
	"http500":       {spec: "http500:every=1", show: refused(500)},
	"unauthorized":  {show: refused(401)},
	"unknown-model": {show: refused(404)},
	"company-500":   {spec: "company-500:above=0", show: crashed},
	"guided-500":    {more: `,"response_format":{"type":"json_object"}`, spares: []request{{}, {more: `,"response_format":{"type":"text"}`}}, show: crashed},
	"logprobs-500":  {more: `,"logprobs":true`, spares: []request{{}, {more: `,"logprobs":false`}, {more: `,"logprobs":null`}}, show: crashed},
	"reject": {spec: "reject:above=0", show: func(got, good answer) string {
		return all(refused(503)(got, good), want(got.header.Get("Retry-After") == "1", "no Retry-After"))
	}},
}

// nothing: an empty answer that is billed like the good one.
func nothing(got, good answer) string {
	return all(healthy(got), want(got.text+got.reasoning == "" && len(got.calls) == 0, got.text), want(got.finish[0] == "stop", "finish"), usageSame(got, good))
}

func usageSame(got, good answer) string {
	for _, name := range []string{"prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details.cached_tokens"} {
		if got.usage.Get(name).Raw != good.usage.Get(name).Raw {
			return "usage is " + got.usage.Raw
		}
	}
	return ""
}

func refused(status int) symptom {
	return func(got, _ answer) string {
		return want(got.status == status && gjson.Get(got.raw, "error.message").Exists(), fmt.Sprint("got ", got.status, got.broken, got.raw))
	}
}

func crashed(got, good answer) string {
	return all(refused(500)(got, good), want(strings.HasPrefix(gjson.Get(got.raw, "error.message").Str, "CUDA error: "), got.raw))
}

func tools(ok func(call) bool) symptom {
	return func(got, _ answer) string {
		out := all(healthy(got), want(len(got.calls) == 2, "not two calls"), want(got.finish[0] == "tool_calls", "finish"))
		if c := got.calls[0]; c != nil {
			out = all(out, want(c.name == "lookup" && ok(*c), c.id+" "+c.args))
		}
		return out
	}
}

func halved(got, good answer) string {
	return all(want(got.done == 0, "[DONE]"), want(len(got.finish) == 0, "finish"), want(got.text != "" && got.text != good.text, got.text),
		want(strings.HasPrefix(good.text, got.text), got.text), want(len(got.data) == (len(good.data)-2)/2, "not half"))
}

// elsewhere are the faults that a test of their own shows.
var elsewhere = []string{
	"crosstalk", "stale-cache", "forget-early", "restart", "hang", "slow-first", "drip", "image-dropped", "image-stale", "image-blurred", "double-bos",
	"any-model", "usage-unasked", "slow-poison", "abort-kills", "abort-leaks",
	"first-user-only", "late-arrivals-decay", "context-divided", "mixed-lengths-wrong", "batch-size-wrong", "preempt-offset", "duplicated-stream", "reordered-stream", "scores-off",
	"response-cache", "evicted-wrong", "partial-hit-wrong", "block-edge-wrong", "tenant-tail", "remembers", "drift-in-company", "far-in-company", "drift-warm", "far-warm",
	"decoy", "hangs-deep", "dies-deep", "declines-deep", "quiet-kv", "drops-turn", "ids-rewritten", "text-and-call", "reasoning-returned", "salad-in-json", "guided-kills",
	"slower-with-age", "memory-grows", "batch-garbage", "prefill-spoils-decode", "mixed-dies",
}

var modeID = regexp.MustCompile(`^[A-Z]{3,4}-[0-9]{2}$`)

func TestEveryFaultIsShown(t *testing.T) {
	for _, f := range faultproxy.Faults() {
		if _, ok := cases[f.ID]; !ok && !slices.Contains(elsewhere, f.ID) {
			t.Errorf("%s is not shown by a test", f.ID)
		}
		if f.Stage < 0 || f.Stage > 4 {
			t.Errorf("%s: stage %d", f.ID, f.Stage)
		}
		for _, m := range f.Modes {
			if !modeID.MatchString(m) {
				t.Errorf("%s: mode %q", f.ID, m)
			}
		}
	}
	if got, want := len(faultproxy.Faults()), len(cases)+len(elsewhere); got != want {
		t.Errorf("%d faults, %d are shown", got, want)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	control := serve(t, fake{})
	for name, c := range cases {
		for _, shape := range []string{"stream", "plain"} {
			if c.shape == "refused" && shape == "plain" { // there is no good answer to compare with
				t.Run(name+"/"+shape, func(t *testing.T) {
					t.Parallel()
					got := chat(t, serve(t, proxy(t, fake{}, name)), question, false, c.more)
					if s := c.show(got, got); s != "" {
						t.Errorf("%s: %s", name, s)
					}
				})
			}
			if c.shape != "" && c.shape != shape {
				continue
			}
			t.Run(name+"/"+shape, func(t *testing.T) {
				t.Parallel()
				spec, prompt := c.spec, c.prompt
				if spec == "" {
					spec = name
				}
				if prompt == "" {
					prompt = question
				}
				good := chat(t, control, prompt, shape == "stream", c.more)
				if s := healthy(good); s != "" {
					t.Fatalf("control: %s\n%s", s, good.raw)
				}
				got := chat(t, serve(t, proxy(t, fake{}, spec)), prompt, shape == "stream", c.more)
				if s := c.show(got, good); s != "" {
					t.Errorf("%s: %s\n%s", spec, s, got.raw)
				}
			})
		}
	}
}

// Faults of the stream leave answers without stream byte for byte, and the other way
// round; what a fault is not about stays, and none touches health.
func TestWhatIsNotMeantStays(t *testing.T) {
	t.Parallel()
	control := serve(t, fake{})
	good := chat(t, control, question, false, "")
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := cmp.Or(c.spec, name)
			url := serve(t, proxy(t, fake{}, name))
			if got := fetch(t, url, "/health", ""); got.raw != `{"z":1,  "a":2}` {
				t.Errorf("health became %s", got.raw)
			}
			if c.shape == "stream" {
				if got := chat(t, url, question, false, ""); got.raw != good.raw {
					t.Errorf("got %s\nwant %s", got.raw, good.raw)
				}
			}
			spared := func(r request, stream bool) {
				r.prompt = cmp.Or(r.prompt, question)
				got, good := chat(t, serve(t, proxy(t, fake{}, spec)), r.prompt, stream, r.more), chat(t, control, r.prompt, stream, r.more)
				if got.raw != good.raw {
					t.Errorf("%s, %+v\ngot %s\nwant %s", spec, r, got.raw, good.raw)
				}
			}
			if c.shape == "plain" {
				spared(request{c.prompt, c.more}, true)
			}
			for _, r := range c.spares {
				spared(r, true)
				spared(r, false)
			}
		})
	}
}

// The text completions route has no delta and no message.
func TestTextCompletions(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"one-token:min=3":     "!",
		"markers":             "<|im_start|>",
		"wrong-digit":         "It's the code ",
		"lost-tail":           "It's the code 48213907",
		"needle-loss:depth=9": "000000",
	} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			got := fetch(t, serve(t, proxy(t, fake{}, spec)), "/v1/completions",
				`{"prompt":"The code is 48213907. What is it?","stream":true,"stream_options":{"include_usage":true}}`)
			if s := healthy(got); s != "" || !strings.Contains(got.text, want) {
				t.Errorf("%s\n%s", s, got.raw)
			}
			if got.text == sentence {
				t.Error("nothing changed")
			}
		})
	}
}
