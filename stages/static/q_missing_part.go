package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/q.missing_part",
	Doc: "every quantised module has every tensor that its scheme needs\n\nThe founding incident: an FP8 checkpoint lacked weight_scale_inv in 43 of its 61 layers. " +
		"The server was healthy, and fast; every answer was garbage. Sentinels for absent scales differ from engine to engine and collapse when only a part is lost.",
	Does:  whenPartMissing,
	Since: since, Cost: pass,
	Modes:   []string{"q.missing_part"},
	Faults:  []string{"bnb-no-quant-state", "ct-no-weight-shape", "fp8-scales-of-one-layer", "fp8-weight-is-fp8", "gptq-no-qzeros", "mxfp4-no-scales", "nvfp4-no-input-scale"},
	Engines: []string{"vllm", "sglang", "transformers", "mlx"},
	Causes: []string{
		"the export, repack or upload dropped tensors",
		"calibration never reached these modules, so no activation scale was written",
	},
	Next: []string{"download the index and these shards again, or export again", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		j, f, ok := judgeQuant(inv)
		if !ok {
			return f, nil
		}
		if len(j.lacking) == 0 {
			return j.pass("%s of %s have all their parts", plural(len(j.whole), "module"), gates.Quote(j.decl.Method, 40)), nil
		}
		bad := names(j.lacking)
		return with(gates.Fail("%s lack %s: %s", share(inv, bad, "module"), lost(j.lacking), some(bad)), bad), nil
	},
})
