package static

import (
	"slices"
	"strings"

	"infbench/stages/checkpoint"

	"github.com/tidwall/gjson"
)

// ModelSlim (Ascend): its own file names every stored tensor and its type, so that
// what a module needs is read there.
var _ = addScheme(scheme{
	methods:  []string{"modelslim", "ascend"},
	declared: "quant_model_description.json: every tensor's name to its type, FLOAT for plain ones",
	variants: modelslimVariants,
	rules:    modelslimRules,
	source: func(all []checkpoint.Declaration) checkpoint.Declaration {
		for _, d := range all {
			if d.Where == checkpoint.ModelslimFile {
				return d
			}
		}
		return all[0]
	},
	listed: func(all []checkpoint.Declaration) []string {
		var out []string
		for _, d := range all {
			if d.Where == checkpoint.ModelslimFile {
				described(d.Fields, func(tensor, _ string) { out = append(out, tensor) })
			}
		}
		return out
	},
	marks: []string{"weight_offset", "deq_scale", "quant_bias"},
})

var modelslimVariants = []variant{
	{name: "modelslim", when: "any type but FLOAT; a part is required if the description lists it", marks: "weight_offset deq_scale quant_bias", parts: []part{
		{name: "weight"},
		{name: "weight_scale", when: whenListed},
		{name: "weight_offset", when: whenListed},
		{name: "deq_scale", when: whenListed},
		{name: "quant_bias", when: whenListed},
		{name: "input_scale", when: whenListed},
		{name: "input_offset", when: whenListed},
	}},
}

var whenListed = when{words: "if listed"}

func modelslimRules(d checkpoint.Declaration) (rules, string) {
	if d.Where != checkpoint.ModelslimFile {
		return rules{}, checkpoint.ModelslimFile + " is not here"
	}
	r := rules{form: notCovered("the description does not name it"), exclude: matching(nil)}
	parts := map[string][]string{}
	described(d.Fields, func(tensor, kind string) {
		i := strings.LastIndexByte(tensor, '.')
		if kind == "FLOAT" {
			r.exclude.exact[tensor[:i]] = true
			return
		}
		parts[tensor[:i]] = append(parts[tensor[:i]], tensor[i+1:])
	})
	forms := make(map[string]*form, len(parts))
	for module, list := range parts {
		delete(r.exclude.exact, module) // a plain bias beside a quantised weight
		f := modelslimVariants[0].form(d.Fields, nil)
		for _, p := range list {
			if p != "weight" {
				f.needs = append(f.needs, []string{p})
			}
		}
		f.plainAllowed = !slices.Contains(list, "weight")
		forms[module] = &f
	}
	r.formOf = func(module string) *form { return forms[module] }
	r.include = func(module string) bool { return forms[module] != nil }
	return r, ""
}

// described calls f for each tensor of a description.
func described(fields gjson.Result, f func(tensor, kind string)) {
	fields.ForEach(func(k, v gjson.Result) bool {
		if strings.Contains(k.Str, ".") && v.Type == gjson.String {
			f(k.Str, v.Str)
		}
		return true
	})
}
