// Package host says what machine infbench runs on: processor, memory, accelerators, system,
// drivers, and what the engine runs in where it runs here too.
//
// The one rule: everything is on a list. Each file, variable and field that is read is named
// in this package and bounded, and of its text only what has the form of an answer is kept.
// The machine's name, serial numbers, UUIDs, users and paths are none. What cannot be learnt
// is left empty, and is no error.
package host

import (
	"cmp"
	"context"
	"io/fs"
	"net/netip"
	"os"
	"runtime"
	"time"

	"infbench/record"
	"infbench/stages/hardware/arch"
)

// Sources are where the host is looked at. [Machine] returns those of this machine.
type Sources struct {
	// Root is the file system.
	Root fs.FS
	// Exec runs a command of a list and returns what it printed; nil where nothing may run.
	Exec Exec
	// System is the operating system by Go's name, such as linux, and Arch the architecture.
	System, Arch string
	// Own are the machine's own addresses.
	Own func() []netip.Addr
	// Target is what the run is about.
	Target Target
	// Scrub takes secrets out of what was found; nil where there is none to know.
	Scrub func(string) string
}

// Target is where the target listens: a host's name or address and a port. The zero Target is
// none.
type Target struct {
	Host string
	Port int
}

// Machine returns the sources of this machine.
func Machine(t Target, scrub func(string) string) Sources {
	return Sources{Root: os.DirFS("/"), Exec: Command, System: runtime.GOOS, Arch: runtime.GOARCH, Own: ownAddresses, Target: t, Scrub: scrub}
}

// longest bounds all of a capture: a driver that hangs must not hold up a run for longer.
const longest = 20 * time.Second

// Capture looks at the host. It never fails: what cannot be learnt is empty.
func Capture(ctx context.Context, s Sources) record.Host {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	l := &looker{ctx: ctx, Sources: s, hung: map[string]bool{}}
	l.learnOwnName()
	var p record.HostParts
	p.Target, p.TargetBy = l.place()
	p.CPU, p.Memory = l.cpu(), l.memory()
	p.OS, p.Kernel, p.Container = l.system(), l.kernel(), l.container()
	seen := l.accelerators()
	p.Accelerators, p.AcceleratorsBy, p.Versions = seen.kinds, seen.by, seen.versions
	p.Versions = append(p.Versions, l.libraries()...)
	p.Memory.Model, p.Memory.ModelBy = seen.memoryModel()
	if p.Target == record.Here {
		p.Engine = l.engine()
	}
	l.scrub(&p)
	h, err := record.NewHost(p)
	if err != nil { // something here is stranger than the lists allow: the least that is always true
		h, _ = record.NewHost(record.HostParts{Target: p.Target, TargetBy: p.TargetBy, CPU: record.HostCPU{Arch: cmp.Or(unameOf(s.Arch), "unknown")}, Memory: record.HostMemory{Model: record.UnknownModel}})
	}
	return h
}

// looker is one look at a host.
type looker struct {
	ctx context.Context
	Sources
	ownName  string // read to be taken out of other texts
	listener *process
	looked   bool
	hung     map[string]bool // commands that did not answer in time
}

// unameOf is the architecture as uname has it.
func unameOf(goarch string) string {
	return arch.NewCPU(goarch).Architecture()
}

// Processor returns the processor of a host as a device, for code that runs on it.
func Processor(h record.Host) arch.Device {
	c := h.Parts().CPU
	if len(c.Flags) == 0 { // nobody could look: that nothing is there would be a guess
		return arch.Device{}
	}
	return arch.Processor(c.Arch, c.Flags)
}
