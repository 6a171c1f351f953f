package faultproxy

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
	return acts{answer: changeDocs(func(doc object) bool {
		usage, ok := doc["usage"].(object)
		if !ok {
			return false
		}
		p, c, t := change(toInt(usage["prompt_tokens"]), toInt(usage["completion_tokens"]), toInt(usage["total_tokens"]))
		usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"] = toNumber(p), toNumber(c), toNumber(t)
		return true
	})}
}

var _ = register(fault{
	Info: Info{
		ID: "cached-too-many", Stage: 2, Modes: []string{"USG-05"},
		Doc: "more tokens are said to be cached than the prompt has",
	},
	build: always(acts{answer: changeDocs(func(doc object) bool {
		usage, ok := doc["usage"].(object)
		if !ok {
			return false
		}
		usage["prompt_tokens_details"] = object{"cached_tokens": toNumber(toInt(usage["prompt_tokens"]) + 16)}
		return true
	})}),
})
