package faultproxy

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
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

var _ = register(fault{
	Info: Info{
		ID: "replicas", Stage: 3, Modes: []string{"IDN-07"},
		Doc:    "every n-th request goes to a replica that has one digit wrong in every number of five or more",
		Params: []Param{number("every", "2", "1: all")},
	},
	build: always(acts{answer: digits(onlyVisible, slip)}),
})

var _ = register(fault{
	Info: Info{
		ID: "any-model", Stage: 0, Modes: []string{"IDN-01"},
		Doc: "whatever model is asked for, the one that is listed answers, and under the name that was asked for",
	},
	build: func(options) acts {
		var s served
		return acts{
			scope: func(x *exchange) bool { return x.generates || strings.HasSuffix(x.r.URL.Path, "/models") },
			request: func(x *exchange) {
				if name := s.instead(named(x.asked("model"))); name != "" {
					x.set("model", name)
				}
			},
			answer: func(x *exchange) filter {
				if !x.generates {
					return filter{body: s.list}
				}
				asked := named(x.asked("model"))
				return changeDocs(func(doc object) bool {
					if asked == named(x.fields["model"]) {
						if len(parts(doc)) > 0 {
							s.add(asked, true)
						}
						return false
					}
					_, says := doc["model"].(string)
					if says {
						doc["model"] = asked
					}
					return says
				})(x)
			},
		}
	},
})

// named reads the name of a model in a request.
func named(field json.RawMessage) (name string) {
	_ = json.Unmarshal(field, &name)
	return name
}

// served is what models the upstream was seen to have. Safe for concurrent use.
type served struct {
	mu    sync.Mutex
	names []string
	best  string // the last that answered, or the first that was listed
}

// instead returns what to ask for in the place of a model that is not known; "" is no
// other.
func (s *served) instead(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name == "" || slices.Contains(s.names, name) {
		return ""
	}
	return s.best
}

// list reads the answer of /v1/models, and leaves it.
func (s *served) list(doc object) bool {
	for _, m := range objects(doc["data"]) {
		s.add(toText(m["id"]), false)
	}
	return false
}

func (s *served) add(name string, answered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name == "" {
		return
	}
	if !slices.Contains(s.names, name) {
		s.names = append(s.names, name)
	}
	if answered || s.best == "" {
		s.best = name
	}
}
