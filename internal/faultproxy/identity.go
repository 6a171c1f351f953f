package faultproxy

import (
	"io"
	"net/http"
	"strings"
)

var _ = register(fault{
	Info: Info{
		ID: "other-model", Stage: 2, Modes: []string{"IDN-02"},
		Doc: "the answer says that it is of another model than was asked",
	},
	build: always(acts{answer: changeDocs(func(doc object) bool {
		if len(parts(doc)) == 0 {
			return false
		}
		doc["model"] = "another-model"
		return true
	})}),
})

// nonsense: a request that no server can take for one.
func nonsense(x *exchange) bool {
	return x.generates && x.messages() == nil && x.fields["prompt"] == nil
}

var _ = register(fault{
	Info: Info{
		ID: "error-page", Stage: 2, Modes: []string{"STR-03"},
		Doc: "a bad request is answered with a web page",
	},
	build: always(acts{scope: nonsense, respond: func(_ *exchange, w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, "<html><body><h1>400 Bad Request</h1></body></html>")
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "error-says-200", Stage: 2, Modes: []string{"STR-03"},
		Doc: "a bad request is answered with status 200 and an error inside",
	},
	build: always(acts{scope: nonsense, respond: func(_ *exchange, w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"error":{"message":"messages must be a list"}}`)
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "double-bos", Stage: 2, Modes: []string{"TPL-01"},
		Doc: "the tokens of a conversation begin with the first one twice",
	},
	build: always(acts{
		scope: func(x *exchange) bool { return strings.HasSuffix(x.r.URL.Path, "/tokenize") },
		answer: changeDocs(func(doc object) bool {
			list, ok := doc["tokens"].([]any)
			if !ok || len(list) == 0 {
				return false
			}
			doc["tokens"] = append([]any{list[0]}, list...)
			return true
		}),
	}),
})
