package faultproxy

import (
	"encoding/json"
	"maps"
)

var _ = register(fault{
	Info: Info{
		ID: "usage-missing", Stage: 2, Modes: []string{"USG-01"},
		Doc: "no event of a stream has usage, though it was asked for",
	},
	build: always(acts{answer: func(*exchange) filter {
		return filter{event: func(e *event, out outlet) {
			if _, has := e.doc["usage"]; has {
				if len(parts(e.doc)) == 0 {
					return // there was nothing else in it
				}
				delete(e.doc, "usage")
				e.changed()
			}
			out.send(e)
		}}
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "usage-double", Stage: 2, Modes: []string{"USG-02"},
		Doc: "completion_tokens are counted twice, and in the total",
	},
	build: always(changeUsage(func(prompt, completion, total int) (int, int, int) {
		return prompt, 2 * completion, total + completion
	})),
})

var _ = register(fault{
	Info: Info{
		ID: "usage-half", Stage: 2, Modes: []string{"USG-02"},
		Doc: "half of the completion_tokens are counted, and in the total",
	},
	build: always(changeUsage(func(prompt, completion, total int) (int, int, int) {
		return prompt, completion / 2, total - completion + completion/2
	})),
})

var _ = register(fault{
	Info: Info{
		ID: "usage-zero-prompt", Stage: 2, Modes: []string{"USG-03"},
		Doc: "prompt_tokens are 0, and missing in the total",
	},
	build: always(changeUsage(func(prompt, completion, total int) (int, int, int) {
		return 0, completion, total - prompt
	})),
})

var _ = register(fault{
	Info: Info{
		ID: "total-mismatch", Stage: 2, Modes: []string{"USG-03"},
		Doc: "total_tokens are not the sum of prompt and completion",
	},
	build: always(changeUsage(func(prompt, completion, total int) (int, int, int) {
		return prompt, completion, total + 7
	})),
})

func changeUsage(change func(prompt, completion, total int) (int, int, int)) acts {
	return inUsage(func(usage object) bool {
		p, c, t := change(toInt(usage["prompt_tokens"]), toInt(usage["completion_tokens"]), toInt(usage["total_tokens"]))
		usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"] = toNumber(p), toNumber(c), toNumber(t)
		return true
	})
}

// inUsage is for faults of the usage alone.
func inUsage(change func(usage object) bool) acts {
	return acts{answer: changeDocs(usageOf(change))}
}

func usageOf(change func(usage object) bool) func(doc object) bool {
	return func(doc object) bool {
		usage, ok := doc["usage"].(object)
		return ok && change(usage)
	}
}

var _ = register(fault{
	Info: Info{
		ID: "cached-too-many", Stage: 2, Modes: []string{"USG-05"},
		Doc: "more tokens are said to be cached than the prompt has",
	},
	build: always(inUsage(func(usage object) bool {
		usage["prompt_tokens_details"] = object{"cached_tokens": toNumber(toInt(usage["prompt_tokens"]) + 16)}
		return true
	})),
})

var _ = register(fault{
	Info: Info{
		ID: "cached-absent", Stage: 0, Modes: []string{"USG-04"},
		Doc: "usage has no prompt_tokens_details",
	},
	build: always(inUsage(func(usage object) bool {
		_, had := usage["prompt_tokens_details"]
		delete(usage, "prompt_tokens_details")
		return had
	})),
})

var _ = register(fault{
	Info: Info{
		ID: "cached-null", Stage: 0, Modes: []string{"USG-04"},
		Doc: "prompt_tokens_details of the usage are null",
	},
	build: always(inUsage(func(usage object) bool {
		usage["prompt_tokens_details"] = nil
		return true
	})),
})

var _ = register(fault{
	Info: Info{
		ID: "cached-lies", Stage: 3, Modes: []string{"USG-07"},
		Doc: "cached_tokens are 0, whatever the cache held",
	},
	build: always(inUsage(func(usage object) bool {
		details, ok := usage["prompt_tokens_details"].(object)
		if !ok {
			details = object{}
			usage["prompt_tokens_details"] = details
		}
		details["cached_tokens"] = toNumber(0)
		return true
	})),
})

var _ = register(fault{
	Info: Info{
		ID: "usage-in-finish", Stage: 0, Modes: []string{"USG-06"},
		Doc: "the usage of a stream stands in the event with the finish reason, and no event comes for it",
	},
	build: always(acts{answer: func(*exchange) filter {
		var held *event // finishes
		release := func(out outlet) {
			if held != nil {
				out.send(held)
				held = nil
			}
		}
		return filter{
			event: func(e *event, out outlet) {
				if held != nil && len(parts(e.doc)) == 0 && e.doc["usage"] != nil {
					maps.Copy(held.doc, without(e.doc, "choices"))
					held.changed()
					release(out)
					return
				}
				release(out)
				if e.finishes() {
					held = e
					return
				}
				out.send(e)
			},
			end: release,
		}
	}}),
})

// without is a copy that lacks a field.
func without(doc object, name string) object {
	doc = maps.Clone(doc)
	delete(doc, name)
	return doc
}

var _ = register(fault{
	Info: Info{
		ID: "usage-unasked", Stage: 0,
		Doc: "streams have usage without being asked for it",
	},
	build: always(acts{request: func(x *exchange) {
		var o map[string]json.RawMessage
		_ = json.Unmarshal(x.fields["stream_options"], &o)
		if !x.streams || string(o["include_usage"]) == "true" {
			return
		}
		if o == nil {
			o = map[string]json.RawMessage{}
		}
		o["include_usage"] = encode(true)
		x.set("stream_options", o)
	}}),
})
