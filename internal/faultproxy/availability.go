package faultproxy

import (
	"net/http"
	"strings"
)

// Servers that do not answer, or refuse to. Unless said otherwise only generation
// is touched: health and the list of models look fine, as they do in life.

var _ = register(fault{
	Info: Info{
		ID: "hang", Stage: 2, Modes: []string{"OPS-01", "OPS-07"},
		Doc:    "requests are accepted and never answered",
		Params: []Param{number("after", "0", "generation requests that are still answered")},
	},
	build: always(acts{respond: func(x *exchange, _ http.ResponseWriter) { <-x.r.Context().Done() }}),
})

var _ = register(fault{
	Info: Info{
		ID: "reject", Stage: 3, Modes: []string{"OPS-11", "CON-05"},
		Doc:    "requests beyond a number in flight get 503 with Retry-After",
		Params: []Param{number("above", "2", "requests in flight that are still served")},
	},
	build: always(acts{respond: func(_ *exchange, w http.ResponseWriter) {
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, "ServiceUnavailableError", "the server is overloaded", nil)
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "http500", Stage: 2, Modes: []string{"OPS-03", "TOOL-16"},
		Doc:    "every n-th request gets 500",
		Params: []Param{number("every", "3", "1: all")},
	},
	build: always(acts{respond: func(_ *exchange, w http.ResponseWriter) {
		refuse(w, http.StatusInternalServerError, "InternalServerError", "internal server error", nil)
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "unauthorized", Stage: 2,
		Doc: "everything but health and metrics gets 401",
	},
	build: always(acts{
		scope: func(x *exchange) bool { return strings.Contains(x.r.URL.Path, "/v1/") || x.generates },
		respond: func(_ *exchange, w http.ResponseWriter) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, http.StatusUnauthorized, "AuthenticationError", "invalid API key", "invalid_api_key")
		},
	}),
})

var _ = register(fault{
	Info: Info{
		ID: "unknown-model", Stage: 2,
		Doc: "the listed model is unknown when it is asked: 404",
	},
	build: always(acts{respond: func(x *exchange, w http.ResponseWriter) {
		refuse(w, http.StatusNotFound, "NotFoundError", "the model `"+named(x.fields["model"])+"` does not exist", "model_not_found")
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "slow-first", Stage: 4, Modes: []string{"STR-11"},
		Doc:    "neither headers nor a first event come for a while",
		Params: []Param{span("delay", "2s", "how long")},
	},
	build: func(o options) acts {
		return acts{answer: func(x *exchange) filter {
			return filter{open: func() { x.wait(o.duration("delay")) }}
		}}
	},
})

var _ = register(fault{
	Info: Info{
		ID: "drip", Stage: 4, Modes: []string{"OPS-05"},
		Doc:    "there is a pause between any two events of a stream",
		Params: []Param{span("delay", "100ms", "how long")},
	},
	build: func(o options) acts {
		return acts{answer: func(x *exchange) filter {
			first := true
			return filter{event: func(e *event, out outlet) {
				if !first {
					x.wait(o.duration("delay"))
				}
				first = false
				out.send(e)
			}}
		}}
	},
})

var _ = register(fault{
	Info: Info{
		ID: "loading", Stage: 1, Modes: []string{"OPS-02"},
		Doc:    "the first requests get 503: the model is still being loaded, and listed",
		Params: []Param{number("requests", "3", "how many")},
	},
	build: func(o options) acts {
		return acts{
			scope: func(x *exchange) bool { return x.generates && x.earlier < o.number("requests") },
			respond: func(_ *exchange, w http.ResponseWriter) {
				refuse(w, http.StatusServiceUnavailable, "unavailable_error", "Loading model", nil)
			},
		}
	},
})
