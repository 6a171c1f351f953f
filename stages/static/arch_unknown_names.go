package static

import (
	"context"
	"regexp"
	"strings"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/arch.unknown_names",
	Doc: "the weights have the names of their family\n\nA save renamed the tensors: 524 of 1,609, 97 % of the bytes, were dropped by a loader that " +
		"is not strict, and the model spoke garbage (SGLang 38616). Only families with a rule of their own are judged.",
	Does:  whenUnknownTensor,
	Since: since, Cost: pass,
	Modes:  []string{"arch.unknown_names"},
	Faults: []string{"all-renamed", "foreign-in-layers"},
	Causes: []string{"saved from inside a wrapper (an adapter, a compiled or parallel module), whose prefix stayed", "another class's checkpoint under this config.json"},
	Next:   []string{"rename the tensors as the base model's index has them", again},
	Run:    archUnknownNames,
})

func archUnknownNames(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
	c, f, ok := config(inv)
	if !ok {
		return f, nil
	}
	all, f, ok := tensorNames(inv)
	if !ok {
		return f, nil
	}
	d, fam := familyOf(c)
	if fam == nil {
		return gates.NotApply("no rule for the names of %s", gates.Quote(c.TextModelType(), 40)), nil
	}
	known, inLayers := 0, 0
	var foreign []string
	for _, n := range all {
		base := weightParts.ReplaceAllString(n, "") + ".weight"
		switch {
		case harmless.MatchString(n) || strings.HasSuffix(n, "bias"):
		case knows(fam, d, base):
			known++
			if strings.Contains(n, "layers.") {
				inLayers++
			}
		case knows(fam, d, base[:max(strings.LastIndexByte(strings.TrimSuffix(base, ".weight"), '.'), 0)]+".weight"):
			// a part below a known layer, as some quantisers store them
		case isWeight(n) && strings.Contains(n, "layers.") && !isMTP(n) && !otherTower.MatchString(n):
			foreign = append(foreign, n)
		}
	}
	switch {
	case known == 0:
		return with(gates.Fail("none of %s has a name of %s: %s", plural(len(all), "tensor"), c.ModelType(), some(all)), all), nil
	case len(foreign) > 0 && inLayers == 0:
		return with(gates.Fail("no weight of the layers has a name of %s: %s", c.ModelType(), some(foreign)), foreign), nil
	case len(foreign) > 0:
		return with(gates.Warn("%s that %s has no place for: %s", share(inv, foreign, "weight"), c.ModelType(), some(foreign)), foreign), nil
	}
	return gates.Pass("the weights have the names of %s", c.ModelType()), nil
}

// knows reports whether a family has a weight of that name; a model saved without
// its head has lost the first part of all names, which loaders put back.
func knows(f *family, d dims, name string) bool {
	if _, ok := f.shape(d, name); ok {
		return true
	}
	if _, ok := f.shape(d, "model."+name); ok {
		return true
	}
	rest, nested := strings.CutPrefix(name, "model.language_model.") // as newer versions save models that see
	_, ok := f.shape(d, "model."+rest)
	return nested && d.vision.IsObject() && ok
}

// otherTower matches the parts that see or hear, which a family's rule may not cover.
var otherTower = regexp.MustCompile(`vis|audio|image|projector|merger|tower`)
