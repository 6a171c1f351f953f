package hardware

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
	"infbench/stages/hardware/arch"
	"infbench/stages/hardware/elf"
	"infbench/stages/hardware/fatbin"
)

var _ = checks.Add(gates.Check[Subject]{
	ID: "hardware/kernels",
	Doc: `every CUDA library that was named holds code that the device runs

Two images report the same versions and differ in compiled kernels; one of them dies on the new card, with "no kernel image is available
for execution on the device", or compiles for minutes at its first request. A running server cannot be asked which kernels it holds, so the
libraries themselves are read, without a device and without the vendor's tools: which architectures each was compiled for, those for one
architecture alone (sm_90a) and for a family (sm_100f) told apart, and PTX. Libraries without CUDA code are counted and otherwise ignored.
AMD code, archives and wheels are not read.`,
	Since:  "0.1.0",
	Cost:   50 * time.Millisecond,
	Modes:  []string{"NUM-01", "NUM-02", "NUM-06"},
	Faults: []string{"other-major", "arch-specific", "lower-minor", "damaged", "missing", "not-elf", "ptx-only", "jit-link"},
	Causes: []string{"the image was built for other devices", "code for one architecture alone, such as sm_90a, on another one", "a file cut short in transfer"},
	Next:   []string{"infbench stage1 --kernels PATH --device sm_90", "cuobjdump --list-elf --list-ptx LIBRARY, and compare"},
	Run:    kernels,
})

// kernelsUsage is the command that answers the question when it was not asked in full.
const kernelsUsage = "infbench stage1 --kernels PATH --device sm_90"

func kernels(ctx context.Context, s Subject) (gates.Finding, error) {
	// Without a server there is nobody to say that the engine has no kernels; whoever
	// names libraries means that it has.
	server := s.Endpoint != (endpoint.Endpoint{})
	if server {
		if why := s.Unable(endpoint.Kernels); why != "" {
			return gates.NotApply("%s", why), nil
		}
	}
	if len(s.Kernels) == 0 {
		return gates.Skip("no kernels named: the engine's libraries have to be read where they are").Then(kernelsUsage), nil
	}
	inv, err := readKernels(ctx, s.Kernels)
	if err != nil {
		return gates.Finding{}, err
	}
	named := s.Device
	if named == "" && server {
		named = s.Build().Device
	}
	device, err := arch.ParseDevice(named)
	switch {
	case len(inv.damaged) == 0 && len(inv.libraries) == 0:
		return inv.list(gates.Skip("%s", inv.without()).Then(kernelsUsage)), nil
	case len(inv.damaged) == 0 && named == "":
		return inv.list(gates.Skip("%s read, and no device is known to compare with", inv.count()).Then(kernelsUsage)), nil
	case len(inv.damaged) == 0 && err != nil:
		return inv.list(gates.Skip("%s read, and the device %s names %v", inv.count(), gates.Quote(named, 60), err).Then(kernelsUsage)), nil
	}
	inv.judge(device)
	return inv.list(inv.verdict(device)), nil
}

// library is one file with CUDA code.
type library struct {
	name  string // base name: evidence holds no paths
	code  fatbin.Library
	reach arch.Reach
}

// inventory is what the named files hold.
type inventory struct {
	libraries []library
	damaged   []string // "name: why"
	plain     int      // libraries without CUDA code
	notELF    int      // files in folders that are called libraries and are none, such as linker scripts
	links     int      // links in folders, which are not followed
	judged    bool
}

// Bounds on what a folder may hold. A site-packages tree with two engines in it has
// 150,000 entries and 2,000 libraries.
const maxKernelEntries, maxKernelFiles = 2_000_000, 20_000

// readKernels reads the named files, and in named folders the files called *.so*.
func readKernels(ctx context.Context, paths []string) (*inventory, error) {
	inv := &inventory{}
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			inv.broken(path, err)
		case info.IsDir():
			if err := inv.folder(ctx, path); err != nil {
				return nil, err
			}
		default:
			inv.file(path, true)
		}
	}
	return inv, nil
}

