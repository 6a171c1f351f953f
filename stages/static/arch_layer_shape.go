package static

import (
	"context"
	"fmt"
	"slices"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/arch.layer_shape",
	Doc: "no layer lacks a weight that its siblings have\n\nOne lost tensor of one layer is random memory in the middle of the model. Kinds of layers that " +
		"the configuration declares (layer_types, dense first layers, every fourth one) are compared among themselves.",
	Does:  whenTensorMissing,
	Since: since, Cost: pass,
	Modes:  []string{"arch.layer_shape"},
	Faults: []string{"gguf", "norm-absent-in-two", "one-projection-absent", "renamed-in-one-layer"},
	Causes: []string{"a shard or its entries were lost", "a repack or merge dropped or renamed tensors"},
	Next:   []string{"compare the index with the base model's", again},
	Run:    archLayerShape,
})

func archLayerShape(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
	c, f, ok := config(inv)
	if !ok {
		return f, nil
	}
	s, f, ok := decoderOf(inv, c)
	if !ok {
		return f, nil
	}
	var lost []string
	for layer, parts := range layerHoles(inv, s) {
		for _, p := range parts {
			lost = append(lost, fmt.Sprintf("%s.%d.%s", s.Prefix, layer, p))
		}
	}
	if len(lost) == 0 {
		return gates.Pass("%s of %s agree with their siblings", plural(len(s.Layers), "layer"), s.Prefix), nil
	}
	slices.Sort(lost)
	return with(gates.Fail("%s absent that siblings have: %s", share(inv, lost, "weight"), some(lost)), lost), nil
}

// layerHoles returns, by layer, the weights that it lacks and its siblings have.
func layerHoles(inv checkpoint.Inventory, s *checkpoint.Stack) map[int][]string {
	c := inv.Config()
	want, stated := c.Layers()
	if !stated {
		want = int64(len(s.Layers))
	}
	want = min(want, 1<<16)
	classes := map[string][]member{}
	labels := kinds(c, int(want))
	for _, l := range s.Layers {
		if int64(l.Number) < want { // what follows is for multi-token prediction
			label := labels[l.Number]
			classes[label] = append(classes[label], member{l.Number, anatomy(l, len(inv.Declarations()) > 0)})
		}
	}
	out := map[int][]string{}
	for _, class := range classes {
		for layer, parts := range holes(class) {
			out[layer] = append(out[layer], parts...)
		}
	}
	return out
}

// A member is one layer of a class, with the weights that it has.
type member struct {
	number int
	parts  map[string]bool
}

// holes compares the layers of one class with what most of them have, and returns
// what each of the others lacks. A layer that has something else instead is of
// another kind, unless it stands alone in the middle; so is one of a regular row,
// such as every sixth.
func holes(class []member) map[int][]string {
	common := majority(class)
	lacking := map[int][]string{}
	rows := map[string][]int{} // layers by their set of weights
	inside := map[int]bool{}
	for i, m := range class {
		var lack []string
		other := false
		for p := range common {
			if !m.parts[p] {
				lack = append(lack, p)
			}
		}
		for p := range m.parts {
			other = other || !common[p]
		}
		if len(lack) == 0 {
			continue
		}
		slices.Sort(lack)
		key := fmt.Sprint(other, lack)
		rows[key] = append(rows[key], m.number)
		inside[m.number] = i > 0 && i < len(class)-1
		lacking[m.number] = lack
		if other && !inside[m.number] {
			delete(lacking, m.number)
		}
	}
	for key, row := range rows {
		other := key[0] == 't'
		if other && len(row) > 1 || regular(row) {
			for _, n := range row {
				delete(lacking, n)
			}
		}
	}
	return lacking
}

// majority returns the weights that more than half of the layers have.
func majority(class []member) map[string]bool {
	count := map[string]int{}
	for _, m := range class {
		for p := range m.parts {
			count[p]++
		}
	}
	out := map[string]bool{}
	for p, n := range count {
		if 2*n > len(class) {
			out[p] = true
		}
	}
	return out
}

// regular reports whether numbers are three or more at one distance above one.
func regular(row []int) bool {
	if len(row) < 3 {
		return false
	}
	step := row[1] - row[0]
	for i := 2; i < len(row); i++ {
		if row[i]-row[i-1] != step {
			return false
		}
	}
	return step > 1
}
