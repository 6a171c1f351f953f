package faultproxy

import "encoding/json"

var _ = register(fault{
	Info: Info{
		ID: "max-tokens-ignored", Stage: 2, Modes: []string{"STP-04"},
		Doc: "the answer is longer than the request allows",
		// Not without any limit by default: some engines would go on to the end of
		// the window.
		Params: []Param{number("times", "8", "by how much the limit is raised; 0 removes it")},
	},
	build: func(o options) acts {
		return acts{request: func(x *exchange) {
			for _, name := range limits {
				var limit int
				switch err := json.Unmarshal(x.fields[name], &limit); {
				case err != nil:
				case o.number("times") == 0:
					x.set(name, nil)
				default:
					x.set(name, limit*o.number("times"))
				}
			}
		}}
	},
})

var _ = register(fault{
	Info: Info{
		ID: "cap-says-stop", Stage: 2, Modes: []string{"STP-03"},
		Doc: "an answer cut for length has the finish reason stop",
	},
	build: always(acts{answer: changeParts(func(p part) bool { return swapFinish(p, "length", "stop") })}),
})
