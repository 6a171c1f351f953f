package correctness

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = add(gates.Check[Subject]{
	ID: "correctness/property-order",
	Doc: `the parameters of a tool reach the model in the order in which they were written

A gateway that parses and writes the request again may sort the keys of a schema. The model then reads the parameters in another order than it was trained
to and than its instructions say. Only an answer that names them all, in sorted order and twice, is held against the server.`,
	Since:  "0.2.0",
	Cost:   2 * time.Second,
	Needs:  []gates.Capability{endpoint.Tools},
	Modes:  []string{"TOOL-13"},
	Faults: []string{"tool-sorted"},
	Causes: []string{"a gateway or template writes JSON with sorted keys"},
	Next:   []string{"the same request past the gateway"},
	Run:    propertyOrder,
}, sizing{1, func(room) Work { return asks(3, 150, 40) }})

func propertyOrder(ctx context.Context, ep Subject) (gates.Finding, error) {
	sorted := 0
	var last endpoint.Answer
	for _, names := range [][]string{{"zone", "amount", "mode"}, {"target", "width", "budget"}} {
		var properties []string
		for _, n := range names {
			properties = append(properties, `"`+n+`":{"type":"string"}`)
		}
		schema := json.RawMessage(`{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`)
		a, err := ep.Ask(ctx, endpoint.Chat("Do not call any tool. Name the parameters of the tool store_entry in their order, separated by commas.").
			Tool("store_entry", "Store an entry.", schema).Choose("auto").MaxTokens(64))
		var f *endpoint.Failure
		if errors.As(err, &f) && f.Kind == endpoint.Refused {
			return gates.NotApply("the server refuses tools: %s", f.Said), nil
		}
		if err != nil {
			return gates.Finding{}, err
		}
		switch said := orderOf(a.Visible(), names); {
		case slices.Equal(said, names):
			return gates.Pass("the model names them as they were written: %s", strings.Join(said, ", ")), nil
		case len(said) == len(names) && slices.IsSorted(said):
			sorted++
			last = a
		}
	}
	if sorted == 2 {
		return gates.Warn("the model names the parameters in sorted order, twice").With("%s", last.Says()), nil
	}
	return gates.NotApply("the model does not name the parameters: this is beyond it"), nil
}

// orderOf returns the names in the order in which a text first has them.
func orderOf(text string, names []string) []string {
	at := map[string]int{}
	var out []string
	for _, n := range names {
		if i := strings.Index(text, n); i >= 0 {
			at[n] = i
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return at[a] - at[b] })
	return out
}
