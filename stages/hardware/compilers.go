package hardware

import (
	"context"
	"fmt"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/hardware/kernels"
)

var _ = checks.Add(gates.Check[Subject]{
	ID: "hardware/compilers",
	Doc: `what compiles kernels on first use finds its tools in the image

Triton, FlashInfer and the like compile for the device when a shape is first asked for. An image without a compiler starts, answers the
health check, and fails at the first request that takes such a path; one with it answers late. Who compiles what, and with which tools, is
listed, so that the slow first request is no surprise.`,
	Since:  "0.4.0",
	Cost:   time.Millisecond,
	Modes:  []string{"NUM-01", "OPS-02"},
	Faults: []string{"no-compiler"},
	Causes: []string{"a runtime image without the toolkit", "a slimmed image"},
	Next:   []string{"the image with the development tools, or the package with compiled kernels, such as flashinfer-jit-cache"},
	Run:    runCompilers,
})

func runCompilers(_ context.Context, s Subject) (gates.Finding, error) {
	if f, ok := s.noKernels(); !ok {
		return f, nil
	}
	d, _, _ := s.On() // without a device the tools of no vendor are missing
	inv := kernels.Join(s.Kernels...)
	all := inv.Compilers(d.Vendor())
	if len(all) == 0 {
		return gates.NotApply("nothing that compiles on first use was found"), nil
	}
	var missing, lines, names []string
	for _, c := range all {
		does := fmt.Sprintf("%s compiles %s", c.Name, c.Compiles)
		switch {
		case c.Spared:
			does += "; what it would compile is there already"
		case len(c.Missing) > 0:
			does += "; not there: " + strings.Join(c.Missing, ", ")
			missing = append(missing, fmt.Sprintf("%s (%s)", c.Name, strings.Join(c.Missing, ", ")))
		default:
			does += "; its tools are there"
		}
		names, lines = append(names, c.Name), append(lines, does)
	}
	f := gates.Pass("what compiles on first use: %s; the first request of each shape is slow", strings.Join(names, ", "))
	switch {
	case len(missing) > 0 && inv.Whole():
		f = gates.Warn("what compiles on first use does not find its tools: %s", strings.Join(missing, "; "))
	case len(missing) > 0:
		f = gates.Pass("what compiles on first use: %s; the tools for it are not looked for outside of an image", strings.Join(names, ", "))
	}
	for _, l := range lines {
		f = f.With("%s", l)
	}
	return f, nil
}
