package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/idx.size_vs_config",
	Doc: "the total size is what the configuration makes of the listed tensors\n\nFor known families it follows to the byte; in 27 of 28 public checkpoints it did, " +
		"and the 28th was broken: its key and value weights were stored for 32 heads instead of 8.",
	Since: since, Cost: pass,
	Modes:  []string{"idx.size_vs_config"},
	Faults: []string{"kv-for-all-heads", "other-vocabulary"},
	Causes: []string{"config.json and weights are of different models or sizes", "a merge or conversion changed shapes", "the index is older than the weights"},
	Next:   []string{"compare config.json with the base model's", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		z, f, ok := sizeUp(inv)
		if !ok {
			return f, nil
		}
		if z.fit.padding > 0 {
			return gates.Pass("exact at %d bytes a value with tables padded by %d rows", z.fit.width, z.fit.padding), nil
		}
		if z.fit.width > 0 {
			return gates.Pass("%d bytes are exact: %d values of %d bytes", z.total, z.sizing.params, z.fit.width), nil
		}
		if EstimateOf(inv).Weights == z.total && len(inv.Headers()) > 0 {
			return gates.Pass("%d bytes are those of the headers, which store some tensors in another type", z.total), nil
		}
		width := max(widthOf(inv.Config().DType()), 2)
		f = gates.Fail("the index states %d bytes, the configuration makes %d (%+d)", z.total, z.sizing.bytes(width), z.total-z.sizing.bytes(width))
		return z.explain(f, inv.Names(), width), nil
	},
})

// sized is what the size arithmetic of one checkpoint has to go on.
type sized struct {
	total  int64
	dims   dims
	family *family
	sizing sizing
	fit    fit
}

// sizeUp does the arithmetic, or says why there is nothing to compare.
func sizeUp(inv checkpoint.Inventory) (z sized, f gates.Finding, ok bool) {
	c, f, ok := config(inv)
	if !ok {
		return z, f, false
	}
	x, f, ok := index(inv)
	if !ok {
		return z, f, false
	}
	if z.total = x.TotalSize().Bytes; z.total <= 0 {
		return z, gates.NotApply("the index states no usable total size"), false
	}
	if len(inv.Declarations()) > 0 {
		return z, gates.Pass("info: no exact formula for a quantised checkpoint"), false
	}
	if z.dims, z.family = familyOf(c); z.family == nil {
		return z, gates.Pass("info: no exact formula for this family (%s)", gates.Quote(c.ModelType(), 40)), false
	}
	var unknown string
	if z.sizing, unknown = z.family.measure(z.dims, inv.Names()); unknown != "" {
		return z, gates.Pass("info: no exact formula for this family with %s", gates.Printable(unknown, 80)), false
	}
	z.fit = fitSize(z.sizing, z.dims, z.total, widthOf(c.DType()))
	return z, f, true
}

// explain adds what the difference would be explained by.
func (z sized) explain(f gates.Finding, names []string, width int64) gates.Finding {
	d := z.dims
	d.kv = d.heads
	if s, unknown := z.family.measure(d, names); unknown == "" && s.bytes(width) == z.total && d.kv != z.dims.kv {
		f = f.With("exactly what it would be with %d key-value heads; config.json says %d", d.kv, z.dims.kv)
	}
	if row := z.sizing.tables * d.hidden * width; row > 0 && (z.total-z.sizing.bytes(width))%row == 0 {
		f = f.With("exactly what it would be with a vocabulary of %d; config.json says %d", d.vocab+(z.total-z.sizing.bytes(width))/row, d.vocab)
	}
	return f
}
