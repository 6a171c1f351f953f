package smoke

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"infbench/gates"
	"infbench/internal/shallow"
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

// nonsense are bodies that are no requests.
var nonsense = []struct{ name, body string }{
	{"messages that are no list", `{"model": "", "messages": "none", "max_tokens": 1}`},
	{"a request without messages", `{"model": %s, "max_tokens": 1}`},
	{"a body that is no JSON", `{"model": `},
}

func errorBody(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
	name, err := json.Marshal(ep.Model())
	if err != nil {
		return gates.Finding{}, err
	}
	var wrong, right []string
	for _, n := range nonsense {
		status, said, err := ep.Post(ctx, strings.Replace(n.body, "%s", string(name), 1))
		if err != nil && status == 0 {
			return gates.Finding{}, err
		}
		shown := gates.Quote(string(said), 120)
		switch message := errorMessage(said); {
		case status == http.StatusTooManyRequests:
			return gates.Skip("%s: the server turns it away with status %d, %s", n.name, status, shown), nil
		case status == 200:
			wrong = append(wrong, fmt.Sprintf("%s: status 200, %s", n.name, shown))
		case status >= 500:
			wrong = append(wrong, fmt.Sprintf("%s: status %d, a client's mistake looks like the server's, %s", n.name, status, shown))
		case message == "":
			wrong = append(wrong, fmt.Sprintf("%s: status %d, and the body is no error in JSON, %s", n.name, status, shown))
		default:
			right = append(right, fmt.Sprintf("status %d: %s", status, gates.Quote(message, 60)))
		}
	}
	if len(wrong) > 0 {
		f := gates.Warn("%d of %d bodies that are no requests are not refused as such", len(wrong), len(nonsense))
		for _, w := range wrong {
			f = f.With("%s", w)
		}
		return f, nil
	}
	return gates.Pass("%s", right[0]), nil
}

// errorMessage finds the message of an error in the forms of the known servers, "" where
// there is none.
func errorMessage(said []byte) string {
	if !shallow.Valid(said) {
		return ""
	}
	for _, path := range []string{"error.message", "error", "message", "detail"} {
		if m := gjson.GetBytes(said, path); m.Exists() {
			return m.String()
		}
	}
	return ""
}
