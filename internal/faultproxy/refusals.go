package faultproxy

import (
	"io"
	"net/http"
)

// Requests of a usual form that the server cannot take.

var _ = register(fault{
	Info: Info{
		ID: "stop-refused", Stage: 2, Modes: []string{"STP-06"},
		Doc: "a request with stop strings gets 400",
	},
	build: always(acts{
		scope: func(x *exchange) bool { return len(x.stops()) > 0 },
		respond: func(_ *exchange, w http.ResponseWriter) {
			refuse(w, http.StatusBadRequest, "invalid_request_error", "stop is not supported", nil)
		},
	}),
})

var _ = register(fault{
	Info: Info{
		ID: "shapes-refused", Stage: 2, Modes: []string{"TPL-07"},
		Doc: "a tool call without content, a tool's result or a second system message gets 500",
	},
	build: always(acts{scope: raises, respond: fail}),
})

// raises: a chat template of the stricter kind has no place for these messages.
func raises(x *exchange) bool {
	systems := 0
	for _, m := range x.messages() {
		if m.instructs() {
			systems++
		}
		empty := m["content"] == nil || string(m["content"]) == "null"
		if systems > 1 || m.role() == "tool" || m.role() == "assistant" && m["tool_calls"] != nil && empty {
			return true
		}
	}
	return false
}

// fail is a crash that nobody explains.
func fail(_ *exchange, w http.ResponseWriter) {
	refuse(w, http.StatusInternalServerError, "InternalServerError", "Internal Server Error", nil)
}

var _ = register(fault{
	Info: Info{
		ID: "done-only", Stage: 2, Modes: []string{"STR-12"},
		Doc: "a stream is [DONE] and nothing else",
	},
	build: always(acts{
		scope: func(x *exchange) bool { return x.generates && x.streams },
		respond: func(_ *exchange, w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: [DONE]\n\n")
		},
	}),
})
