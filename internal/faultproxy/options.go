package faultproxy

// Options of a request that get lost on the way, as if the server did not know them.

func dropped(id, doc string, modes []string, fields ...string) bool {
	return register(fault{
		Info:  Info{ID: id, Stage: 2, Modes: modes, Doc: doc},
		build: always(acts{request: func(x *exchange) { x.drop(fields...) }}),
	})
}

func (x *exchange) drop(fields ...string) {
	for _, f := range fields {
		if x.fields[f] != nil {
			x.set(f, nil)
		}
	}
}

var (
	_ = dropped("stop-ignored", "stop strings are taken and ignored", []string{"STP-05"}, "stop")
	_ = dropped("max-completion-tokens-ignored", "max_completion_tokens is taken and ignored", []string{"STP-04"}, "max_completion_tokens")
	_ = dropped("schema-ignored", "response_format is taken and ignored", []string{"STC-02"}, "response_format")
	_ = dropped("thinking-off-ignored", "the switch that turns thinking off is ignored", []string{"RSN-04"}, "chat_template_kwargs")
)

var _ = register(fault{
	Info: Info{
		ID: "tool-choice-ignored", Stage: 2, Modes: []string{"TOOL-08"},
		Doc: "tool_choice is read as auto, whatever it says",
	},
	build: always(acts{request: func(x *exchange) {
		if x.fields["tool_choice"] != nil {
			x.set("tool_choice", "auto")
		}
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "seed-ignored", Stage: 2, Modes: []string{"DET-04"},
		Doc: "every request is sampled with a seed of its own",
	},
	build: always(acts{request: func(x *exchange) { x.set("seed", x.chance("seed-ignored").IntN(1<<30)) }}),
})

var _ = register(fault{
	Info: Info{
		ID: "always-greedy", Stage: 2, Modes: []string{"IDN-06"},
		Doc: "the temperature of a request is overridden by 0",
	},
	build: always(acts{request: func(x *exchange) { x.set("temperature", 0) }}),
})

var _ = register(fault{
	Info: Info{
		ID: "drop-history", Stage: 2, Modes: []string{"TPL-05", "TPL-04"},
		Doc: "the model sees the system message and the last turn alone",
	},
	build: always(acts{request: func(x *exchange) {
		list := x.messages()
		var kept []message
		for i, m := range list {
			if m.instructs() || i == len(list)-1 {
				kept = append(kept, m)
			}
		}
		if len(kept) < len(list) {
			x.set("messages", kept)
		}
	}}),
})
