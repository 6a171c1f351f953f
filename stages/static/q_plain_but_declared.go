package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/q.plain_but_declared",
	Doc: "no module that is declared quantised stores a plain weight\n\nA router, a draft block or an attention left in 16 bits and not excluded: " +
		"engines build a quantised layer, and load nothing, NaN or a size error into it.",
	Does:  whenPartMissing,
	Since: since, Cost: pass,
	Modes:   []string{"q.plain_but_declared"},
	Faults:  []string{"ct-router-not-ignored", "fp8-attention-in-bf16", "gptq-layer-plain", "nothing-quantised"},
	Engines: []string{"vllm", "sglang", "tensorrt-llm"},
	Causes:  []string{"the quantiser skipped the module and did not write it to the exclusions", "the exclusions were lost or their names changed"},
	Next:    []string{"add the modules to the exclusions of the declaration, or quantise them", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		j, f, ok := judgeQuant(inv)
		if !ok {
			return f, nil
		}
		stored := len(j.whole) + len(j.lacking) + len(j.orphans) + len(j.ignored) + len(j.unsure)
		switch {
		case len(j.plain) > 0:
			return with(gates.Fail("%s declared %s and stored plain: %s", share(inv, j.plain, "module"), gates.Quote(j.decl.Method, 40), some(j.plain)), j.plain), nil
		case stored == 0 && !(j.rules.form.plainAllowed && j.rules.form.needs == nil):
			return gates.Fail("%s is declared and none of %s is of that scheme", gates.Quote(j.decl.Method, 40), plural(len(inv.Names()), "tensor")), nil
		}
		return j.pass("every plain module is excluded or of a kind that stays plain"), nil
	},
})
