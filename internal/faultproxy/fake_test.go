package faultproxy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
)

// fake is a tiny engine. What it says depends on the last message:
//
//	count  a number per token, to the cap
//	tool   two calls, if there are tools; a single one; bare ones without arguments
//	think  reasoning, then an answer
//	system the system message
//	first  the first user message
//	fields the request as it came
//	else   a sentence with the long number of the prompt
type fake struct {
	// arrived, where not nil, is told of each generation request, which then waits
	// for go.
	arrived chan<- string
	proceed <-chan struct{}
	// pause, where not nil, is received from after each event.
	pause <-chan struct{}
}

type ask struct {
	Messages []struct {
		Role, Content string
		ToolCalls     []any `json:"tool_calls"`
	}
	Prompt        string
	raw           string
	Tools         []any
	Stream        bool
	Logprobs      any
	MaxTokens     int `json:"max_tokens"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type said struct {
	kind, text string // content, reasoning, open, args
	call       int
}

var longNumber = regexp.MustCompile(`\d{6,}`)

func (a ask) last() string {
	if len(a.Messages) == 0 {
		return a.Prompt
	}
	return a.Messages[len(a.Messages)-1].Content
}

func (a ask) text() string {
	all := a.Prompt
	for _, m := range a.Messages {
		all += m.Content + "\n"
	}
	return all
}

func (a ask) find(role string) string {
	for _, m := range a.Messages {
		if m.Role == role {
			return m.Content
		}
	}
	return "nothing"
}

func (a ask) answer() (out []said, finish string) {
	content := func(pieces ...string) {
		for _, p := range pieces {
			out = append(out, said{kind: "content", text: p})
		}
	}
	finish = "stop"
	switch last := a.last(); {
	case strings.Contains(last, "count"):
		for i := 1; i <= 200; i++ {
			content(fmt.Sprintf("%d ", i))
		}
	case strings.Contains(last, "tool") && len(a.Tools) > 0:
		for i, n := range []string{"48213907", "11223344"} {
			if i > 0 && strings.Contains(last, "single") {
				break
			}
			if strings.Contains(last, "bare") {
				out = append(out, said{"open", "lookup", i}, said{"args", `{`, i}, said{"args", `}`, i})
				continue
			}
			out = append(out, said{"open", "lookup", i},
				said{"args", `{"key": `, i}, said{"args", `"` + n[:3], i}, said{"args", n[3:] + `"`, i}, said{"args", `}`, i})
		}
		return out, "tool_calls"
	case strings.Contains(last, "think"):
		out = append(out, said{kind: "reasoning", text: "Let me "}, said{kind: "reasoning", text: "see."})
		content("It is ", "42.")
	case strings.Contains(last, "system"):
		content(a.find("system"))
	case strings.Contains(last, "fields"):
		content("got ", a.raw)
	case strings.Contains(last, "first"):
		content(a.find("user"))
	default:
		n := longNumber.FindString(a.text())
		if n == "" {
			n = "000000"
		}
		content("It's ", "the ", "code ", n[:3], n[3:], ", written ", "漢字", " in the ", "book ", "of the ", "old ", "house.")
	}
	if a.MaxTokens > 0 && len(out) > a.MaxTokens {
		return out[:a.MaxTokens], "length"
	}
	return out, finish
}

func (f fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/v1/chat/completions", "/v1/completions":
		f.complete(w, r)
	case "/metrics":
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = io.WriteString(w, "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1000.5\nup 1\n")
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"z":1,  "a":2}`)
	}
}

func (f fake) complete(w http.ResponseWriter, r *http.Request) {
	var a ask
	body, _ := io.ReadAll(r.Body)
	a.raw = string(body)
	if json.Unmarshal(body, &a) != nil {
		http.Error(w, `{"error":{}}`, http.StatusBadRequest)
		return
	}
	if f.arrived != nil {
		f.arrived <- a.last()
		select {
		case <-f.proceed:
		case <-r.Context().Done():
			return
		}
	}
	out, finish := a.answer()
	usage := fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":3}}`,
		len(a.text()), len(out), len(a.text())+len(out))
	if !a.Stream {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"id":"c-1","object":"chat.completion","choices":[{"index":0,%s,"finish_reason":%q}],"usage":%s}`,
			a.message(r, out), finish, usage)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(data string) {
		_, _ = io.WriteString(w, "data: "+data+"\n\n")
		_ = http.NewResponseController(w).Flush()
		if f.pause != nil {
			<-f.pause
		}
	}
	chunk := func(delta, finish string) string {
		return `{"id":"c-1","object":"chunk","choices":[{"index":0,` + delta + `,"finish_reason":` + finish + `}]}`
	}
	if strings.HasSuffix(r.URL.Path, "/chat/completions") {
		send(chunk(`"delta":{"role":"assistant","content":""}`, "null"))
	}
	for i, s := range out {
		reason := "null"
		if i == len(out)-1 && finish != "tool_calls" {
			reason = quote(finish) // with the last token, as vLLM does
		}
		send(chunk(a.delta(r, s), reason))
	}
	if finish == "tool_calls" {
		send(chunk(`"delta":{}`, quote(finish)))
	}
	if a.StreamOptions.IncludeUsage {
		send(`{"id":"c-1","object":"chunk","choices":[],"usage":` + usage + `}`)
	}
	send("[DONE]")
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func score(s string) string {
	return fmt.Sprintf(`{"token":%s,"logprob":-0.25,"bytes":[1],"top_logprobs":[{"token":%s,"logprob":-0.25},{"token":"~","logprob":-1.5}]}`, quote(s), quote(s))
}

func (a ask) delta(r *http.Request, s said) string {
	text := quote(s.text)
	if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		return `"text":` + text
	}
	switch s.kind {
	case "reasoning":
		return `"delta":{"reasoning_content":` + text + `}`
	case "open":
		return fmt.Sprintf(`"delta":{"tool_calls":[{"index":%d,"id":"call_%d","type":"function","function":{"name":%s,"arguments":""}}]}`, s.call, s.call, text)
	case "args":
		return fmt.Sprintf(`"delta":{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, s.call, text)
	}
	if a.Logprobs == true {
		return `"delta":{"content":` + text + `},"logprobs":{"content":[` + score(s.text) + `]}`
	}
	return `"delta":{"content":` + text + `}`
}

func (a ask) message(r *http.Request, out []said) string {
	text := map[string]string{}
	var calls, scores []string
	names, args := map[int]string{}, map[int]string{}
	for _, s := range out {
		switch s.kind {
		case "open":
			names[s.call] = s.text
		case "args":
			args[s.call] += s.text
		default:
			text[s.kind] += s.text
			scores = append(scores, score(s.text))
		}
	}
	if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		return `"text":` + quote(text["content"])
	}
	for i := range len(names) {
		calls = append(calls, fmt.Sprintf(`{"id":"call_%d","type":"function","function":{"name":%s,"arguments":%s}}`, i, quote(names[i]), quote(args[i])))
	}
	m := `"message":{"role":"assistant","content":` + quote(text["content"]) + `,"reasoning_content":` + quote(text["reasoning"]) +
		`,"tool_calls":[` + strings.Join(calls, ",") + `]}`
	if a.Logprobs == true {
		m += `,"logprobs":{"content":[` + strings.Join(scores, ",") + `]}`
	}
	return m
}
