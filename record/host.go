package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"infbench/gates"
)

// Place says where the target is, seen from the machine that infbench ran on. An accelerator
// of this machine is the target's only where the target is here.
type Place string

// The places of a target.
const (
	Here      Place = "here"
	Elsewhere Place = "elsewhere"
	// Unclear is where a local port is known to be forwarded.
	Unclear Place = "unclear"
	// NoTarget is a run without one.
	NoTarget Place = "none"
)

// MemoryModel says whether accelerators have memory of their own.
type MemoryModel string

// The memory models.
const (
	// Separate is memory that is the processor's alone.
	Separate MemoryModel = "separate"
	// Unified is memory that accelerators share with the processor: there is no VRAM, and
	// no figure of it is ever given.
	Unified MemoryModel = "unified"
	// UnknownModel is where nobody could tell.
	UnknownModel MemoryModel = "unknown"
)

// HostParts are what is known of the machine that infbench ran on. What could not be learnt
// is empty. No name, address, serial number, user or path is among it.
type HostParts struct {
	Target Place `json:"target"`
	// TargetBy is how that was told.
	TargetBy     string        `json:"target_by,omitempty"`
	CPU          HostCPU       `json:"cpu"`
	Memory       HostMemory    `json:"memory"`
	Accelerators []Accelerator `json:"accelerators"`
	// AcceleratorsBy is who was asked for them, such as "nvidia-smi".
	AcceleratorsBy string `json:"accelerators_by,omitempty"`
	OS             string `json:"os,omitempty"`
	Kernel         string `json:"kernel,omitempty"`
	// Container is what infbench itself runs in, "" for none that shows.
	Container string `json:"container,omitempty"`
	// Versions are of drivers and libraries, by name.
	Versions []Version `json:"versions,omitempty"`
	Engine   HostedBy  `json:"engine,omitzero"`
}

// HostCPU is the processor.
type HostCPU struct {
	Model string `json:"model,omitempty"`
	// Arch is the architecture as uname has it, such as x86_64.
	Arch string `json:"arch"`
	// Cores are the processors that the system schedules on, threads included.
	Cores int `json:"cores,omitempty"`
	// Level is the level of x86-64, such as x86-64-v3.
	Level string `json:"level,omitempty"`
	// Flags are the instruction sets that engines' kernels are compiled for.
	Flags []string `json:"flags,omitempty"`
}

// HostMemory is the machine's memory.
type HostMemory struct {
	TotalBytes int64       `json:"total_bytes,omitempty"`
	Model      MemoryModel `json:"model"`
	// ModelBy is how the model was told.
	ModelBy string `json:"model_by,omitempty"`
}

// Accelerator is one kind of accelerator and how many of it there are.
type Accelerator struct {
	Name string `json:"name"`
	// Arch is such as sm_90 or gfx942, "" where it is not known.
	Arch  string `json:"arch,omitempty"`
	Count int    `json:"count"`
	// MemoryBytes is what one has of its own, 0 where that is not known or it has none.
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
	// Unified says that its memory is the processor's.
	Unified bool `json:"unified,omitempty"`
	// Partitioned says that it is split (MIG): an engine sees a part of it.
	Partitioned bool `json:"partitioned,omitempty"`
}

// Version is of one driver or library.
type Version struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// HostedBy is what the engine that listens on this machine runs in.
type HostedBy struct {
	Container string `json:"container,omitempty"`
	// Image is a digest, and ImageBy who told it.
	Image   string `json:"image,omitempty"`
	ImageBy string `json:"image_by,omitempty"`
	// Versions are what the engine's own environment says of its image.
	Versions []Version `json:"versions,omitempty"`
}

// Host is the machine that infbench ran on. The zero Host was not looked at.
type Host struct{ parts *HostParts }

