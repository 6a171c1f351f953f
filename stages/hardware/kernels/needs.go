package kernels

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// runtime is a library of an accelerator's runtime with the version that the loader goes by.
var runtime = regexp.MustCompile(`^(lib(?:cudart|cublas|cublasLt|cudnn|nvrtc|cufft|curand|cusolver|cusparse|nvJitLink|nccl|amdhip64|hipblas|hipblaslt|rocblas|MIOpen|rccl))\.so(?:\.[0-9]+)+$`)

// A Lack is a runtime library that others ask for in one version and that is there in
// others alone.
type Lack struct {
	// Soname is what is asked for, By by which libraries, Has what is there.
	Soname  string
	By, Has []string
}

// Lacks returns the runtime libraries that are asked for and are there in other versions
// alone. One that is there in no version comes from elsewhere, and nothing is said of it.
func (inv Inventory) Lacks() []Lack {
	brought := map[string][]string{} // by name without the version
	for _, file := range inv.Marks {
		if m := runtime.FindStringSubmatch(path.Base(file)); m != nil {
			brought[m[1]] = append(brought[m[1]], m[0])
		}
	}
	type lacking struct {
		Library
		group string
		needs []string
	}
	var lack []lacking
	sound := map[string]bool{} // groups of which one library finds what it asks for
	for _, l := range inv.Libraries {
		x := lacking{Library: l, group: roleOf(inv.full(l.Path), inv.Engines()).Group}
		for _, need := range l.Needs {
			if m := runtime.FindStringSubmatch(need); m != nil && len(brought[m[1]]) > 0 && !has(brought[m[1]], need) {
				x.needs = append(x.needs, need)
			}
		}
		if len(x.needs) == 0 {
			sound[x.group] = true
			continue
		}
		lack = append(lack, x)
	}
	var out []Lack
	for _, l := range lack {
		if l.group != "" && sound[l.group] {
			continue // it is there for another version of the runtime
		}
		for _, need := range l.needs {
			i := slices.IndexFunc(out, func(k Lack) bool { return k.Soname == need })
			if i < 0 {
				there := slices.Clone(brought[runtime.FindStringSubmatch(need)[1]])
				slices.Sort(there)
				i, out = len(out), append(out, Lack{Soname: need, Has: slices.Compact(there)})
			}
			out[i].By = append(out[i].By, l.Path)
		}
	}
	return out
}

// has reports whether a library is there under the name, or under a longer one to which a
// link would lead.
func has(list []string, name string) bool {
	return slices.ContainsFunc(list, func(f string) bool { return f == name || strings.HasPrefix(f, name+".") })
}
