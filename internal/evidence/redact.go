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

// hide passes a text through the redactor, and before that each string of JSON in it: a
// secret may stand there with escapes, which the redactor does not know.
func hide(text string, redact func(string) string) string {
	return redact(hideIn(text, redact, nested))
}

func hideIn(text string, redact func(string) string, depth int) string {
	if depth == 0 || !strings.Contains(text, `\`) {
		return text // without escapes the text says what it holds
	}
	var out strings.Builder
	rest := text
	// A text made to be looked at again and again from each of its quotes is given up.
	for patience := 16 * len(text); patience > 0; {
		from := strings.IndexByte(rest, '"')
		if from < 0 {
			break
		}
		n := literal(rest[from:])
		patience -= n
		var said string
		if json.Unmarshal([]byte(rest[from:from+n]), &said) != nil {
			// No string after all, so that the quote which ends it may begin one.
			out.WriteString(rest[:from+1])
			rest = rest[from+1:]
			continue
		}
		out.WriteString(rest[:from])
		if hidden := redact(hideIn(said, redact, depth-1)); hidden != said {
			out.WriteString(quoted(hidden))
		} else {
			out.WriteString(rest[from : from+n])
		}
		rest = rest[from+n:]
	}
	if out.Len() == 0 {
		return text
	}
	out.WriteString(rest)
	return out.String()
}

// literal returns the length of the JSON string that a text begins with, or of the text
// where it does not end.
func literal(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
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
		*text = hide(was, redact)
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
	if spelt := spell(a.Logprobs); said || hide(spelt, redact) != spelt {
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
