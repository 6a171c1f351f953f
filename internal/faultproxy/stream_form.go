package faultproxy

import (
	"bytes"
	"net/http"
	"unicode/utf8"
)

// Streams whose events have the wrong form.

var _ = register(fault{
	Info: Info{
		ID: "bad-json", Stage: 2,
		Doc: "the first event with text is not JSON",
	},
	build: always(acts{answer: func(*exchange) filter {
		return spoilFirst(func(e *event) {
			b := e.bytes()
			e.freeze(append(bytes.Clone(b[:len(b)*2/3]), "\n\n"...))
		})
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "bad-utf8", Stage: 2, Modes: []string{"STR-04"},
		Doc: "the first event with text holds bytes that are not UTF-8",
	},
	build: always(acts{answer: func(*exchange) filter {
		// An encoder writes valid UTF-8 only, so the bytes come in afterwards.
		const place = "@bad-utf8@"
		return spoilFirst(func(e *event) {
			for _, p := range parts(e.doc) {
				for _, t := range p.texts() {
					if t.text != "" {
						t.set(t.text + place)
						e.changed()
					}
				}
			}
			e.freeze(bytes.ReplaceAll(e.bytes(), []byte(place), []byte("\xe6\xbc\xff")))
		})
	}}),
})

// spoilFirst changes the first event with text.
func spoilFirst(spoil func(e *event)) filter {
	spoilt := false
	return filter{event: func(e *event, out outlet) {
		if !spoilt && e.speaks() {
			spoilt = true
			spoil(e)
		}
		out.send(e)
	}}
}

var _ = register(fault{
	Info: Info{
		ID: "split-utf8", Stage: 2, Modes: []string{"STR-04"},
		Doc: "a character of several bytes is split over two events, half a character in each",
	},
	build: always(acts{answer: func(*exchange) filter { return filter{event: splitCharacter} }}),
})

// splitCharacter cuts the first long character of an event's visible text. Text of
// ASCII alone does not show the fault, as in life.
func splitCharacter(e *event, out outlet) {
	for _, p := range parts(e.doc) {
		text := p.visible()
		at := bytes.IndexFunc([]byte(text), func(c rune) bool { return c >= utf8.RuneSelf })
		if at < 0 {
			continue
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		out.send(e.like(slot{p.index(), visible, 0, p.key}, text[:at]+"\uFFFD"))
		p.setVisible("\uFFFD" + text[at+size:])
		e.changed()
	}
	out.send(e)
}

var _ = register(fault{
	Info: Info{
		ID: "id-changes", Stage: 2,
		Doc: "every event of a stream has another id",
	},
	build: always(acts{answer: func(*exchange) filter {
		n := 0
		return filter{event: func(e *event, out outlet) {
			if id, ok := e.doc["id"].(string); ok {
				n++
				e.doc["id"] = id + "-" + string(toNumber(n))
				e.changed()
			}
			out.send(e)
		}}
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "html", Stage: 2,
		Doc: "the answer is an HTML page with status 200",
	},
	build: always(acts{respond: func(_ *exchange, w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!DOCTYPE html>\n<html><head><title>Gateway</title></head>" +
			"<body><h1>The service is starting</h1></body></html>\n"))
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "plain-json", Stage: 2, Modes: []string{"STR-02"},
		Doc: "a request for a stream is answered with one JSON body",
	},
	build: always(acts{request: func(x *exchange) {
		if x.streams {
			x.set("stream", nil)
			x.set("stream_options", nil)
		}
	}}),
})
