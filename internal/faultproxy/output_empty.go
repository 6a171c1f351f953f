package faultproxy

var _ = register(fault{
	Info: Info{
		ID: "empty", Stage: 2, Modes: []string{"OUT-05"},
		Doc: "nothing is said on any channel, yet the tokens are billed",
	},
	build: always(acts{answer: func(*exchange) filter {
		return filter{event: dropWords, body: blank}
	}}),
})

// dropWords drops the events that carried only text.
func dropWords(e *event, out outlet) {
	if len(parts(e.doc)) == 0 {
		out.send(e)
		return
	}
	spoke := e.speaks() || opensCall(e.doc)
	finishes := e.finishes()
	if blank(e.doc) {
		e.changed()
	}
	if !spoke || finishes {
		out.send(e)
	}
}

func opensCall(doc object) bool {
	for _, p := range parts(doc) {
		if len(p.calls()) > 0 {
			return true
		}
	}
	return false
}

// blank takes all text out of a document.
func blank(doc object) (changed bool) {
	for _, p := range parts(doc) {
		if len(p.calls()) > 0 || p.finish() == "tool_calls" {
			p.dropCalls()
			changed = true
		}
		for _, t := range p.texts() {
			if t.text != "" {
				t.set("")
				changed = true
			}
		}
	}
	return changed
}
