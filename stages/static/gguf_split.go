package static

import (
	"context"
	"slices"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/gguf.split",
	Doc: "every piece of a split GGUF model is there\n\nThe first piece says how many there are and how many tensors they hold together; " +
		"llama.cpp counts both when it loads, after the download.",
	Since: since, Cost: glance,
	Modes:   []string{"gguf.split"},
	Faults:  []string{"piece-absent", "pieces-of-two-models", "pieces-swapped", "tensor-lost"},
	Engines: []string{"llama.cpp"},
	Causes:  []string{"the download is not complete", "pieces of two uploads stand side by side"},
	Next:    []string{"download all pieces of one revision again", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		m, f, ok := gguf(inv)
		if !ok {
			return f, nil
		}
		files := inv.GGUFFiles()
		want, split := m.Count("split.count")
		if !split || want <= 1 {
			if len(files) > 1 {
				return gates.Fail("%s are named as pieces of one model, and the first is whole", plural(len(files), "file")).With("%s", some(files)), nil
			}
			return gates.Pass("the model is in one file"), nil
		}
		numbers := map[int64]bool{}
		tensors := int64(0)
		for _, h := range inv.Headers() {
			piece, ok := h.Metadata()
			if !ok {
				continue
			}
			n, _ := piece.Count("split.no")
			if c, _ := piece.Count("split.count"); c != want {
				return gates.Fail("%s says it is one of %d pieces, the first says %d", h.Shard(), c, want), nil
			}
			if at := slices.Index(files, h.Shard()); n != int64(at) && at >= 0 {
				return gates.Fail("%s is named as piece %d and says that it is piece %d", h.Shard(), at+1, n+1), nil
			}
			if numbers[n] {
				return gates.Fail("two of the files say that they are piece %d of %d", n+1, want).With("%s", some(files)), nil
			}
			numbers[n] = true
			tensors += int64(len(h.Tensors()))
		}
		if int64(len(numbers)) < want {
			return gates.Fail("%d of %d pieces are here", len(numbers), want).With("%s", some(files)), nil
		}
		if all, ok := m.Count("split.tensors.count"); ok && all != tensors {
			return gates.Fail("the pieces hold %d tensors, the first says %d", tensors, all), nil
		}
		return gates.Pass("%d pieces hold %d tensors", want, tensors), nil
	},
})
