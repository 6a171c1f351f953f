package faultproxy

import (
	"bytes"
	"strconv"
	"strings"
)

// Servers that are well at first.

var _ = register(fault{
	Info: Info{
		ID: "restart", Stage: 3, Modes: []string{"OPS-04"},
		Doc:    "the start time in /metrics jumps: the server restarted meanwhile",
		Params: []Param{number("after", "8", "generation requests before the jump")},
	},
	build: always(acts{
		scope:  func(x *exchange) bool { return strings.HasSuffix(x.r.URL.Path, "/metrics") },
		answer: func(*exchange) filter { return filter{text: laterStart} },
	}),
})

const (
	startTime = "process_start_time_seconds"
	// jump is how much later, in seconds, the server seems to have started.
	jump = 3600
)

func laterStart(b []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(b) {
		name, value, ok := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		f, err := strconv.ParseFloat(string(value), 64)
		if !ok || err != nil || !bytes.HasPrefix(name, []byte(startTime)) {
			out.Write(line)
			continue
		}
		out.Write(name)
		out.WriteString(" " + strconv.FormatFloat(f+jump, 'f', 3, 64) + "\n")
	}
	return out.Bytes()
}

var _ = register(fault{
	Info: Info{
		ID: "malformed-call", Stage: 3, Modes: []string{"AGT-01", "TOOL-04"},
		Doc:    "after some requests tool arguments end in a stray brace",
		Params: []Param{number("after", "8", "generation requests that are still good")},
	},
	build: always(acts{answer: func(*exchange) filter {
		return rewriteText(onlyArguments, func() rewriter {
			return rewriter{
				feed: asIs,
				rest: func() string { return "}" },
			}
		})
	}}),
})
