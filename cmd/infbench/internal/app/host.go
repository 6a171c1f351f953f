package app

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"sync"

	"infbench/record"
	"infbench/stages/hardware"
	"infbench/stages/hardware/arch"
	"infbench/stages/hardware/host"
)

// hosting is the machine that infbench runs on, looked at once and when first needed: asking
// a driver takes up to seconds.
type hosting struct {
	once sync.Once
	seen record.Host
}

// host returns the machine that infbench runs on. It is looked at to the end even when the
// run is stopped: the record of a stopped run wants it too.
func (s *session) host(ctx context.Context) record.Host {
	s.hosting.once.Do(func() {
		s.hosting.seen = host.Capture(context.WithoutCancel(ctx), host.Machine(s.targetPlace(), s.redactor.Text))
	})
	return s.hosting.seen
}

// targetPlace is where the target listens.
func (s *session) targetPlace() host.Target {
	u, err := url.Parse(s.set.Target)
	if err != nil || s.target.Host() == "" {
		return host.Target{}
	}
	t := host.Target{Host: s.target.Host(), Port: map[string]int{"http": 80, "https": 443}[u.Scheme]}
	if n, err := strconv.Atoi(u.Port()); err == nil {
		t.Port = n
	}
	return t
}

const autoDevice = "auto"

// resolveDevice puts the accelerator of this machine in the place of --device auto.
func (s *session) resolveDevice(ctx context.Context) error {
	if s.set.Hardware.Device != autoDevice {
		if _, err := arch.ParseDevice(s.set.Hardware.Device); err != nil && !errors.Is(err, arch.ErrNoDevice) {
			return usagef("--device %.60q: %v", s.set.Hardware.Device, err)
		}
		return nil
	}
	name, err := host.DeviceOf(s.host(ctx))
	if err != nil {
		return usagef("--device auto: %v; name the device, such as --device sm_90", err)
	}
	s.set.Hardware.Device, s.set.auto = name, true
	return nil
}

// memoryHere is the memory that a checkpoint shall fit on this machine: that of its
// accelerators, or the machine's where they share it or there are none.
func memoryHere(h record.Host) (hardware.Memory, error) {
	p := h.Parts()
	switch {
	case len(p.Accelerators) > 1:
		return hardware.Memory{}, usagef("--device auto: this machine has more than one kind of accelerator; name one")
	case len(p.Accelerators) == 1 && p.Accelerators[0].MemoryBytes > 0:
		a := p.Accelerators[0]
		return hardware.Memory{Name: a.Name, Each: a.MemoryBytes, Count: int64(a.Count)}, nil
	case p.Memory.TotalBytes > 0 && (len(p.Accelerators) == 0 || p.Memory.Model == record.Unified):
		return hardware.Memory{Name: "this machine's memory", Each: p.Memory.TotalBytes, Count: 1}, nil
	}
	return hardware.Memory{}, usagef("--device auto: the memory of this machine is not told; give a size, such as --device 80GiB")
}
