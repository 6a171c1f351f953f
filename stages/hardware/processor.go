package hardware

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"infbench/gates"
	"infbench/record"
	"infbench/stages/hardware/arch"
	"infbench/stages/hardware/cpucode"
	"infbench/stages/hardware/host"
	"infbench/stages/hardware/kernels"
)

var _ = checks.Add(gates.Check[Subject]{
	ID: "hardware/processor",
	Doc: `the processor has the instructions that libraries say they need

A library that was compiled for a newer processor ends the engine with an illegal instruction, at its start or at the first request that comes by. Some
libraries state what they need, and llama.cpp brings one for each kind of processor and loads the best that runs: one of them must. Only
the processor of the machine that infbench runs on is known, and only where the target runs there, or where there is none.`,
	Since:  "0.4.0",
	Cost:   time.Millisecond,
	Modes:  []string{"NUM-01"},
	Faults: []string{"newer-processor"},
	Causes: []string{"a binary that was built with -march=native elsewhere", "an old or a virtual processor without AVX"},
	Next:   []string{"a build for a lower level of x86-64, or with all variants of the processor backend"},
	Run:    runProcessor,
})

func runProcessor(_ context.Context, s Subject) (gates.Finding, error) {
	if f, ok := s.noKernels(); !ok {
		return f, nil
	}
	inv := kernels.Join(s.Kernels...)
	var list []kernels.Library
	for _, l := range inv.Libraries {
		if l.For(arch.VendorCPU) {
			list = append(list, l)
		}
	}
	if len(list) == 0 {
		return gates.NotApply("no library says what it needs of the processor"), nil
	}
	if a := platformOf(inv.Platform); a != "" && a != s.Host.Parts().CPU.Arch {
		return gates.Skip("the image is for %s, and this machine is none", inv.Platform).Then("infbench stage1 --kernels PATH, on the machine that the engine shall run on"), nil
	}
	p := host.Processor(s.Host)
	if place := s.Host.Parts().Target; p == (arch.Device{}) || place != record.Here && place != record.NoTarget {
		return gates.Skip("%s what they need of the processor, and which one it is, is not known", counted(len(list), "library says", "libraries say")).
			Then("infbench stage1 --kernels PATH, on the machine that the engine shall run on"), nil
	}
	inv.Libraries = list
	j := inv.On(p)
	fails, lacks := j.Of(kernels.Row.Fails), j.Of(kernels.Row.Lacks)
	said := func(rows []kernels.Row) (out []string) {
		for _, r := range rows {
			out = append(out, fmt.Sprintf("%s needs %s", r.Path, strings.Join(missing(r, p), ", ")))
		}
		return out
	}
	switch {
	case len(fails) > 0:
		return gates.Fail("the processor does not run %d of %s that say what they need: %s", len(fails), counted(len(list), "library", "libraries"), firstFew(said(fails))), nil
	case len(lacks) > 0:
		return gates.Warn("the processor does not run %d of %s that say what they need: %s", len(lacks), counted(len(list), "library", "libraries"), firstFew(said(lacks))), nil
	}
	served := len(j.Of(func(r kernels.Row) bool { return r.Served }))
	f := gates.Pass("the processor has what %s need", counted(len(list)-served, "library says it", "libraries say they"))
	if served > 0 {
		f = f.With("%s for other processors, of which another runs here", counted(served, "variant is", "variants are"))
	}
	if name := loaded(list, p); name != "" {
		f = f.With("of its variants for processors llama.cpp loads %s", name)
	}
	return f, nil
}

// platformOf returns the architecture of an image's platform as uname has it, "" for none.
func platformOf(platform string) string {
	_, name, _ := strings.Cut(platform, "/")
	name, _, _ = strings.Cut(name, "/")
	return arch.NewCPU(name).Architecture()
}

// loaded returns the variant of a processor backend that is loaded, "" where there are none.
func loaded(list []kernels.Library, p arch.Device) string {
	var family []cpucode.Library
	for _, l := range list {
		if v, ok := cpucode.ByName(path.Base(l.Path)); ok {
			family = append(family, v)
		}
	}
	best, _ := cpucode.Best(family, p)
	return best.Variant
}

// missing names the instruction sets that the processor lacks.
func missing(r kernels.Row, p arch.Device) []string {
	for _, t := range r.Targets {
		if c, ok := t.(arch.CPU); ok {
			return c.Missing(p)
		}
	}
	return nil
}
