// Package power reads what the accelerators of a machine draw and hold: from the page of a DCGM
// exporter, or by nvidia-smi or rocm-smi where the machine is this one.
//
// The one rule: what is no number of that unit is absent, never 0. Devices are not told apart:
// their names and serial numbers are not read.
package power

import (
	"context"
	"errors"
	"math"

	"infbench/gates"
	"infbench/stages/hardware/host"
)

// Reading is what all accelerators together draw and hold at one instant.
type Reading struct {
	Devices    int
	Milliwatts gates.Count
	// Millijoules is a counter of energy since the driver was loaded.
	Millijoules gates.Count
	MemoryBytes gates.Count
}

// Source reads the accelerators of one machine.
type Source struct {
	// By names who is asked.
	By string
	// Read asks once.
	Read func(context.Context) (Reading, error)
}

// ErrNone says that this machine has no tool that tells.
var ErrNone = errors.New("neither nvidia-smi nor rocm-smi tells the power of an accelerator here")

// Local finds the tool of this machine that tells what its accelerators draw, by asking each.
func Local(ctx context.Context, run host.Exec) (Source, error) {
	for _, tool := range []struct {
		name  string
		args  []string
		parse func(string) (Reading, error)
	}{
		{"nvidia-smi", []string{"--query-gpu=power.draw,memory.used", "--format=csv,noheader,nounits"}, parseNvidia},
		{"rocm-smi", []string{"--showpower", "--showmeminfo", "vram", "--json"}, parseROCm},
	} {
		read := func(ctx context.Context) (Reading, error) {
			printed, err := run(ctx, tool.name, tool.args...)
			if err != nil {
				return Reading{}, errors.New(tool.name + " failed")
			}
			return tool.parse(printed)
		}
		if _, err := read(ctx); err == nil {
			return Source{tool.name, read}, nil
		}
	}
	return Source{}, ErrNone
}

// sum adds up what devices tell; it is absent where one of them tells nothing.
type sum struct {
	total   float64
	missing bool
}

func (s *sum) add(v float64, ok bool) {
	if !ok {
		s.missing = true
		return
	}
	s.total += v
}

// count is the sum in another unit, absent for what is none.
func (s sum) count(scale float64) gates.Count {
	v := math.Round(s.total * scale)
	if s.missing || !(v >= 0 && v <= 1e15) { // NaN is neither
		return gates.Count{}
	}
	return gates.CountOf(int(v))
}

// Bounds on one device: the largest accelerators draw 1.4 kW.
const mostWatts, mostBytes, mostDevices = 1e4, 1 << 44, 1024

func within(v, most float64) bool { return v >= 0 && v <= most } // NaN is not
