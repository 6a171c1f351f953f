package endpoint

import "infbench/gates"

// flat reads a usage that is nothing but plain counts under known names, as engines write
// into each chunk: an object of JSON, so that it need not be looked at again. False is no
// judgement, only that it has to be parsed.
func flat(b []byte) (u Usage, ok bool) {
	i := 0
	next := func(c byte) bool {
		ok := i < len(b) && b[i] == c
		if ok {
			i++
		}
		return ok
	}
	blank := func() { next(' ') } // as Python writes
	if !next('{') {
		return u, false
	}
	for {
		if !next('"') {
			return u, false
		}
		from := i
		for i < len(b) && b[i] != '"' {
			i++
		}
		var to *gates.Count
		switch string(b[from:min(i, len(b))]) {
		case "prompt_tokens":
			to = &u.Prompt
		case "completion_tokens":
			to = &u.Completion
		case "total_tokens":
			to = &u.Total
		case "reasoning_tokens":
			to = &u.Reasoning
		default:
			return u, false
		}
		if !next('"') || !next(':') {
			return u, false
		}
		blank()
		n, digits := 0, i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' && i-digits < 10 {
			n = n*10 + int(b[i]-'0')
			i++
		}
		if i == digits || b[digits] == '0' && i > digits+1 {
			return u, false
		}
		*to = gates.CountOf(n)
		if next('}') {
			return u, i == len(b)
		}
		if !next(',') {
			return u, false
		}
		blank()
	}
}

// add takes over the counts that another usage has.
func (u *Usage) add(o Usage) {
	for _, p := range []struct {
		to   *gates.Count
		from gates.Count
	}{{&u.Prompt, o.Prompt}, {&u.Completion, o.Completion}, {&u.Total, o.Total}, {&u.Reasoning, o.Reasoning}} {
		if p.from != (gates.Count{}) {
			*p.to = p.from
		}
	}
}
