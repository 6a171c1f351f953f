package app

import (
	"context"
	"slices"

	"infbench/record"
	"infbench/stages/hardware/host"
	"infbench/stages/hardware/power"
	"infbench/stages/performance"
)

// devices is who tells what the engine's accelerators draw: the exporter that was named, else a
// tool of this machine where the target is known to run on it.
func (s *session) devices(ctx context.Context) performance.Devices {
	h := s.host(ctx).Parts()
	src, err := power.Source{}, error(nil)
	switch {
	case s.set.Performance.DCGM != "":
		src, err = power.DCGM(s.set.Performance.DCGM)
	case h.Target != record.Here:
		return performance.Devices{None: "the target is not known to be on this machine, and no DCGM exporter was named (--dcgm URL)"}
	default:
		src, err = power.Local(ctx, host.Command)
	}
	if err != nil {
		return performance.Devices{None: err.Error()}
	}
	out := performance.Devices{By: src.By, Read: func(ctx context.Context) (performance.DeviceReading, error) {
		r, err := src.Read(ctx)
		return performance.DeviceReading(r), err
	}}
	// Whatever a tool says, processor and accelerator of such a machine share their memory.
	if h.Target == record.Here && (h.Memory.Model == record.Unified || slices.ContainsFunc(h.Accelerators, func(a record.Accelerator) bool { return a.Unified })) {
		out.NoMemory = "unified memory: accelerators have none of their own"
	}
	return out
}
