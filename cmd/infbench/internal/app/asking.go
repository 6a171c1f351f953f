package app

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"infbench/gates"
	"infbench/stages/endpoint"
)

// asking notes which check sent which requests, for --explain. A nil one notes nothing.
type asking struct {
	mu    sync.Mutex
	check string
	lines []askedLine
}

type askedLine struct {
	number      int64
	check, what string
}

func (a *asking) begin(check string) {
	if a == nil {
		return
	}
	a.mu.Lock()
	a.check = check
	a.mu.Unlock()
}

func (a *asking) exchange(x endpoint.Exchange) {
	if a == nil || x.Again {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lines = append(a.lines, askedLine{x.Number, a.check, describeRequest(x.Body)})
}

// describeRequest says in a line what a request asks: how, at most how long, with what,
// and how it ends.
func describeRequest(body []byte) string {
	r := gjson.ParseBytes(body)
	mode := "plain"
	if r.Get("stream").Bool() {
		mode = "stream"
	}
	parts := []string{mode}
	for _, name := range []string{"max_tokens", "max_completion_tokens"} {
		if v := r.Get(name); v.Exists() {
			parts = append(parts, name+" "+v.Raw)
		}
	}
	for _, name := range []string{"temperature", "seed"} {
		if v := r.Get(name); v.Exists() && v.Raw != "0" && v.Raw != "1" {
			parts = append(parts, name+" "+v.Raw)
		}
	}
	for _, name := range []string{"tools", "tool_choice", "response_format", "stop", "logprobs", "chat_template_kwargs"} {
		if r.Get(name).Exists() {
			parts = append(parts, name)
		}
	}
	messages := r.Get("messages").Array()
	text := ""
	if n := len(messages); n > 0 {
		if c := messages[n-1].Get("content"); c.IsArray() {
			text = c.Get("0.text").Str + " (and a picture)"
		} else {
			text = c.Str
		}
		if n > 1 {
			parts = append(parts, fmt.Sprintf("%d messages", n))
		}
	}
	return strings.Join(parts, ", ") + ": " + gates.Quote(text, 90)
}

// show lists the requests by check, in the order in which they were sent.
func (a *asking) show(w io.Writer, redact func(string) string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	slices.SortStableFunc(a.lines, func(a, b askedLine) int { return cmp.Compare(a.number, b.number) }) // each was told at its end
	fmt.Fprintf(w, "\n%d requests\n", len(a.lines))
	last := ""
	for _, l := range a.lines {
		if l.check != last {
			last = l.check
			fmt.Fprintf(w, "  %s\n", last)
		}
		fmt.Fprintf(w, "    %s\n", redact(l.what))
	}
}