// folder reads the libraries below a folder. Links inside are not followed: they lead
// to files that are read anyway, or out of the folder.
func (inv *inventory) folder(ctx context.Context, root string) error {
	entries, files := 0, 0
	// The root itself may be a link: it was named.
	top, err := filepath.EvalSymlinks(root)
	if err != nil {
		inv.broken(root, err)
		return nil
	}
	return filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if entries++; entries > maxKernelEntries || files > maxKernelFiles {
			return fmt.Errorf("more than %d entries or %d libraries below %s: name a narrower folder", maxKernelEntries, maxKernelFiles, filepath.Base(root))
		}
		if err != nil {
			inv.broken(path, err)
			return nil
		}
		match, _ := filepath.Match("*.so*", d.Name()) // the pattern is well formed
		switch {
		case !match:
		case d.Type()&fs.ModeSymlink != 0:
			inv.links++
		case d.Type().IsRegular():
			files++
			inv.file(path, false)
		}
		return nil
	})
}

// file reads one file. One that is no ELF file is a fault only when it was named.
func (inv *inventory) file(path string, named bool) {
	code, err := fatbin.Read(path)
	switch {
	case errors.Is(err, elf.ErrNotELF) && !named:
		inv.notELF++
	case err != nil:
		inv.broken(path, err)
	case !code.Holds():
		inv.plain++
	default:
		inv.libraries = append(inv.libraries, library{name: filepath.Base(path), code: code})
	}
}

func (inv *inventory) broken(path string, err error) {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err // without the path
	}
	inv.damaged = append(inv.damaged, fmt.Sprintf("%s: %v", filepath.Base(path), err))
}

// judge finds how each library reaches the device and puts the worst first. Nothing is
// judged when no device is known.
func (inv *inventory) judge(d arch.Device) {
	inv.judged = d != arch.Device{}
	for i := range inv.libraries {
		inv.libraries[i].reach = inv.libraries[i].code.On(d)
	}
	slices.SortStableFunc(inv.libraries, func(a, b library) int { return cmp.Compare(a.reach, b.reach) })
}

// verdict says what the judged inventory means for the device.
func (inv *inventory) verdict(d arch.Device) gates.Finding {
	var at [arch.Native + 1][]string
	for _, l := range inv.libraries {
		at[l.reach] = append(at[l.reach], fmt.Sprintf("%s (%s)", l.name, l.code))
	}
	none, slow := at[arch.None], slices.Concat(at[arch.ByLink], at[arch.ByPTX])
	var faults []string
	if n := len(inv.damaged); n > 0 {
		faults = append(faults, fmt.Sprintf("%s could not be read: %s", counted(n, "file", "files"), firstFew(inv.damaged)))
	}
	if inv.judged && len(none) > 0 {
		faults = append(faults, fmt.Sprintf("nothing in %d of %s runs on %s: %s", len(none), inv.count(), d, firstFew(none)))
	}
	switch {
	case len(faults) > 0:
		return gates.Fail("%s", strings.Join(faults, "; "))
	case len(slow) > 0:
		return gates.Warn("in %d of %s, %s finds only what the driver must compile or link first, a slow first start: %s",
			len(slow), inv.count(), d, firstFew(slow))
	}
	return gates.Pass("%s, and %s runs each: %d native, %d as machine code for an earlier device of its major",
		inv.count(), d, len(at[arch.Native]), len(at[arch.Compatible]))
}

// list adds the libraries to a finding, as many as evidence has lines for.
func (inv *inventory) list(f gates.Finding) gates.Finding {
	const room = 9
	for i, l := range inv.libraries {
		if i == room {
			f = f.With("… and %d more libraries", len(inv.libraries)-room)
			break
		}
		line := fmt.Sprintf("%s: %s", l.name, l.code)
		if inv.judged {
			line += " → " + l.reach.String()
		}
		if len(l.code.Targets) > 0 && len(l.code.Relocatable) > 0 {
			line += "; to be linked: " + arch.Join(l.code.Relocatable)
		}
		f = f.With("%s", line)
	}
	if n := inv.plain + inv.notELF + inv.links; n > 0 && len(inv.libraries) > 0 {
		f = f.With("ignored: %s without CUDA code, %s not ELF, %s", counted(inv.plain, "library", "libraries"), counted(inv.notELF, "file", "files"), counted(inv.links, "link", "links"))
	}
	return f
}

// count says how many libraries hold CUDA code.
func (inv *inventory) count() string {
	return counted(len(inv.libraries), "library", "libraries") + " with CUDA code"
}

// without says that nothing was found, and what was.
func (inv *inventory) without() string {
	if inv.plain+inv.notELF == 0 {
		return "no library is where the kernels were said to be"
	}
	return fmt.Sprintf("no CUDA code in %s and %s not ELF", counted(inv.plain, "library", "libraries"), counted(inv.notELF, "file", "files"))
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