var (
	architecture = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,23}$`)
	imageDigest  = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

// Bounds on what a machine has.
const maxKinds, maxVersions, maxFlags, maxMany = 16, 32, 64, 4096

// NewHost returns the host of the parts.
func NewHost(p HostParts) (Host, error) {
	switch {
	case p.Target != Here && p.Target != Elsewhere && p.Target != Unclear && p.Target != NoTarget:
		return Host{}, fmt.Errorf("%.20q is no place of a target", p.Target)
	case p.Memory.Model != Separate && p.Memory.Model != Unified && p.Memory.Model != UnknownModel:
		return Host{}, fmt.Errorf("%.20q is no memory model", p.Memory.Model)
	case !architecture.MatchString(p.CPU.Arch):
		return Host{}, errors.New("a host has a processor with an architecture")
	case p.CPU.Cores < 0 || p.CPU.Cores > 1<<20 || p.Memory.TotalBytes < 0:
		return Host{}, errors.New("cores and memory are counted from 0")
	case len(p.Accelerators) > maxKinds || len(p.Versions) > maxVersions || len(p.Engine.Versions) > maxVersions || len(p.CPU.Flags) > maxFlags:
		return Host{}, errors.New("more accelerators, versions or flags than a machine has")
	case p.Engine.Image != "" && !imageDigest.MatchString(p.Engine.Image):
		return Host{}, errors.New("an image is named by its digest, sha256: and 64 hex digits")
	}
	out := HostParts{
		Target: p.Target, TargetBy: gates.Printable(p.TargetBy, 120), AcceleratorsBy: gates.Printable(p.AcceleratorsBy, 80), OS: gates.Printable(p.OS, 80),
		Kernel: gates.Printable(p.Kernel, 80), Container: gates.Printable(p.Container, 40), Accelerators: []Accelerator{}, Versions: versions(p.Versions),
		CPU:    HostCPU{Model: gates.Printable(p.CPU.Model, 80), Arch: p.CPU.Arch, Cores: p.CPU.Cores, Level: gates.Printable(p.CPU.Level, 20)},
		Memory: HostMemory{p.Memory.TotalBytes, p.Memory.Model, gates.Printable(p.Memory.ModelBy, 120)},
		Engine: HostedBy{gates.Printable(p.Engine.Container, 40), p.Engine.Image, gates.Printable(p.Engine.ImageBy, 80), versions(p.Engine.Versions)},
	}
	for _, f := range p.CPU.Flags {
		out.CPU.Flags = append(out.CPU.Flags, gates.Printable(f, 24))
	}
	for _, a := range p.Accelerators {
		switch {
		case a.Count < 1 || a.Count > maxMany || a.MemoryBytes < 0 || a.Name == "":
			return Host{}, errors.New("an accelerator has a name, and there is at least one of it")
		case a.MemoryBytes > 0 && (a.Unified || p.Memory.Model == Unified):
			return Host{}, errors.New("where memory is unified an accelerator has none of its own")
		}
		a.Name, a.Arch = gates.Printable(a.Name, 80), gates.Printable(a.Arch, 20)
		out.Accelerators = append(out.Accelerators, a)
	}
	return Host{&out}, nil
}

func versions(list []Version) []Version {
	var out []Version
	for _, v := range list {
		out = append(out, Version{gates.Printable(v.Name, 40), gates.Printable(v.Version, 60)})
	}
	return out
}

// IsZero reports whether nobody looked at the host.
func (h Host) IsZero() bool { return h.parts == nil }

// Parts returns what the host is made of.
func (h Host) Parts() HostParts {
	if h.IsZero() {
		return HostParts{}
	}
	p := *h.parts
	p.CPU.Flags, p.Accelerators = slices.Clone(p.CPU.Flags), slices.Clone(p.Accelerators)
	p.Versions, p.Engine.Versions = slices.Clone(p.Versions), slices.Clone(p.Engine.Versions)
	return p
}

// String returns the host in one line.
func (h Host) String() string {
	if h.IsZero() {
		return "not looked at"
	}
	p := h.parts
	said := []string{p.CPU.Model}
	if p.CPU.Model == "" {
		said[0] = p.CPU.Arch
	}
	if p.CPU.Cores == 1 {
		said = append(said, "1 logical core")
	} else if p.CPU.Cores > 1 {
		said = append(said, fmt.Sprintf("%d logical cores", p.CPU.Cores))
	}
	if p.Memory.TotalBytes > 0 {
		size := gibibytes(p.Memory.TotalBytes)
		if p.Memory.Model == Unified {
			size += " unified"
		}
		said = append(said, size)
	}
	if p.OS != "" && !strings.HasPrefix(p.Kernel, p.OS) {
		said = append(said, p.OS)
	}
	if p.Kernel != "" {
		said = append(said, p.Kernel)
	}
	kinds := []string{"no accelerator seen"}
	if len(p.Accelerators) > 0 {
		kinds = nil
	}
	for _, a := range p.Accelerators {
		kinds = append(kinds, a.String())
	}
	return strings.Join(said, ", ") + "; " + strings.Join(kinds, ", ")
}

// String returns the accelerator in words, such as "8 × NVIDIA H200 (sm_90, 140 GiB)".
func (a Accelerator) String() string {
	text := a.Name
	if a.Count > 1 {
		text = fmt.Sprintf("%d × %s", a.Count, a.Name)
	}
	var about []string
	if a.Arch != "" && a.Arch != a.Name {
		about = append(about, a.Arch)
	}
	if a.MemoryBytes > 0 {
		about = append(about, gibibytes(a.MemoryBytes))
	}
	if a.Partitioned {
		about = append(about, "partitioned")
	}
	if about == nil {
		return text
	}
	return text + " (" + strings.Join(about, ", ") + ")"
}

func gibibytes(n int64) string {
	const gib = 1 << 30
	if n < 10*gib {
		return fmt.Sprintf("%.1f GiB", float64(n)/gib)
	}
	return fmt.Sprintf("%.0f GiB", float64(n)/gib)
}

// MarshalJSON refuses the zero Host.
func (h Host) MarshalJSON() ([]byte, error) {
	if h.IsZero() {
		return nil, errors.New("a host that was not looked at does not marshal")
	}
	return json.Marshal(h.parts)
}

// UnmarshalJSON goes through [NewHost].
func (h *Host) UnmarshalJSON(b []byte) error {
	var p HostParts
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	out, err := NewHost(p)
	if err != nil {
		return err
	}
	*h = out
	return nil
}
