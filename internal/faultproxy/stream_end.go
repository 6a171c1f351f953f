package faultproxy

import "maps"

// Streams that do not end as they should.

var _ = register(fault{
	Info: Info{
		ID: "no-done", Stage: 2, Modes: []string{"STR-01"},
		Doc: "the stream closes without [DONE]",
	},
	build: always(acts{answer: func(*exchange) filter { return filter{event: dropDone} }}),
})

func dropDone(e *event, out outlet) {
	if !e.done {
		out.send(e)
	}
}

var _ = register(fault{
	Info: Info{
		ID: "stays-open", Stage: 2, Modes: []string{"STR-01"},
		Doc: "the connection of a stream stays open after the finish reason",
		Params: []Param{
			oneOf("done", "1: [DONE] is still sent", "0", "1"),
			span("hold", "30s", "how long; a client that leaves ends it"),
		},
	},
	build: func(o options) acts {
		return acts{answer: func(*exchange) filter {
			f := filter{end: func(out outlet) {
				out.stop(func(x *exchange) { x.wait(o.duration("hold")) })
			}}
			if o.text("done") == "0" {
				f.event = dropDone
			}
			return f
		}}
	},
})

var _ = register(fault{
	Info: Info{
		ID: "cut", Stage: 2, Modes: []string{"STR-08", "OPS-12"},
		Doc: "the connection breaks after half the events of a stream",
	},
	build: always(acts{answer: func(*exchange) filter {
		return half(func(out outlet) { out.stop(abort) })
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "truncated", Stage: 2, Modes: []string{"STR-08"},
		Doc: "the stream ends cleanly after half its events, without finish reason and [DONE]",
	},
	build: always(acts{answer: func(*exchange) filter {
		return half(func(out outlet) { out.stop(nil) })
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "sse-error", Stage: 2, Modes: []string{"STR-03"},
		Doc: "an error object comes after half the events of a stream, then [DONE]",
	},
	build: always(acts{answer: func(*exchange) filter {
		return half(func(out outlet) {
			out.send(newEvent(apiError("InternalServerError", "an illegal memory access was encountered", 500)))
			out.send(newEvent([]byte("[DONE]")))
			out.stop(nil)
		})
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "two-finishes", Stage: 2,
		Doc: "the finish reason comes twice in a stream",
	},
	build: always(acts{answer: func(*exchange) filter {
		return filter{event: func(e *event, out outlet) {
			out.send(e)
			if !e.finishes() {
				return
			}
			// A copy of its own: filters behind may still change the first.
			doc := maps.Clone(e.doc)
			var again []any
			for _, p := range parts(e.doc) {
				choice := object{"index": p.index(), "delta": object{}, "finish_reason": p.finish()}
				if p.key == "text" {
					delete(choice, "delta")
					choice["text"] = ""
				}
				again = append(again, choice)
			}
			doc["choices"] = again
			out.send(&event{doc: doc})
		}}
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "no-finish", Stage: 2, Modes: []string{"STR-08"},
		Doc: "no event of a stream has a finish reason",
	},
	build: always(acts{answer: func(*exchange) filter {
		return filter{event: func(e *event, out outlet) {
			for _, p := range parts(e.doc) {
				if p.finish() != "" {
					p.choice["finish_reason"] = nil
					e.changed()
				}
			}
			out.send(e)
		}}
	}}),
})
