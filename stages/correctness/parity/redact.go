package parity

import "strings"

// Redacted returns the recording with every text passed through redact. Two recordings are
// comparable when both were, or neither was.
func (r Recording) Redacted(redact func(string) string) Recording {
	out := Recording{origin: redact(r.origin), set: r.set}
	for _, a := range r.answers {
		out.answers = append(out.answers, a.redacted(redact))
	}
	for _, pass := range r.calls {
		list := make([]toolAnswer, 0, len(pass))
		for _, c := range pass {
			c.said = redact(c.said)
			list = append(list, c)
		}
		out.calls = append(out.calls, list)
	}
	return out
}

func (a answer) redacted(redact func(string) string) answer {
	text := redact(a.text)
	var spelt strings.Builder
	for _, p := range a.positions {
		spelt.WriteString(p.name)
	}
	if text != a.text || redact(spelt.String()) != spelt.String() {
		a.text, a.positions = text, nil // they spell a secret, token by token
		return a
	}
	list := a.positions
	a.positions = nil
	for _, p := range list {
		top := make([]scored, 0, len(p.top))
		for _, s := range p.top {
			top = append(top, scored{redact(s.name), s.logprob})
		}
		p.top = named(top)
		a.positions = append(a.positions, p)
	}
	return a
}
