package smoke

import (
	"context"
	"errors"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/model-name",
	Doc: `the answer is of the model that was asked, as far as it says

A gateway that routes to another model names it in the answer. Servers with one model often serve any name, which is only recorded: the name in
a request proves nothing there.`,
	Since:  "0.2.0",
	Cost:   300 * time.Millisecond,
	Modes:  []string{"IDN-01", "IDN-02"},
	Faults: []string{"other-model"},
	Causes: []string{"a gateway falls back to another model", "the name in the answer is a default of the server"},
	Next:   []string{"the gateway's routing table", "curl the target's /v1/models"},
	Run: func(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
		a := ep.Complete(ctx, endpoint.Chat("Hello").MaxTokens(1))
		if err := a.Err(); err != nil {
			return gates.Finding{}, err
		}
		// A revision behind the name is the same model.
		name, _, revised := strings.Cut(a.Model, "@")
		if revised && name == ep.Model() {
			return gates.Pass("the answer says %s", gates.Quote(a.Model, 60)), nil
		}
		if a.Model != "" && a.Model != ep.Model() && ep.Serves(a.Model) {
			return gates.Warn("asked %s, and the answer is of %s", gates.Quote(ep.Model(), 60), gates.Quote(a.Model, 60)), nil
		}
		other := ep.Complete(ctx, endpoint.Chat("Hello").MaxTokens(1).ForModel("no-such-model-51aa"))
		var f *endpoint.Failure
		switch {
		case a.Model != "" && a.Model != ep.Model() && !ep.Serves(ep.Model()) && other.Err() == nil && other.Model == a.Model:
			return gates.Pass("info: any name is served, and every answer says %s", gates.Quote(a.Model, 60)), nil
		case a.Model != "" && a.Model != ep.Model():
			return gates.Warn("asked %s, and the answer says %s", gates.Quote(ep.Model(), 60), gates.Quote(a.Model, 60)), nil
		case other.Err() == nil && len(ep.Models()) > 1:
			return gates.Warn("%d models are listed, and one that does not exist is served too", len(ep.Models())).With("it says that it is %s", gates.Quote(other.Model, 60)), nil
		case other.Err() == nil:
			return gates.Pass("info: a model that does not exist is served too, so the name proves nothing"), nil
		case errors.As(other.Err(), &f) && (f.Kind == endpoint.UnknownModel || f.Kind == endpoint.Unauthorized || endpoint.FateOf(f) == endpoint.Declined):
			return gates.Pass("the answer says %s, and an unknown name is refused", gates.Quote(a.Model, 60)), nil
		}
		return gates.Warn("a model that does not exist is not refused as such: %v", other.Err()).
			Because("a gateway looks for a server of that name", "the server does not check the name"), nil
	},
})
