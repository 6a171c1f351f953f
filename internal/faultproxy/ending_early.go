package faultproxy

import (
	"strings"
	"unicode"
)

// Answers that end in the middle.

var _ = register(fault{
	Info: Info{
		ID: "stops-early", Stage: 2, Modes: []string{"STP-02"},
		Doc:    "the visible answer ends after its first words and the finish reason is stop",
		Params: []Param{number("words", "4", "how many; answers without more are left alone")},
	},
	build: func(o options) acts {
		return acts{
			// The lists beside the text would still have all of it, and a grammar lets no
			// answer end before its brace.
			scope: func(x *exchange) bool { return x.fields["logprobs"] == nil && x.fields["response_format"] == nil },
			answer: func(*exchange) filter {
				return endsIn(visible, func() cutter { return firstWords(o.number("words")) })
			},
		}
	},
})

var _ = register(fault{
	Info: Info{
		ID: "stop-cuts-thinking", Stage: 2, Modes: []string{"RSN-06"},
		Doc: "a stop string in the reasoning ends the answer there, without content",
	},
	build: always(acts{
		scope: func(x *exchange) bool { return len(x.stops()) > 0 },
		answer: func(x *exchange) filter {
			return endsIn(thought, func() cutter { return untilStop(x.stops()) })
		},
	}),
})

// A cutter takes a text piece by piece until it is over. It may hold back what it
// cannot judge yet.
type cutter struct {
	feed func(s string) (out string, over bool)
	rest func() string // what it still holds; nil: nothing
	over bool
}

func (c *cutter) cut(s string) string {
	out, over := c.feed(s)
	c.over = over
	return out
}

// let gives what is held back, which turned out to be no end.
func (c *cutter) let() string {
	if c.over || c.rest == nil {
		return ""
	}
	return c.rest()
}

func firstWords(n int) cutter {
	words, inside := 0, false
	return cutter{feed: func(s string) (string, bool) {
		for i, c := range s {
			begins := !unicode.IsSpace(c) && !inside
			if inside = !unicode.IsSpace(c); !begins {
				continue
			}
			if words == n {
				return s[:i], true
			}
			words++
		}
		return s, false
	}}
}

// untilStop holds back no more than what may be the beginning of a stop string.
func untilStop(stops []string) cutter {
	held := ""
	first := func(n int) string {
		out := held[:n]
		held = held[n:]
		return out
	}
	return cutter{
		feed: func(s string) (string, bool) {
			held += s
			at, safe := -1, len(held)
			for _, stop := range stops {
				if i := strings.Index(held, stop); i >= 0 && (at < 0 || i < at) {
					at = i
				}
				for n := min(len(stop)-1, len(held)); n > 0; n-- {
					if strings.HasSuffix(held, stop[:n]) {
						safe = min(safe, len(held)-n)
						break
					}
				}
			}
			if at >= 0 {
				return first(at), true
			}
			return first(safe), false
		},
		rest: func() string { return first(len(held)) },
	}
}

// An ender ends an answer inside the texts of one channel, as a stop token there
// would: nothing follows on any channel, and the finish reason is stop.
type ender struct {
	in    channel
	fresh func() cutter
	open  map[slot]*cutter
	over  map[int]bool // by choice
}

func endsIn(c channel, fresh func() cutter) filter {
	f := &ender{in: c, fresh: fresh, open: map[slot]*cutter{}, over: map[int]bool{}}
	return filter{event: f.event, body: f.body}
}

func (f *ender) event(e *event, out outlet) {
	changed := false
	for _, p := range parts(e.doc) {
		changed = f.cut(p, func(s slot, rest string) { out.send(e.like(s, rest)) }) || changed
	}
	if changed {
		e.changed()
		if !e.speaks() && !e.finishes() && !opens(e.doc) {
			return // there was nothing else in it
		}
	}
	out.send(e)
}

func (f *ender) body(doc object) (changed bool) {
	for _, p := range parts(doc) {
		changed = f.cut(p, nil) || changed
	}
	return changed
}

// cut ends one choice where it is to end. What is held back and may go does so before
// other channels speak: in the text that is there, or in one of its own.
func (f *ender) cut(p part, before func(s slot, rest string)) (changed bool) {
	closes := before == nil || p.finish() != "" || len(p.calls()) > 0
	for _, t := range p.texts() {
		closes = closes || t.channel != f.in && t.text != ""
	}
	past := f.over[p.index()]
	for _, t := range p.texts() { // thinking first, as it was said
		s := ""
		switch over := f.over[p.index()]; {
		case t.text == "":
			continue
		case t.channel == f.in && !past:
			c := f.cutter(t.slot)
			s = c.cut(t.text)
			if closes {
				s += c.let()
			}
			f.over[p.index()] = over || c.over
		case !over:
			continue
		}
		if s != t.text {
			t.set(s)
			changed = true
		}
	}
	if f.over[p.index()] {
		if len(p.calls()) > 0 {
			p.dropCalls()
			changed = true
		}
		return endAs(p, "stop") || changed
	}
	for s, c := range f.open {
		if closes && s.choice == p.index() {
			if rest := c.let(); rest != "" {
				before(s, rest)
			}
		}
	}
	return changed
}

func (f *ender) cutter(s slot) *cutter {
	if f.open[s] == nil {
		c := f.fresh()
		f.open[s] = &c
	}
	return f.open[s]
}

// opens: the event begins a message.
func opens(doc object) bool {
	for _, p := range parts(doc) {
		if p.box["role"] != nil {
			return true
		}
	}
	return false
}
