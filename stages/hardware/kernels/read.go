package kernels

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"infbench/gates"
	"infbench/stages/hardware/arch"
	"infbench/stages/hardware/cpucode"
	"infbench/stages/hardware/elf"
	"infbench/stages/hardware/fatbin"
	"infbench/stages/hardware/offload"
	"infbench/stages/hardware/tree"
)

// Read takes stock of what is at a path: a library, a folder, a wheel, an image archive or
// layout. What cannot be read of it is part of the inventory; an error says that the reading
// was stopped.
func Read(ctx context.Context, name string, o tree.Options) (Inventory, error) {
	prefix := path.Base(strings.ReplaceAll(name, `\`, "/")) + "/" // a folder's own name may be what a pattern names
	var links []string
	o.CountLink = func(file string) bool {
		if isMark(prefix, file) && len(links) < maxMarks {
			links = append(links, gates.Printable(file, maxPath))
		}
		return isLibrary(path.Base(file))
	}
	found, report, err := tree.Read(ctx, name, o, func(f tree.File) (piece, bool, error) { return visit(prefix, f) })
	inv := Inventory{
		Marks: links,
		Name:  gates.Printable(path.Base(strings.ReplaceAll(name, `\`, "/")), 200), Kind: string(report.Kind), Platform: report.Platform,
		Digest: cmp.Or(report.Manifest, report.Config), Links: report.Links, Notes: report.Notes,
	}
	if ctx.Err() != nil {
		return Inventory{}, context.Cause(ctx)
	}
	if err != nil {
		inv.Damaged = append(inv.Damaged, Damaged{inv.Name, withoutPath(err, inv.Name)})
		return inv, nil
	}
	inv.take(found, report.Kind == tree.SingleFile)
	return inv, nil
}

// withoutPath takes the path off an error of the file system, and the name in front.
func withoutPath(err error, name string) string {
	return gates.Printable(strings.TrimPrefix(tree.WithoutPath(err).Error(), name+": "), 300)
}

// piece is what one file came to.
type piece struct {
	mark  bool
	code  bool // it was looked into
	plain bool // an ELF file without device code
	// elsewhere says that its code was taken out, into archives that lie beside it.
	elsewhere bool
	lib       Library
	group     string // of a folder of kernel files, which counts as one library
}

var errNotELF = errors.New("not an ELF file")

// isMark reports whether a path says that something is there, in the folder that was read.
func isMark(prefix, file string) bool { return marks(file) || marks(prefix+file) }

// visit looks into a file that may hold compiled code.
func visit(prefix string, f tree.File) (p piece, keep bool, err error) {
	name := f.Path()
	p.mark = isMark(prefix, name)
	if t, kind, ok := offload.ByName(name); ok {
		p.code, p.group, p.lib.Targets = true, folderOf(name, kind), []arch.Target{t}
		return p, true, nil
	}
	switch base := path.Base(name); {
	case isLibrary(base):
	case path.Ext(base) == ".cubin", path.Ext(base) == ".co", path.Ext(base) == ".hsaco":
	case path.Ext(base) == "" && f.Size() >= leastProgram:
	default:
		return p, p.mark, nil
	}
	p.code = true
	err = p.read(f)
	if errors.Is(err, errNotELF) && path.Ext(name) == "" {
		return piece{mark: p.mark}, p.mark, nil
	}
	return p, true, err
}

// leastProgram is the size from which a file without an extension is looked into: engines
// that hold their kernels in the program itself are large.
const leastProgram = 1 << 20

// isLibrary reports whether a file is called a shared library.
func isLibrary(base string) bool {
	ok, _ := path.Match("*.so*", base)
	return ok
}

// headOf is what a code object or a module tells in.
const headOf = 64

// A bundle's table lies in its first 256 KiB, compressed or not.
const bundleHead, bundleLimit = 256 << 10, 64 << 20

// read lists the device code of a file.
func (p *piece) read(f tree.File) error {
	at, seek := f.At()
	size := f.Size()
	var needs func() ([]string, error)
	if seek {
		needs = func() ([]string, error) { return elf.Needed(at, size) }
	} else {
		asked := elf.NewAsked(runtime.MatchString)
		kept, err := elf.Capture(io.TeeReader(f.Stream(), asked), size, fatbin.Watch(),
			elf.Keep(offload.Magic, bundleHead, bundleLimit, func([]byte) bool { return true }), elf.Keep(offload.CompressedMagic, bundleHead, bundleLimit, isBundle))
		if err != nil {
			return plainer(err)
		}
		at, needs = kept, func() ([]string, error) { return asked.Needed(), nil }
	}
	head := make([]byte, min(size, headOf))
	if n, err := at.ReadAt(head, 0); n < len(head) && err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if t, err := fatbin.Cubin(head); !errors.Is(err, fatbin.ErrNotCubin) {
		p.lib.Targets, p.group = []arch.Target{t}, folderOf(f.Path(), "modules")
		return err
	}
	if err := p.device(at, size); err != nil {
		return plainer(err)
	}
	if path.Ext(f.Path()) == ".co" || path.Ext(f.Path()) == ".hsaco" {
		p.group = folderOf(f.Path(), offload.CodeObject)
	}
	if !p.lib.Holds() && !p.elsewhere {
		return p.processor(f.Path(), at, size)
	}
	list, err := needs()
	p.lib.Needs = slices.DeleteFunc(list, func(n string) bool { return !runtime.MatchString(n) })
	return err
}

// isBundle reports whether what begins like a compressed bundle goes on like one: version
// and method are small numbers.
func isBundle(first []byte) bool {
	return len(first) >= 8 && first[4] >= 1 && first[4] <= 3 && first[5] == 0 && first[6] <= 1 && first[7] == 0
}

// device lists NVIDIA's code and AMD's.
func (p *piece) device(at io.ReaderAt, size int64) error {
	cuda, err := fatbin.ReadAt(at, size)
	notELF := errors.Is(err, elf.ErrNotELF) // a bundle by itself is none
	if err != nil && !notELF {
		return err
	}
	amd, err := offload.ReadAt(at, size)
	if err != nil && (notELF || !errors.Is(err, elf.ErrNotELF)) {
		return err
	}
	p.elsewhere = amd.Elsewhere
	for _, t := range cuda.Targets {
		p.lib.Targets = append(p.lib.Targets, t)
	}
	for _, t := range amd.Targets {
		p.lib.Targets = append(p.lib.Targets, t)
	}
	for _, o := range cuda.Objects() {
		var ts []arch.Target
		for _, t := range o {
			ts = append(ts, t)
		}
		p.lib.Objects = append(p.lib.Objects, ts)
	}
	return nil
}

// processor lists what a library without device code states that it needs of the processor.
func (p *piece) processor(name string, at io.ReaderAt, size int64) error {
	held, err := cpucode.ReadNamed(at, size, path.Base(name))
	if err != nil {
		return plainer(err)
	}
	// What any processor of the architecture has says nothing, and what the loader picks by
	// processor is never loaded on another.
	named := held.Family != ""
	p.plain = !held.Stated || !named && (held.Target == arch.NewCPU(held.Target.Architecture()) || !isLibrary(path.Base(name)) || picked(name))
	if !p.plain {
		p.lib.Targets = []arch.Target{held.Target}
	}
	return nil
}

// picked reports whether the loader looks into a folder on some processors alone.
func picked(name string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(part string) bool {
		return part == "glibc-hwcaps" || part == "haswell" || part == "avx512_1" || strings.HasPrefix(part, "x86-64-v")
	})
}

// plainer is the error of a file that is none of the kinds.
func plainer(err error) error {
	if errors.Is(err, elf.ErrNotELF) {
		return errNotELF
	}
	return err
}

// packages are the folders that Python's packages lie in.
var packages = []string{"site-packages", "dist-packages"}

// folderOf names the folder of kernel files that a file belongs to: its package, or the
// folder itself.
func folderOf(name, kind string) string {
	parts := strings.Split(path.Dir(name), "/")
	for i, part := range parts {
		if slices.Contains(packages, part) && i+1 < len(parts) {
			parts = parts[:i+2]
			break
		}
	}
	return strings.Join(parts, "/") + "/ (" + kind + ")"
}

// take sorts what was found. A file that is no ELF file is a fault where it was named, and
// where an engine cannot do without it.
func (inv *Inventory) take(found []tree.Found[piece], named bool) {
	for _, f := range found {
		if f.Value.mark {
			inv.Marks = append(inv.Marks, gates.Printable(f.Path, maxPath))
		}
	}
	engines := inv.Engines()
	role := func(file string) libraryRole {
		if len(engines) == 0 {
			return libraryRole{}
		}
		return roleOf(inv.full(file), engines)
	}
	groups := map[string]*Library{}
	for _, f := range found {
		shown, p := gates.Printable(f.Path, maxPath), f.Value
		switch {
		case errors.Is(f.Err, errNotELF) && !named && role(f.Path).Role != Required:
			inv.NotELF++
		case f.Err != nil:
			inv.Damaged = append(inv.Damaged, Damaged{shown, withoutPath(f.Err, shown)})
		case !p.code:
		case p.group != "" && !named:
			g := groups[p.group]
			if g == nil {
				g = &Library{Path: gates.Printable(p.group, maxPath)}
				groups[p.group] = g
			}
			g.Files++
			g.Targets = arch.Unique(append(g.Targets, p.lib.Targets...))
		case p.elsewhere && !p.lib.Holds():
			inv.Notes = append(inv.Notes, shown+": its code lies in .kpack archives beside it")
		case p.lib.Holds() || p.plain && role(f.Path).Holds:
			p.lib.Path, p.lib.Files = shown, 1
			p.lib.Targets = arch.Unique(p.lib.Targets)
			inv.Libraries = append(inv.Libraries, p.lib)
		default:
			inv.Plain++
		}
	}
	for _, g := range groups {
		inv.Libraries = append(inv.Libraries, *g)
	}
	inv.sorted()
}
