package hardware

import (
	"context"
	"fmt"
	"time"

	"infbench/gates"
	"infbench/stages/hardware/kernels"
)

var _ = checks.Add(gates.Check[Subject]{
	ID: "hardware/runtimes",
	Doc: `libraries find the runtime version that they ask for

A prebuilt kernel library asks the loader for one version of the accelerator's runtime, such as libcudart.so.13. Where another package
brought version 12, the import dies, or, with the missing one put on the path by hand, kernels run on a runtime that they were not made for
and return zeros without a word. What each library asks for is compared with what lies beside it.`,
	Since:  "0.4.0",
	Cost:   time.Millisecond,
	Modes:  []string{"NUM-06", "NUM-01"},
	Faults: []string{"other-runtime"},
	Causes: []string{"packages for different versions of CUDA were installed side by side", "an image was upgraded in part"},
	Next:   []string{"infbench stage1 --kernels PATH --json, and look at needs", "the engine's packages from one index, for one version of CUDA"},
	Run:    runRuntimes,
})

func runRuntimes(_ context.Context, s Subject) (gates.Finding, error) {
	if f, ok := s.noKernels(); !ok {
		return f, nil
	}
	inv := kernels.Join(s.Kernels...)
	lacks := inv.Lacks()
	if len(lacks) == 0 {
		asked := 0
		for _, l := range inv.Libraries {
			asked += len(l.Needs)
		}
		if asked == 0 {
			return gates.NotApply("no library with device code asks for a runtime library"), nil
		}
		return gates.Pass("each runtime library that is asked for is there in the version asked for, or in none"), nil
	}
	var said []string
	required := false
	for _, k := range lacks {
		said = append(said, fmt.Sprintf("%s asks for %s, and there is %s", firstFew(k.By), k.Soname, firstFew(k.Has)))
		for _, by := range k.By {
			required = required || inv.RoleOf(by) == kernels.Required
		}
	}
	f := gates.Warn("%s", firstFew(said))
	// Outside an image the version may be installed elsewhere.
	if required && inv.Whole() {
		f = gates.Fail("%s", firstFew(said))
	}
	for _, line := range said {
		f = f.With("%s", line)
	}
	return f, nil
}
