package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"infbench/gates"
	"infbench/internal/evidence"
	"infbench/stages/endpoint"
)

// said is how much of an answer is shown in a list, in characters.
const said = 200

// Evidence writes a bundle: the verdict, and each request with what came. One that was
// asked for by its number is shown in full. describe says in a line what a request asks.
func Evidence(w io.Writer, s Style, b evidence.Bundle, only []int, describe func(body string) string) {
	evidenceHead(w, b)
	verdict(w, s, []gates.Verdict{b.Verdict()}, func(string) gates.Info { return gates.Info{} })
	fmt.Fprintf(w, "%s%s\n", plural(len(b.Exchanges())+b.Dropped(), "request"), missing(b))
	for _, x := range b.Exchanges() {
		if len(only) > 0 && !slices.Contains(only, x.Number) {
			continue
		}
		fmt.Fprintf(w, "  %s  %s  %s%s\n", s.paint(bold, fmt.Sprintf("%3d", x.Number)), since(x.Began), describe(x.Body), remarks(x))
		fmt.Fprintf(w, "       %s\n", came(x.Answer))
		if len(only) > 0 {
			block(w, "request", pretty(x.Body))
			for _, p := range told(x) {
				block(w, p.name, p.text)
			}
			continue
		}
		for _, p := range told(x) {
			fmt.Fprintf(w, "       %-9s %s\n", p.name, gates.Quote(p.text, said))
		}
	}
}

func evidenceHead(w io.Writer, b evidence.Bundle) {
	fmt.Fprintf(w, "evidence · %s · %s · %s\n", b.Verdict().Check(), gates.Printable(b.Run(), 40), gates.Printable(b.Harness(), 80))
	fmt.Fprintf(w, "about %s\n", b.Subject())
}

// missing says how many exchanges are not there.
func missing(b evidence.Bundle) string {
	if b.Dropped() == 0 {
		return ""
	}
	return fmt.Sprintf(", of which %d from the middle were not kept", b.Dropped())
}

func since(d time.Duration) string { return fmt.Sprintf("+%-7v", round(d)) }

// remarks says what is to be known of an exchange besides.
func remarks(x evidence.Exchange) string {
	var out []string
	for _, r := range []struct {
		is   bool
		says string
	}{
		{x.Again, "asked by an earlier check"},
		{x.Redacted, "redacted"},
		{x.Cut, "the answer is its beginning"},
		{x.NoBody, "the request was too large to be kept"},
		{x.HangUp > 0, fmt.Sprintf("dropped after %s with text", plural(x.HangUp, "event"))},
	} {
		if r.is {
			out = append(out, r.says)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return " (" + strings.Join(out, ", ") + ")"
}

// came says in a line how an answer ended.
func came(a endpoint.Answer) string {
	var out []string
	if a.Status != 0 {
		out = append(out, fmt.Sprintf("status %d", a.Status))
	}
	if a.Failure == nil {
		out = append(out, "finish_reason "+gates.Quote(a.Finish, 40), gates.Printable(string(a.End), 20))
	}
	if n, ok := a.Usage.Completion.N(); ok {
		out = append(out, fmt.Sprintf("%d + %d tokens", a.Usage.Prompt.Or(0), n))
	}
	if t := a.Timing.FirstToken; t > 0 {
		out = append(out, fmt.Sprintf("first token %v", round(t)))
	}
	return strings.Join(append(out, fmt.Sprintf("ended %v", round(a.Timing.Ended))), ", ")
}

// part is one part of what came.
type part struct{ name, text string }

func told(x evidence.Exchange) (out []part) {
	a := x.Answer
	if a.Reasoning != "" {
		out = append(out, part{"reasoning", a.Reasoning})
	}
	for _, c := range a.Calls {
		out = append(out, part{"call", c.Name + " " + c.Arguments})
	}
	if a.Refusal != "" {
		out = append(out, part{"refusal", a.Refusal})
	}
	if a.Content != "" || a.Failure == nil && len(a.Calls) == 0 {
		out = append(out, part{"answer", a.Content})
	}
	if a.Failure != nil {
		out = append(out, part{"failure", a.Failure.Error()})
	}
	for _, b := range a.Broke {
		out = append(out, part{"breach", b.What})
	}
	if x.Raw != "" {
		out = append(out, part{"body", x.Raw})
	}
	if len(a.Logprobs) > 0 {
		out = append(out, part{"logprobs", spelt(a.Logprobs)})
	}
	return out
}

func spelt(list []endpoint.TokenLogprob) string {
	var b strings.Builder
	for _, l := range list {
		fmt.Fprintf(&b, "%s %.3f ", gates.Quote(l.Token, 40), l.Logprob)
	}
	return strings.TrimSpace(b.String())
}

// pretty indents a request, where it is JSON.
func pretty(body string) string {
	var out bytes.Buffer
	if json.Indent(&out, []byte(body), "", "  ") != nil {
		return body
	}
	return out.String()
}

// block writes a text whole, line by line.
func block(w io.Writer, name, text string) {
	fmt.Fprintf(w, "       %s\n", name)
	for line := range strings.Lines(text) {
		fmt.Fprintf(w, "         %s\n", gates.Printable(strings.TrimSuffix(line, "\n"), 0))
	}
}

// EvidencePage writes a bundle as a page of Markdown: for a report to whoever maintains
// the server.
func EvidencePage(w io.Writer, b evidence.Bundle, only []int, describe func(body string) string) error {
	var out strings.Builder
	v := b.Verdict()
	fmt.Fprintf(&out, "# %s: %s\n\n%s\n\n", v.Check(), strings.TrimSpace(words[v.Status()]), marked(v.Summary()))
	for _, e := range v.Evidence() {
		fmt.Fprintf(&out, "- %s\n", marked(e))
	}
	fmt.Fprintf(&out, "\nAbout %s. Run %s, %s.\n\n%s%s.\n", marked(b.Subject().String()), b.Run(), marked(b.Harness()), plural(len(b.Exchanges())+b.Dropped(), "request"), missing(b))
	for _, x := range b.Exchanges() {
		if len(only) > 0 && !slices.Contains(only, x.Number) {
			continue
		}
		fmt.Fprintf(&out, "\n## Request %d\n\n%s%s\n\nBegan at %v; %s.\n", x.Number, marked(describe(x.Body)), marked(remarks(x)), round(x.Began), marked(came(x.Answer)))
		fenced(&out, "request", pretty(x.Body))
		for _, p := range told(x) {
			fenced(&out, p.name, p.text)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// marked is a text that Markdown shows as it is.
func marked(s string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, "&", `\&`, "|", `\|`, "#", `\#`).Replace(gates.Printable(s, 0))
}

// fenced writes a text between fences that it does not hold.
func fenced(w io.Writer, name, text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	fmt.Fprintf(w, "\n%s:\n\n%s\n", name, fence)
	for line := range strings.Lines(text) {
		fmt.Fprintf(w, "%s\n", gates.Printable(strings.TrimSuffix(line, "\n"), 0))
	}
	fmt.Fprintf(w, "%s\n", fence)
}

// VisibleJSON returns a JSON document with an escape for each character that a terminal
// would take for something else than itself.
func VisibleJSON(doc []byte) []byte {
	var out bytes.Buffer
	for _, r := range string(doc) {
		switch {
		case r < 0x7f, gates.Printable(string(r), 0) == string(r):
			out.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.Bytes()
}
