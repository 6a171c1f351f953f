package evidence

import (
	"bytes"
	"encoding/json"
	"strings"

	"infbench/stages/endpoint"
)

// nested is how deep a text may stand in JSON inside JSON and still be looked at: the
// arguments of a call in a transcript are two deep.
const nested = 4

// Hide passes a text through the redactor, and before that what stands in it with escapes
// of JSON, which the redactor does not know.
func Hide(text string, redact func(string) string) string {
	return redact(hideIn(text, redact, nested))
}

// hideIn looks at what stands between any two quotes, be it a string of JSON or not: a text
// may begin inside one, hold a stray quote, or be cut before the end of the last.
func hideIn(text string, redact func(string) string, depth int) string {
	if depth == 0 || !strings.Contains(text, `\`) {
		return text // without escapes the text says what it holds
	}
	var out strings.Builder
	for rest := text; rest != ""; {
		n := piece(rest)
		out.WriteString(hideEscaped(rest[:n], redact, depth))
		if rest = rest[n:]; rest != "" {
			out.WriteByte('"')
			rest = rest[1:]
		}
	}
	return out.String()
}

func hideEscaped(piece string, redact func(string) string, depth int) string {
	said := unescaped(piece)
	if said == piece {
		return piece
	}
	if hidden := redact(hideIn(said, redact, depth-1)); hidden != said {
		written := quoted(hidden)
		return written[1 : len(written)-1]
	}
	return piece
}

// piece returns the length of a text up to its first quote that is not escaped.
func piece(text string) int {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(text)
}

// quoted writes a text as JSON, without escapes for HTML.
func quoted(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}

// redacted returns the exchange with every text passed through the redactor.
func (x Exchange) redacted(redact func(string) string) Exchange {
	over := func(text *string) bool {
		was := *text
		*text = Hide(was, redact)
		if *text != was {
			x.Redacted = true
			return true
		}
		return false
	}
	a := &x.Answer
	over(&x.Body)
	over(&x.Raw)
	said := over(&a.Content)
	said = over(&a.Reasoning) || said
	said = over(&a.Refusal) || said
	for _, text := range []*string{&a.Finish, &a.ID, &a.Model, &a.ReasoningField} {
		over(text)
	}
	a.Calls = append([]endpoint.ToolCall(nil), a.Calls...)
	for i := range a.Calls {
		over(&a.Calls[i].ID)
		over(&a.Calls[i].Name)
		said = over(&a.Calls[i].Arguments) || said
	}
	if a.Failure != nil {
		f := *a.Failure
		over(&f.Said)
		over(&f.What)
		over(&f.Hint)
		a.Failure = &f
	}
	a.Broke = append([]endpoint.Breach(nil), a.Broke...)
	for i := range a.Broke {
		over(&a.Broke[i].What)
	}
	if spelt := spell(a.Logprobs); said || Hide(spelt, redact) != spelt {
		a.Logprobs = nil // they spell a secret, token by token
		return x
	}
	a.Logprobs = append([]endpoint.TokenLogprob(nil), a.Logprobs...)
	for i := range a.Logprobs {
		l := &a.Logprobs[i]
		over(&l.Token)
		l.Top = append([]endpoint.Alternative(nil), l.Top...)
		for k := range l.Top {
			over(&l.Top[k].Token)
		}
	}
	return x
}

func spell(list []endpoint.TokenLogprob) string {
	var b strings.Builder
	for _, l := range list {
		b.WriteString(l.Token)
	}
	return b.String()
}
