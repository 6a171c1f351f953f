package host

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"infbench/record"
	"infbench/stages/hardware/arch"
)

// seen is what was found of accelerators.
type seen struct {
	kinds    []record.Accelerator
	by       string
	versions []record.Version
	// shared is how it was told that the first unified one has no memory of its own.
	shared string
}

// accelerators looks for NVIDIA's, AMD's and Apple's.
func (l *looker) accelerators() seen {
	var all seen
	for _, s := range []seen{l.nvidia(), l.amd(), l.apple()} {
		all.kinds, all.versions = append(all.kinds, s.kinds...), append(all.versions, s.versions...)
		if all.shared == "" {
			all.shared = s.shared
		}
		if all.by != "" && s.by != "" {
			all.by += ", "
		}
		all.by += s.by
	}
	all.kinds = all.kinds[:min(len(all.kinds), mostKinds)]
	return all
}

// memoryModel says whose memory it is: unified only where every accelerator shares it.
func (s seen) memoryModel() (record.MemoryModel, string) {
	if len(s.kinds) == 0 {
		return record.UnknownModel, "no accelerator was seen"
	}
	for _, a := range s.kinds {
		switch {
		case a.MemoryBytes > 0:
			return record.Separate, s.by + " gives memory of its own"
		case !a.Unified:
			return record.UnknownModel, s.by + " gives no memory"
		}
	}
	return record.Unified, s.shared
}

// Bounds on devices; a machine has up to 16 of them, a rack that is one machine 72.
const mostDevices, mostKinds = 1024, 16

// add counts one more of a kind. One that shares the processor's memory has none of its own,
// whatever a tool says.
func (s *seen) add(a record.Accelerator) {
	if why := sharing(a); why != "" || a.Unified {
		a.Unified = true
		s.shared = cmp.Or(s.shared, why, "processor and accelerator are one node")
	}
	if a.Count = 1; a.Unified {
		a.MemoryBytes = 0
	}
	for i, k := range s.kinds {
		k.Count = 1
		if k == a {
			s.kinds[i].Count++
			return
		}
	}
	s.kinds = append(s.kinds, a)
}

// unifiedArchs are devices whose memory is the processor's, whatever their tools say: GB10,
// Jetson, and the graphics of AMD's processors.
var unifiedArchs = []string{"sm_53", "sm_62", "sm_72", "sm_87", "sm_101", "sm_110", "sm_121", "gfx902", "gfx909", "gfx90c", "gfx1033", "gfx1035", "gfx1036", "gfx1037", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"}

// sharing says why a device is one that shares the processor's memory, "" where none is told.
func sharing(a record.Accelerator) string {
	switch {
	case slices.Contains(unifiedArchs, a.Arch):
		return a.Arch + " shares the processor's memory"
	case strings.Contains(a.Name, "MI300A"):
		return "MI300A shares the processor's memory"
	case strings.HasPrefix(a.Name, "Apple "):
		return "Apple's processors share their memory"
	}
	return ""
}

// archOf is the architecture of a product, "" for one that is not known.
func archOf(name string) string {
	p, err := arch.ParseProduct(name)
	if err != nil {
		return ""
	}
	return p.Arch
}

// DeviceOf returns the device of a target on this machine, as a person would name it with
// --device: "sm_90 x1", or "cpu" where no accelerator is seen. Of several devices an engine
// may use some, so that their number is left open. The error says why nothing can be told.
func DeviceOf(h record.Host) (string, error) {
	p := h.Parts()
	switch {
	case h.IsZero():
		return "", errors.New("this machine was not looked at")
	case p.Target == record.Elsewhere || p.Target == record.Unclear:
		return "", fmt.Errorf("the target is not known to be on this machine (%s)", p.TargetBy)
	case len(p.Accelerators) == 0:
		return "cpu", nil
	case len(p.Accelerators) > 1:
		return "", fmt.Errorf("this machine has more than one kind of accelerator: %s", kindsOf(p.Accelerators))
	}
	a := p.Accelerators[0]
	name := cmp.Or(a.Arch, a.Name)
	if a.Count == 1 {
		name += " x1"
	}
	return name, nil
}

func kindsOf(list []record.Accelerator) string {
	var out []string
	for _, a := range list {
		out = append(out, a.String())
	}
	return strings.Join(out, ", ")
}
