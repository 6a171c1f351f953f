package kernels

import (
	"slices"

	"infbench/stages/hardware/arch"
)

// A Compiler compiles for the device on first use.
type Compiler struct {
	Name string
	// Compiles says what, in words.
	Compiles string
	// Missing are the tools that it needs and that are not in what was read. In an image
	// everything is; a folder or a wheel says nothing of the tools beside it.
	Missing []string
	// Spared says that what it would compile is there already.
	Spared bool
}

// Compilers returns who compiles for devices of the vendor on first use.
func (inv Inventory) Compilers(v arch.Vendor) []Compiler {
	var out []Compiler
	has := func(patterns []string) bool {
		return slices.ContainsFunc(inv.Marks, func(f string) bool { return underAny(patterns, inv.full(f)) })
	}
	for _, j := range roles.JIT {
		if !slices.ContainsFunc(inv.Marks, func(f string) bool { return inPackages(j.Mark, f) || inPackages(j.Mark, inv.full(f)) }) {
			continue
		}
		c := Compiler{Name: j.Name, Compiles: j.Compiles, Spared: has(j.Without)}
		for _, t := range j.Tools {
			if (t.For == "" || t.For == string(v)) && !has(t.At) {
				c.Missing = append(c.Missing, t.Name)
			}
		}
		out = append(out, c)
	}
	return out
}
