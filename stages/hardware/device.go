package hardware

import (
	"context"
	"strings"
	"time"

	"infbench/gates"
	"infbench/record"
	"infbench/stages/endpoint"
	"infbench/stages/hardware/arch"
)

var _ = checks.Add(gates.Check[Subject]{
	ID: "hardware/device",
	Doc: `it is known on which device the engine computes

A record whose device is unknown cannot be compared, and one whose device is another than was named is compared with the wrong ones. Some
engines tell; for the others a person names it. Where the target runs on the machine of infbench, what is named is held against the
accelerators that are seen there; those of a machine that the target is not on are no evidence of anything.`,
	Since:  "0.1.0",
	Cost:   50 * time.Millisecond,
	Modes:  []string{"OPS-05"},
	Faults: []string{"cpu-fallback", "other-arch", "unused-accelerator", "not-here", "more-than-here"},
	Causes: []string{"the engine fell back to the processor without a word", "the device was named for another machine", "the port is forwarded to another machine"},
	Next:   []string{"the server's log: which device did it open?", "infbench … --device NAME, such as sm_90, gfx942 or cpu, as it is meant"},
	Run:    device,
})

func device(_ context.Context, s Subject) (gates.Finding, error) {
	told := ""
	if s.Unable(endpoint.Server) == "" {
		told = s.Build().Device
	}
	here := s.here()
	f := compare(told, s, here)
	if len(here) > 0 {
		f = f.With("this machine has %s", kinds(here))
	}
	return f, nil
}

// compare holds what the engine tells, what was named and what is here against one another.
func compare(told string, s Subject, here []record.Accelerator) gates.Finding {
	named, count := archWord(s.Device)
	tells, _ := archWord(told)
	switch {
	case told == "cpu" && s.Auto && s.Device != "cpu":
		return gates.Fail("the engine computes on cpu, and this machine has %s", kinds(here))
	case told == "cpu" && s.Device != "" && s.Device != "cpu", compiledFor(tells) && compiledFor(named) && tells != named:
		return gates.Fail("the engine computes on %s, and %s was named", gates.Quote(told, 60), gates.Quote(s.Device, 60))
	case told == "cpu" && s.Device == "" && len(here) > 0:
		return gates.Warn("the engine computes on cpu, and this machine has %s", kinds(here))
	}
	if most := of(here, named); compiledFor(named) && len(here) > 0 && most < count {
		if most == 0 {
			return gates.Warn("%s was named, and this machine, where the target runs, has %s", gates.Quote(s.Device, 60), kinds(here))
		}
		return gates.Warn("%s was named, and this machine, where the target runs, has %d of it", gates.Quote(s.Device, 60), most)
	}
	switch {
	case told != "":
		return gates.Pass("the engine says: %s", told)
	case s.Auto && len(here) == 0:
		return gates.Pass("taken from this machine: %s, since no accelerator is seen on it; the engine does not tell", s.Device)
	case s.Auto:
		return gates.Pass("taken from this machine: %s; the engine does not tell", s.Device)
	case s.Device != "" && !s.served():
		return gates.Pass("named: %s", s.Device)
	case s.Device != "":
		return gates.Pass("named: %s; the engine does not tell", s.Device)
	}
	if !s.served() && len(s.Kernels) == 0 {
		return gates.NotApply("neither a server nor kernels were named, and no device")
	}
	next := "infbench … --device NAME, such as sm_90 or gfx942"
	if len(here) > 0 {
		next = "infbench … --device auto, for the accelerator of this machine, or --device NAME"
	}
	return gates.Skip("the engine does not tell, and none was named").Then(next)
}

// here returns the accelerators of the machine that infbench runs on, where they are those
// of the machine that the target runs on.
func (s Subject) here() []record.Accelerator {
	if p := s.Host.Parts(); p.Target == record.Here || p.Target == record.NoTarget {
		return p.Accelerators
	}
	return nil
}

// of counts the accelerators of an architecture.
func of(here []record.Accelerator, a string) int {
	n := 0
	for _, k := range here {
		if k.Arch == a || k.Arch == "" { // that is not known, it may be
			n += k.Count
		}
	}
	return n
}

// archWord is the architecture that a text names, and how many of it; another text is itself.
func archWord(text string) (word string, count int) {
	name, count := arch.SplitCount(text)
	if d, err := arch.ParseDevice(name); err == nil {
		return d.String(), count
	}
	if p, err := arch.ParseProduct(name); err == nil {
		return p.Arch, count
	}
	return strings.ToLower(name), count
}

// compiledFor reports whether a word is an architecture that code is compiled for.
func compiledFor(word string) bool {
	return strings.HasPrefix(word, "sm_") || strings.HasPrefix(word, "gfx")
}

func kinds(list []record.Accelerator) string {
	var out []string
	for _, a := range list {
		out = append(out, a.String())
	}
	return strings.Join(out, ", ")
}
