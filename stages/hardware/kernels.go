package hardware

import (
	"context"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[Subject]{
	ID: "hardware/kernels",
	Doc: `every kernel that the engine may use was compiled for its device

Two images report the same versions and differ in compiled kernels; one of them dies on the new card. A running server cannot be asked
which kernels it holds: the libraries themselves have to be read, and this version reads none, so that the claim is skipped and said to be.`,
	Since:  "0.1.0",
	Cost:   20 * time.Millisecond,
	Modes:  []string{"NUM-01", "NUM-02", "NUM-06"},
	Faults: []string{"none-read"},
	Causes: []string{"no library was read"},
	Next:   []string{"cuobjdump --list-elf over the engine's libraries, and compare with the device"},
	Run: func(_ context.Context, s Subject) (gates.Finding, error) {
		if why := s.Unable(endpoint.Kernels); why != "" {
			return gates.NotApply("%s", why), nil
		}
		return gates.Skip("the engine's compiled kernels were not read"), nil
	},
})
