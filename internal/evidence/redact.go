package evidence

import (
	"bytes"
	"encoding/json"
	"strings"

	"infbench/internal/escapes"
	"infbench/stages/endpoint"
)

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
		*text = escapes.Hide(was, redact)
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
	if spelt := spell(a.Logprobs); said || escapes.Hide(spelt, redact) != spelt {
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
