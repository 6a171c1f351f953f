package faultproxy

import (
	"bytes"
	"strings"
)

// Streams whose events are right and come in the wrong way.

var _ = register(fault{
	Info: Info{
		ID: "buffered", Stage: 2, Modes: []string{"STR-02"},
		Doc: "all events of a stream come in one piece at the end",
	},
	build: always(acts{answer: func(*exchange) filter {
		var all bytes.Buffer
		return filter{
			event: func(e *event, _ outlet) { all.Write(e.bytes()) },
			end:   func(out outlet) { out.send(&event{raw: all.Bytes()}) },
		}
	}}),
})

const lostRunes = 12

var _ = register(fault{
	Info: Info{
		ID: "lost-tail", Stage: 2, Modes: []string{"STR-07"},
		Doc: "a streamed answer lacks its last 12 characters",
	},
	build: always(acts{answer: func(*exchange) filter {
		return streamed(rewriteText(onlyVisible, func() rewriter {
			var held []rune
			return rewriter{feed: func(s string) string {
				held = append(held, []rune(s)...)
				n := max(0, len(held)-lostRunes)
				out := string(held[:n])
				held = held[n:]
				return out
			}}
		}))
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "lost-head", Stage: 2, Modes: []string{"STR-07"},
		Doc: "a streamed answer lacks its first word",
	},
	build: always(acts{answer: func(*exchange) filter {
		return streamed(rewriteText(onlyVisible, func() rewriter {
			lost := false
			return rewriter{feed: func(s string) string {
				if lost {
					return s
				}
				_, rest, found := strings.Cut(s, " ")
				if lost = found; !found {
					return ""
				}
				return " " + rest
			}}
		}))
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "reordered", Stage: 2, Modes: []string{"STR-09"},
		Doc: "every two neighbouring events with visible text are swapped",
	},
	build: always(acts{answer: func(*exchange) filter {
		return pairs(func(a, b *event, out outlet) {
			out.send(b)
			out.send(a)
		})
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "multi-token", Stage: 0, Modes: []string{"STR-05"},
		Doc: "every two neighbouring events with visible text are one",
	},
	build: always(acts{answer: func(*exchange) filter {
		return pairs(func(a, b *event, out outlet) {
			merge(a, b)
			out.send(b)
		})
	}}),
})

// pairs gathers events that carry visible text and nothing else two by two. Any
// other event lets the one that waits go first.
func pairs(two func(a, b *event, out outlet)) filter {
	var held *event
	release := func(out outlet) {
		if held != nil {
			out.send(held)
			held = nil
		}
	}
	return filter{
		event: func(e *event, out outlet) {
			switch {
			case !onlySpeaks(e):
				release(out)
				out.send(e)
			case held == nil:
				held = e
			default:
				a := held
				held = nil
				two(a, e, out)
			}
		},
		end: release,
	}
}

func onlySpeaks(e *event) bool {
	list := parts(e.doc)
	return len(list) == 1 && list[0].visible() != "" && list[0].finish() == "" && len(list[0].calls()) == 0
}

// merge puts what a says in front of what b says, the lists beside the text too.
func merge(a, b *event) {
	p, q := parts(a.doc)[0], parts(b.doc)[0]
	q.setVisible(p.visible() + q.visible())
	if role := p.box["role"]; role != nil {
		q.box["role"] = role
	}
	if name, text := p.thoughts(); text != "" {
		q.box[name] = text + toText(q.box[name])
	}
	join(p.choice, q.choice, "token_ids")
	if first, ok := p.choice["logprobs"].(object); ok {
		if second, ok := q.choice["logprobs"].(object); ok {
			for name := range second {
				join(first, second, name)
			}
		}
	}
	b.changed()
}

func join(from, to object, name string) {
	first, ok := from[name].([]any)
	second, ok2 := to[name].([]any)
	if ok && ok2 {
		to[name] = append(first[:len(first):len(first)], second...)
	}
}

var _ = register(fault{
	Info: Info{
		ID: "comments", Stage: 0, Modes: []string{"STR-06"},
		Doc: "a comment line stands before every event of a stream",
	},
	build: always(acts{answer: func(*exchange) filter {
		return filter{event: func(e *event, out outlet) {
			out.send(&event{raw: []byte(": keep-alive\n\n")})
			out.send(e)
		}}
	}}),
})
