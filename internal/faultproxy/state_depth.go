package faultproxy

import (
	"net/http"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// Servers that are well with short prompts.

var _ = register(fault{
	Info: Info{
		ID: "decoy", Stage: 3, Modes: []string{"CTX-07", "CTX-09"},
		Doc: "where a long prompt holds several long numbers, the answer has another of them",
		Params: []Param{
			number("depth", "4000", "characters of the longest prompt that is answered rightly"),
			oneOf("which", "the number in the place of the right one; where that is the right one, the one at the other end", "last", "first"),
		},
	},
	build: func(o options) acts {
		return acts{answer: func(x *exchange) filter {
			if len(x.runs) < 2 {
				return filter{}
			}
			return changeRuns(everyText, longRun, func(run string) string { return decoyOf(run, x.runs, o.text("which") == "last") })
		}}
	},
})

// decoyOf is another number of the prompt that is as long as run; run itself where there
// is none, or where run is none of the prompt.
func decoyOf(run string, runs []string, last bool) string {
	var others []string
	own := false
	for _, r := range runs {
		own = own || r == run
		if r != run && len(r) == len(run) {
			others = append(others, r)
		}
	}
	switch {
	case !own || len(others) == 0:
		return run
	case last:
		return others[len(others)-1]
	}
	return others[0]
}

var _ = register(fault{
	Info: Info{
		ID: "hangs-deep", Stage: 3, Modes: []string{"CTX-10", "OPS-07"},
		Doc: "a long prompt is accepted and never answered; others are",
		Params: []Param{
			number("depth", "8000", "characters of the longest prompt that is answered"),
			oneOf("headers", "1: those of an answer come, and nothing after them", "0", "1"),
		},
	},
	build: func(o options) acts {
		return acts{respond: func(x *exchange, w http.ResponseWriter) {
			if o.text("headers") == "1" {
				kind := "application/json"
				if x.streams {
					kind = "text/event-stream"
				}
				w.Header().Set("Content-Type", kind)
				w.WriteHeader(http.StatusOK)
				_ = http.NewResponseController(w).Flush()
			}
			<-x.r.Context().Done()
		}}
	},
})

var _ = register(fault{
	Info: Info{
		ID: "dies-deep", Stage: 3, Modes: []string{"OPS-03", "CTX-10"},
		Doc:    "a long prompt gets 500, and every later request 503, health too",
		Params: []Param{asksItself(number("depth", "8000", "characters of the longest prompt that is answered"))},
	},
	build: func(o options) acts {
		var dead atomic.Bool
		return acts{
			scope: func(x *exchange) bool { return x.generates || strings.HasSuffix(x.r.URL.Path, "/health") },
			admit: func(x *exchange) respondFunc {
				switch {
				case dead.Load():
					return gone
				case x.length > o.number("depth"):
					dead.Store(true)
					return fail
				}
				return nil
			},
			instead: func(*exchange) respondFunc { // who was under way when it died
				if dead.Load() {
					return fail
				}
				return nil
			},
		}
	},
})

func gone(_ *exchange, w http.ResponseWriter) {
	refuse(w, http.StatusServiceUnavailable, "ServiceUnavailableError", "the engine is dead", nil)
}

var _ = register(fault{
	Info: Info{
		ID: "declines-deep", Stage: 3, Modes: []string{"CTX-12"},
		Doc: "the longer a prompt, the more often one digit is wrong in every number of five or more, as with a model at its limit",
		Params: []Param{
			number("depth", "4000", "characters of the longest prompt that is always answered rightly"),
			number("share", "70", "wrong answers of a hundred at four times the depth and beyond"),
		},
	},
	build: func(o options) acts {
		depth, share := float64(max(o.number("depth"), 1)), float64(o.number("share"))/100
		return acts{
			scope: func(x *exchange) bool {
				beyond := min((float64(x.length)-depth)/(3*depth), 1)
				return x.generates && x.lot("declines-deep") < beyond*share
			},
			answer: digits(everyText, slip),
		}
	},
})

var _ = register(fault{
	Info: Info{
		ID: "quiet-kv", Stage: 3, Modes: []string{"NUM-10"},
		Doc:    "a number of five or more digits that stands far back in the prompt has one digit wrong",
		Params: []Param{number("back", "4000", "characters between the number and the end of the prompt that still do no harm")},
	},
	build: func(o options) acts {
		return acts{answer: func(x *exchange) filter {
			if x.length <= o.number("back") {
				return filter{}
			}
			return changeRuns(everyText, wrongRun, func(run string) string {
				i := strings.LastIndex(x.prompt, run)
				if i < 0 || utf8.RuneCountInString(x.prompt[i+len(run):]) <= o.number("back") {
					return run
				}
				return slip(run)
			})
		}}
	},
})
