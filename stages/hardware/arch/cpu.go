package arch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// CPU is what a library wants of a processor: its architecture, and the instruction sets that
// it needs beyond that. The zero CPU is none. It is comparable.
type CPU struct {
	arch  string // as the kernel's uname has it, such as x86_64
	needs string // sorted, joined by "+", named as in /proc/cpuinfo
}

// NewCPU returns a target. Instruction sets are named as in Linux's /proc/cpuinfo, such as
// avx2; a level such as x86-64-v3 stands for all of its own.
func NewCPU(architecture string, sets ...string) CPU {
	if architecture = machine(architecture); architecture == "" {
		return CPU{}
	}
	return CPU{arch: architecture, needs: strings.Join(known(sets), "+")}
}

type level struct {
	name string
	adds []string
}

// levels are the feature levels of the x86-64 psABI, "Micro-Architecture Levels", each with
// what it adds, in Linux's words: pni is SSE3, abm is LZCNT and xsave OSXSAVE. Level 1 is the
// architecture itself.
var levels = []level{
	{"x86-64-v2", []string{"cx16", "lahf_lm", "pni", "popcnt", "sse4_1", "sse4_2", "ssse3"}},
	{"x86-64-v3", []string{"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"}},
	{"x86-64-v4", []string{"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}},
}

// beyond are the instruction sets besides the levels that engines' kernels are compiled for.
var beyond = words("avx512vbmi avx512_vbmi2 avx512_vnni avx512_bf16 avx512_fp16 avx_vnni amx_tile amx_int8 amx_bf16 amx_fp16 " +
	"asimd fphp asimdhp asimddp i8mm bf16 svei8mm svebf16 sve sve2 sme sme2")

// setsOf returns the instruction sets that a name stands for.
func setsOf(name string) []string {
	if name == "x86-64" {
		return nil
	}
	i := slices.IndexFunc(levels, func(l level) bool { return l.name == name })
	if i < 0 {
		return []string{name}
	}
	var out []string
	for _, l := range levels[:i+1] {
		out = append(out, l.adds...)
	}
	return out
}

// known returns the sets with levels spelt out, sorted, each once.
func known(names []string) []string {
	var out []string
	for _, n := range names {
		if setWord.MatchString(n) {
			out = append(out, setsOf(n)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Relevant returns those of a processor's flags that a library may be compiled for, sorted.
func Relevant(flags []string) []string {
	var out []string
	for _, f := range flags {
		if beyond[f] || slices.ContainsFunc(levels, func(l level) bool { return slices.Contains(l.adds, f) }) {
			out = append(out, f)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Processor returns the device of a processor with the flags of its /proc/cpuinfo.
func Processor(architecture string, flags []string) Device {
	if architecture = machine(architecture); architecture == "" {
		return Device{}
	}
	return Device{cpu: strings.Join(append([]string{architecture}, Relevant(flags)...), "+")}
}

// machine is an architecture's name as uname has it; compilers and Go have other ones.
func machine(name string) string {
	switch name = strings.ToLower(name); name {
	case "amd64", "x86-64":
		return "x86_64"
	case "arm64":
		return "aarch64"
	}
	if !setWord.MatchString(name) {
		return ""
	}
	return name
}

var setWord = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,23}$`)

// Level returns the highest level of x86-64 that a processor with these flags has, "" where
// it has none or is another one.
func Level(flags []string) string {
	best := ""
	for _, l := range levels {
		if len(lacking(l.adds, flags)) > 0 {
			break
		}
		best = l.name
	}
	return best
}

func lacking(want, have []string) []string {
	return slices.DeleteFunc(slices.Clone(want), func(s string) bool { return slices.Contains(have, s) })
}

// ParseCPU reads what String writes.
func ParseCPU(s string) (CPU, error) {
	parts := strings.Split(s, "+")
	for _, p := range parts {
		if !setWord.MatchString(p) {
			return CPU{}, fmt.Errorf("%.60q is no processor such as x86_64+avx2+fma", s)
		}
	}
	if len(parts) > 64 {
		return CPU{}, fmt.Errorf("%d instruction sets are more than there are", len(parts))
	}
	return NewCPU(parts[0], parts[1:]...), nil
}

// String returns the architecture and what is needed, such as "x86_64+avx2+fma".
func (t CPU) String() string {
	switch {
	case t.arch == "":
		return "no processor"
	case t.needs == "":
		return t.arch
	}
	return t.arch + "+" + t.needs
}

// Vendor returns [VendorCPU].
func (CPU) Vendor() Vendor { return VendorCPU }

func (t CPU) rank() string { return "cpu " + t.String() }

// Architecture returns the architecture alone, such as "aarch64".
func (t CPU) Architecture() string { return t.arch }

// On returns Native where the processor has all that is needed. An instruction that it lacks
// ends the process with SIGILL: there is no other way onto it.
func (t CPU) On(d Device) Reach {
	if t.arch == "" || d.cpu == "" || len(t.Missing(d)) > 0 {
		return None
	}
	return Native
}

// Missing returns what the processor lacks: the architecture alone where it has another one.
func (t CPU) Missing(d Device) []string {
	have := strings.Split(d.cpu, "+")
	switch {
	case have[0] != t.arch:
		return []string{t.arch}
	case t.needs == "":
		return nil
	}
	return lacking(strings.Split(t.needs, "+"), have[1:])
}
