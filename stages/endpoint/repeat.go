package endpoint

import (
	"bytes"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/tidwall/gjson"

	"infbench/internal/shallow"
)

// repeat is what nearly all events of a stream are: the event before with another text
// in the same place, and another usage behind it where there is one. Such an event is
// known by its bytes and need not be parsed, which costs a tenth. All that surrounds
// the text and the usage has been through the parser once.
type repeat struct {
	// before ends with the opening quote of the text, middle begins with the closing one.
	before, middle string
	// after follows the usage; where there is none middle reaches to the end.
	after  string
	usage  bool
	into   *strings.Builder
	answer bool
	// counts are those of the usage that matched last, where it was a plain one.
	counts Usage
	plain  bool
}

// learn keeps the event when one text, and at most a usage, was all that it brought.
func (r *repeat) learn(raw string, c chunk) {
	*r = repeat{}
	text, ok := placeOf(raw, c.value)
	if !ok || c.texts != 1 || c.usages > 1 || c.more {
		return
	}
	middle, after := raw[text+len(c.value.Raw)-1:], ""
	if c.usages == 1 {
		usage, ok := placeOf(raw, c.usage)
		if !ok || usage < text {
			return
		}
		middle, after = raw[text+len(c.value.Raw)-1:usage], raw[usage+len(c.usage.Raw):]
	}
	*r = repeat{before: raw[:text+1], middle: middle, after: after, usage: c.usages == 1, into: c.into, answer: c.answer}
}

// placeOf returns where a value lies in the text that it was parsed from.
func placeOf(raw string, v gjson.Result) (at int, ok bool) {
	end := v.Index + len(v.Raw)
	return v.Index, v.Index > 0 && end <= len(raw) && raw[v.Index:end] == v.Raw
}

// match returns the text and the usage of an event that is a repeat; false when it has
// to be parsed.
func (r *repeat) match(data []byte) (text, usage []byte, ok bool) {
	if r.into == nil || len(data) < len(r.before) || string(data[:len(r.before)]) != r.before {
		return nil, nil, false
	}
	rest := data[len(r.before):]
	n := bytes.IndexByte(rest, '"')
	if n <= 0 || !unescaped(rest[:n]) {
		return nil, nil, false
	}
	text, rest = rest[:n], rest[n:]
	if !r.usage {
		return text, nil, string(rest) == r.middle
	}
	from, to := len(r.middle), len(rest)-len(r.after)
	if to <= from || string(rest[:from]) != r.middle || string(rest[to:]) != r.after {
		return nil, nil, false
	}
	usage = rest[from:to]
	if r.counts, r.plain = flat(usage); r.plain {
		return text, usage, true
	}
	return text, usage, usage[0] == '{' && utf8.Valid(usage) && shallow.Valid(usage)
}

// unescaped reports whether the inside of a JSON string stands for itself.
func unescaped(text []byte) bool {
	ascii := true
	for _, b := range text {
		if b < ' ' || b == '\\' {
			return false
		}
		ascii = ascii && b < utf8.RuneSelf
	}
	return ascii || utf8.Valid(text)
}

// again takes an event that is a repeat.
func (s *assembly) again(text, usage []byte, ev Event) {
	s.objects++
	c := chunk{text: true, answer: s.repeat.answer, choice: true}
	if s.kept += len(text); s.kept <= s.limit {
		s.repeat.into.Write(text)
	}
	switch {
	case usage != nil && s.repeat.plain:
		s.answer.Usage.add(s.repeat.counts)
		s.account(&c, s.answer.Usage.Completion.Or(-1))
	case usage != nil:
		// Nothing of it is kept but numbers, so the bytes need not be copied for each token.
		s.usage(gjson.Parse(unsafe.String(&usage[0], len(usage))))
		s.account(&c, s.answer.Usage.Completion.Or(-1))
	}
	s.stamp(c, ev)
}

// brought notes a text that an event brought.
func (c *chunk) brought(into *strings.Builder, v gjson.Result, answer bool) {
	c.text = true
	c.answer = c.answer || answer
	c.texts++
	c.into, c.value = into, v
}
