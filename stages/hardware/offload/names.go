package offload

import (
	"path"
	"regexp"
	"strings"

	"infbench/stages/hardware/arch"
)

// Kinds of libraries that keep their kernels in files of their own, of which the names
// say for which target each is.
const (
	RocBLAS     = "rocBLAS"
	HipBLASLt   = "hipBLASLt"
	HipSPARSELt = "hipSPARSELt"
	Tensile     = "Tensile"       // of one of those, and the path does not say of which
	MIOpen      = "MIOpen"        // compiled kernels, and what was found to be the fastest
	Archive     = "kpack archive" // the code that was taken out of a library
	CodeObject  = "code object"   // of anybody else
)

// ByName returns for which target a kernel file is, as its path says, and whose it is. A
// file that is the same for all devices is none of them.
//
//	rocblas/library/TensileLibrary_Type_HH_Contraction_l_Ailk_Bjlk_Cijk_Dijk_gfx942.co
//	rocblas/library/Kernels.so-000-gfx90a-xnack+.hsaco
//	hipblaslt/library/extop_gfx942.co
//	miopen/db/gfx942.kdb, gfx90a68.HIP.fdb.txt: the number of compute units follows
//	.kpack/torch_gfx1201.kpack
//	hsa/gfx950/fmha_fwd_bf16.co
func ByName(file string) (t arch.AMD, kind string, ok bool) {
	folder, base := path.Split(path.Clean(file))
	switch ext := extension(base); {
	case ext == ".kpack":
		kind = Archive
	case ext == ".co", ext == ".hsaco", ext == ".dat":
		kind = owner(folder, base)
		if kind == CodeObject && ext == ".dat" {
			return arch.AMD{}, "", false // anybody's data
		}
	case ext != "" && strings.HasPrefix(base, "gfx"):
		kind = MIOpen
	default:
		return arch.AMD{}, "", false
	}
	if i := strings.LastIndex(base, "gfx"); i >= 0 {
		t, ok = inName(base[i:], kind == MIOpen)
	}
	// Some sort them into folders instead.
	for folder = path.Clean(folder); !ok && kind != MIOpen && folder != "." && folder != "/"; folder = path.Dir(folder) {
		if name := path.Base(folder); strings.HasPrefix(name, "gfx") {
			t, ok = inName(name+".", false)
		}
	}
	if !ok {
		return arch.AMD{}, "", false
	}
	return t, kind, true
}

// extension returns the ending that makes a file a kernel file, "" for another.
func extension(base string) string {
	for _, ext := range []string{".kpack", ".co", ".hsaco", ".dat", ".kdb", ".db.txt", ".fdb.txt", ".pdb.txt", ".model"} {
		if strings.HasSuffix(base, ext) {
			return ext
		}
	}
	return ""
}

// owner tells the libraries that Tensile makes kernels for apart.
func owner(folder, base string) string {
	for _, name := range []string{RocBLAS, HipBLASLt, HipSPARSELt} {
		if strings.Contains("/"+folder, "/"+strings.ToLower(name)+"/") {
			return name
		}
	}
	switch {
	case strings.HasPrefix(base, "extop_"):
		return HipBLASLt
	case strings.HasPrefix(base, "TensileLibrary"), strings.HasPrefix(base, "Kernels.so-"):
		return Tensile
	}
	return CodeObject
}

var (
	generic = regexp.MustCompile(`^gfx[1-9][0-9]?(?:-[1-9][0-9]?)?-generic`)
	exact   = regexp.MustCompile(`^gfx[1-9][0-9]?[0-9a-f]{2}`)
	feature = regexp.MustCompile(`^[-_:](sramecc|xnack)([+-])`)
	// MIOpen writes the number of compute units behind the processor: up to 64 in
	// decimals behind a line, more of them in hexadecimals.
	units = regexp.MustCompile(`^(?:_[0-9]{1,2}|[0-9a-f]{2,3})([._])`)
	ended = regexp.MustCompile(`^(?:[._-]|$)`)
)

// inName reads the target at the beginning of a part of a file's name.
func inName(s string, counted bool) (arch.AMD, bool) {
	for _, name := range candidates(s) {
		rest := s[len(name):]
		for m := feature.FindStringSubmatch(rest); m != nil; m = feature.FindStringSubmatch(rest) {
			name += ":" + m[1] + m[2]
			rest = rest[len(m[0]):]
		}
		if !ended.MatchString(rest) && (!counted || !units.MatchString(rest)) {
			continue
		}
		if t, err := arch.ParseAMD(name); err == nil {
			return t, true
		}
	}
	return arch.AMD{}, false
}

// candidates returns the processors that a text may begin with, the likeliest first. With
// the number of compute units gfx908 becomes gfx90878, so that known processors go before
// one that is merely of their form.
func candidates(s string) []string {
	if m := generic.FindString(s); m != "" {
		return []string{m}
	}
	var out []string
	for n := len("gfx1100"); n >= len("gfx900"); n-- {
		if len(s) >= n && known[s[:n]] {
			out = append(out, s[:n])
		}
	}
	if m := exact.FindString(s); m != "" {
		out = append(out, m)
	}
	return out
}

var known = func() map[string]bool {
	m := map[string]bool{}
	for _, name := range processors {
		m[name] = true
	}
	return m
}()
