package faultproxy

// Texts that are right alone, and in company are handed over wrongly.

var _ = register(fault{
	Info: Info{
		ID: "duplicated-stream", Stage: 3, Modes: []string{"STR-09", "CON-11"},
		Doc:    "with another request in flight the whole visible answer comes twice",
		Params: []Param{inCompany},
	},
	build: always(acts{answer: func(*exchange) filter {
		said := map[int][]*event{} // by choice
		return filter{
			event: func(e *event, out outlet) {
				for _, p := range parts(e.doc) {
					if p.finish() != "" && p.visible() != "" && len(parts(e.doc)) == 1 {
						head := e.ahead(p)
						said[p.index()] = append(said[p.index()], head.again())
						out.send(head)
					}
					if p.finish() != "" {
						for _, again := range said[p.index()] {
							out.send(again)
						}
						delete(said, p.index())
					}
				}
				if onlySpeaks(e) {
					i := parts(e.doc)[0].index()
					said[i] = append(said[i], e.again())
				}
				out.send(e)
			},
			body: eachPart(func(p part) bool {
				p.setVisible(p.visible() + p.visible())
				return p.visible() != ""
			}),
		}
	}}),
})

// again is a copy that opens no message and counts nothing.
func (e *event) again() *event {
	twin := parseEvent(e.bytes())
	delete(twin.doc, "usage")
	for _, p := range parts(twin.doc) {
		delete(p.box, "role")
	}
	twin.changed()
	return twin
}

var _ = register(fault{
	Info: Info{
		ID: "reordered-stream", Stage: 3, Modes: []string{"STR-09", "CON-11"},
		Doc:    "with another request in flight two neighbouring events of a stream change places, once",
		Params: []Param{inCompany, number("at", "6", "events with visible text before the two")},
	},
	build: func(o options) acts {
		return acts{answer: func(*exchange) filter {
			var held *event
			seen, over := 0, false
			release := func(out outlet) {
				if held != nil {
					out.send(held)
					held = nil
				}
			}
			return filter{
				event: func(e *event, out outlet) {
					switch {
					case over || !onlySpeaks(e):
						release(out)
						out.send(e)
						return
					case held != nil && parts(held.doc)[0].visible() != parts(e.doc)[0].visible():
						over = true
						out.send(e)
						release(out)
						return
					}
					release(out)
					if seen++; seen > o.number("at") {
						held = e
						return
					}
					out.send(e)
				},
				end: release,
			}
		}}
	},
})
