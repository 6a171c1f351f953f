package hardware

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
	"infbench/stages/hardware/arch"
	"infbench/stages/hardware/kernels"
)

var _ = checks.Add(gates.Check[Subject]{
	ID: "hardware/kernels",
	Doc: `what was compiled for the engine runs on the device

Two images report the same versions and differ in compiled kernels; one of them dies on the new card, with "no kernel image is available
for execution on the device", or compiles for minutes at its first request. A running server cannot be asked which kernels it holds, so the
libraries themselves are read, in a folder, a wheel or an image, without a device and without the vendor's tools: which architectures each
was compiled for, those for one architecture alone (sm_90a) and for a family (sm_100f) told apart, and PTX. A library that the engine cannot
do without fails, a backend that it can do without warns, and of several that stand for one another one that runs is enough.`,
	Since:  "0.1.0",
	Cost:   50 * time.Millisecond,
	Modes:  []string{"NUM-01", "NUM-02", "NUM-06"},
	Faults: []string{"other-major", "arch-specific", "lower-minor", "damaged", "missing", "not-elf", "ptx-only", "jit-link", "other-vendor", "inside-the-package", "built-for-the-processor", "static-program", "empty-library", "flash-attention", "xnack", "optional-backend", "no-variant"},
	Causes: []string{"the image was built for other devices", "code for one architecture alone, such as sm_90a, on another one", "a file cut short in transfer"},
	Next:   []string{"infbench stage1 --kernels PATH --device sm_90 --all", "cuobjdump --list-elf --list-ptx LIBRARY, and compare"},
	Run:    runKernels,
})

// kernelsUsage is the command that answers the question when it was not asked in full.
const kernelsUsage = "infbench stage1 --kernels PATH --device sm_90"

// noKernels returns why nothing is said about kernels, ok where something is. The check of
// kernels is the one that is skipped where a server has some and nobody named them.
func (s Subject) noKernels() (f gates.Finding, ok bool) {
	// Without a server there is nobody to say that the engine has no kernels; whoever
	// names libraries means that it has.
	if s.served() {
		if why := s.Unable(endpoint.Kernels); why != "" {
			return gates.NotApply("%s", why), false
		}
	}
	if len(s.Kernels) == 0 {
		return gates.NotApply("no kernels named (--kernels PATH)"), false
	}
	return gates.Finding{}, true
}

// served reports whether there is a server.
func (s Subject) served() bool { return s.Endpoint != (endpoint.Endpoint{}) }

// On returns the device that the kernels shall run on: the one that was named, or the one
// that the engine tells. An error says that the text names none that is known.
func (s Subject) On() (d arch.Device, named string, err error) {
	if named = s.Device; named == "" && s.served() {
		named = s.Build().Device
	}
	d, err = arch.ParseDevice(named)
	return d, named, err
}

func runKernels(_ context.Context, s Subject) (gates.Finding, error) {
	f, ok := s.noKernels()
	switch {
	case !ok && s.served() && s.Unable(endpoint.Kernels) == "":
		return gates.Skip("no kernels named: the engine's libraries have to be read where they are").Then(kernelsUsage), nil
	case !ok:
		return f, nil
	}
	inv := kernels.Join(s.Kernels...)
	d, named, err := s.On()
	j := inv.On(d)
	switch {
	case len(inv.Damaged) > 0:
	case strings.EqualFold(named, "cpu"):
		return gates.NotApply("on the processor none of it is needed: %s", count(j)), nil
	case len(j.Rows) == 0:
		return gates.Skip("%s", without(inv)).Then(kernelsUsage), nil
	case named == "":
		return list(gates.Skip("%s read, and no device is known to compare with", count(j)).Then(kernelsUsage), j, inv), nil
	case err != nil:
		return list(gates.Skip("%s read, and the device %s is none that is known: %v", count(j), gates.Quote(named, 60), err).Then(kernelsUsage), j, inv), nil
	}
	return list(judge(j, inv), j, inv), nil
}

