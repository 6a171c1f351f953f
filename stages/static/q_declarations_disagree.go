package static

import (
	"context"
	"fmt"

	"infbench/gates"
	"infbench/stages/checkpoint"

	"github.com/tidwall/gjson"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/q.declarations_disagree",
	Doc: "declarations of the quantisation agree with each other\n\nEngines differ in which of config.json, quantize_config.json and hf_quant_config.json " +
		"they take; where these disagree, one of them unpacks the weights wrongly.",
	Since: since, Cost: glance,
	Modes:  []string{"q.declarations_disagree"},
	Faults: []string{"bits-differ", "method-differs"},
	Causes: []string{"the checkpoint was quantised again and only one file was written", "a file of another export was left behind"},
	Next:   []string{"find out which is right from the shapes (static/q.shape), correct the other", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		list := inv.Declarations()
		if len(list) < 2 {
			return gates.NotApply("there are not two declarations to compare"), nil
		}
		var bad []string
		for _, other := range list[1:] {
			bad = append(bad, disagreements(list[0], other)...)
		}
		if len(bad) > 0 {
			f := gates.Fail("%s between %s: %s", plural(len(bad), "difference"), plural(len(list), "declaration"), bad[0])
			for _, b := range bad {
				f = f.With("%s", b)
			}
			return f, nil
		}
		return gates.Pass("%s agree", plural(len(list), "declaration")), nil
	},
})

// declaredFields are the comparable fields of declarations; a field that one of them leaves out agrees.
var declaredFields = []string{"bits", "group_size", "desc_act", "sym", "quant_algo", "checkpoint_format", "zero_point", "load_in_4bit", "load_in_8bit"}

func disagreements(a, b checkpoint.Declaration) []string {
	var out []string
	if a.Method != b.Method && !a.Implied && !b.Implied {
		out = append(out, fmt.Sprintf("%s says method %q, %s says %q", a.Where, a.Method, b.Where, b.Method))
	}
	for _, key := range declaredFields {
		x, y := a.Fields.Get(key), b.Fields.Get(key)
		if x.Exists() && y.Exists() && x.Type != gjson.Null && y.Type != gjson.Null && x.String() != y.String() {
			out = append(out, fmt.Sprintf("%s says %s %s, %s says %s", a.Where, key, x.Raw, b.Where, y.Raw))
		}
	}
	return out
}
