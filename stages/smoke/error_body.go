package smoke

import (
	"context"
	"time"

	"github.com/tidwall/gjson"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/error-body",
	Doc: `a request that is none is refused in words, and the server lives on

Clients show and retry by status and message. A 200 for nonsense, a 500, or a web page in the place of an error hides every mistake that comes
after.`,
	Since:  "0.2.0",
	Cost:   400 * time.Millisecond,
	Modes:  []string{"STR-03", "TOOL-16"},
	Faults: []string{"error-page", "error-says-200"},
	Causes: []string{"a gateway writes its own error pages", "the server does not check its input"},
	Next:   []string{"curl the same body against the engine itself, without the gateway"},
	Run:    errorBody,
})

func errorBody(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
	status, said, err := ep.Post(ctx, `{"model": "`+`", "messages": "none", "max_tokens": 1}`)
	if err != nil && status == 0 {
		return gates.Finding{}, err
	}
	message := gjson.Result{}
	if gjson.ValidBytes(said) {
		for _, path := range []string{"error.message", "error", "message", "detail"} {
			if message = gjson.GetBytes(said, path); message.Exists() {
				break
			}
		}
	}
	shown := gates.Quote(string(said), 160)
	switch {
	case status == 200:
		return gates.Warn("messages that are no list get status 200").With("%s", shown), nil
	case status >= 500:
		return gates.Warn("messages that are no list get status %d: a client's mistake looks like the server's", status).With("%s", shown), nil
	case !message.Exists():
		return gates.Warn("status %d, and the body is no error in JSON", status).With("%s", shown), nil
	}
	return gates.Pass("status %d: %s", status, gates.Quote(message.String(), 80)), nil
}