// judge says what the judged inventory means for the device.
func judge(j kernels.Judgement, inv kernels.Inventory) gates.Finding {
	var faults, notes []string
	if n := len(inv.Damaged); n > 0 {
		faults = append(faults, fmt.Sprintf("%s could not be read: %s", counted(n, "file", "files"), firstFew(phrases(inv.Damaged))))
	}
	known := j.Device != arch.Device{}
	fails, lacks, slow := j.Of(kernels.Row.Fails), j.Of(kernels.Row.Lacks), j.Of(kernels.Row.Slow)
	switch {
	case !known:
	case j.Foreign():
		faults = append(faults, fmt.Sprintf("all of %s were compiled for another vendor's devices, nothing for %s: %s", count(j), j.Device, firstFew(phrases(j.Rows))))
	case len(fails) > 0:
		faults = append(faults, fmt.Sprintf("nothing in %d of %s runs on %s: %s", len(fails), count(j), j.Device, firstFew(phrases(fails))))
	}
	if len(faults) > 0 {
		return gates.Fail("%s", strings.Join(faults, "; "))
	}
	if len(slow) > 0 {
		notes = append(notes, fmt.Sprintf("in %d of %s, %s finds only what the driver must compile or link first, a slow first start: %s", len(slow), count(j), j.Device, firstFew(phrases(slow))))
	}
	if len(lacks) > 0 {
		notes = append(notes, fmt.Sprintf("nothing in %d of %s runs on %s, and none is known to be needed: %s", len(lacks), count(j), j.Device, firstFew(phrases(lacks))))
	}
	if len(notes) > 0 {
		return gates.Warn("%s", strings.Join(notes, "; "))
	}
	at := func(r arch.Reach) int {
		return len(j.Of(func(row kernels.Row) bool { return row.Reach == r && !row.Foreign }))
	}
	return gates.Pass("%s, and %s runs what it needs: %d native, %d made for another device that it is compatible with", count(j), j.Device, at(arch.Native), at(arch.Compatible))
}

// list adds the libraries to a finding, as many as evidence has lines for.
func list(f gates.Finding, j kernels.Judgement, inv kernels.Inventory) gates.Finding {
	const room = 8
	for i, r := range j.Rows {
		if i == room {
			f = f.With("… and %d more libraries", len(j.Rows)-room)
			break
		}
		f = f.With("%s", line(r, j.Device))
	}
	if engines := inv.Engines(); len(engines) > 0 {
		f = f.With("engine found beside them: %s", strings.Join(engines, ", "))
	}
	if n := inv.Plain + inv.NotELF + inv.Links; n > 0 && len(j.Rows) > 0 {
		f = f.With("ignored: %s without device code, %s not ELF, %s", counted(inv.Plain, "library", "libraries"), counted(inv.NotELF, "file", "files"), counted(inv.Links, "link", "links"))
	}
	return f
}

// line describes a library on the device.
func line(r kernels.Row, d arch.Device) string {
	out := r.Path + ": " + r.Library.String()
	switch {
	case d == arch.Device{}:
	case r.Foreign:
		out += " → not for this vendor"
	case r.Role == kernels.NotJudged:
		out += " → not judged: " + r.Why
	case r.Served:
		out += fmt.Sprintf(" → %s; another of %s runs", r.Reach, r.Group)
	default:
		out += " → " + r.Reach.String()
	}
	if r.Reach == arch.None && slices.ContainsFunc(r.Targets, func(t arch.Target) bool { a, ok := t.(arch.AMD); return ok && a.NeedsXNACK(d) }) {
		out += "; it runs where HSA_XNACK=1 turns page faults on"
	}
	if r.Why != "" && (r.Fails() || r.Lacks() || r.Slow()) && d != (arch.Device{}) {
		out += " (" + r.Why + ")"
	}
	if len(r.Targets) > 0 && len(r.Objects) > 0 {
		out += "; to be linked: " + arch.Join(r.Relocatable())
	}
	return out
}

// phrases describes each in a few words.
func phrases[T any](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		switch v := any(v).(type) {
		case kernels.Row:
			out[i] = fmt.Sprintf("%s (%s)", v.Path, v.Library)
		case fmt.Stringer:
			out[i] = v.String()
		}
	}
	return out
}

// count says how many libraries hold device code.
func count(j kernels.Judgement) string {
	return counted(len(j.Rows), "library", "libraries") + " with device code"
}

// without says that nothing was found, and what was.
func without(inv kernels.Inventory) string {
	if inv.Plain+inv.NotELF == 0 {
		return "no library is where the kernels were said to be"
	}
	return fmt.Sprintf("no device code in %s and %s not ELF", counted(inv.Plain, "library", "libraries"), counted(inv.NotELF, "file", "files"))
}

// firstFew returns the first few of a list in one line.
func firstFew(list []string) string {
	const few = 3
	if len(list) <= few {
		return strings.Join(list, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(list[:few], "; "), len(list)-few)
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
