package static

import (
	"context"
	"strings"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/arch.class_vs_type",
	Doc: "the class and the model type are of one kind\n\nA multimodal class beside a text-only model_type without any vision part comes from conversions: " +
		"engines that go by the class look for a tower that is not there.",
	Since: since, Cost: glance,
	Modes:  []string{"arch.class_vs_type"},
	Faults: []string{"multimodal-class-text-type"},
	Causes: []string{"the text part was cut out of a multimodal checkpoint and architectures was left as it was"},
	Next:   []string{"set architectures to the causal class of the model type", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		c, f, ok := config(inv)
		if !ok {
			return f, nil
		}
		classes := c.Architectures()
		if len(classes) == 0 || c.ModelType() == "" {
			return gates.NotApply("config.json does not name both"), nil
		}
		if strings.HasSuffix(classes[0], "ForConditionalGeneration") && strings.HasSuffix(c.ModelType(), "_text") && !c.HasVision() {
			return gates.Warn("class %s, model_type %s, and no vision part", gates.Quote(classes[0], 60), gates.Quote(c.ModelType(), 40)), nil
		}
		return gates.Pass("class %s, model_type %s", gates.Quote(classes[0], 60), gates.Quote(c.ModelType(), 40)), nil
	},
})
