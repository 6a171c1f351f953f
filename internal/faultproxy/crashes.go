package faultproxy

import (
	"encoding/json"
	"net/http"
)

// A worker that dies of some requests, with the words that such deaths have.

var _ = register(fault{
	Info: Info{
		ID: "guided-500", Stage: 2, Modes: []string{"STC-04"},
		Doc: "a request for JSON gets 500",
	},
	build: always(acts{scope: func(x *exchange) bool { return x.bound }, respond: crash}),
})

var _ = register(fault{
	Info: Info{
		ID: "logprobs-500", Stage: 2, Modes: []string{"LGP-06"},
		Doc: "a request for log probabilities gets 500",
	},
	build: always(acts{scope: wantsScores, respond: crash}),
})

var _ = register(fault{
	Info: Info{
		ID: "company-500", Stage: 3, Modes: []string{"CON-05"},
		Doc:    "a request that comes while others are in flight gets 500",
		Params: []Param{inCompany},
	},
	build: always(acts{respond: crash}),
})

// wantsScores: logprobs is true, or a number in a text completion.
func wantsScores(x *exchange) bool {
	var v any
	_ = json.Unmarshal(x.asked("logprobs"), &v)
	asked, is := v.(bool)
	return v != nil && (asked || !is)
}

func crash(_ *exchange, w http.ResponseWriter) {
	refuse(w, http.StatusInternalServerError, "InternalServerError", "CUDA error: an illegal memory access was encountered", nil)
}
