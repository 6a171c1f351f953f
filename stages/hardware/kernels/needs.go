package kernels

import (
	"path"
	"regexp"
	"slices"
)

// runtime is a library of an accelerator's runtime with the version that the loader goes by.
var runtime = regexp.MustCompile(`^(lib(?:cudart|cublas|cublasLt|cudnn|nvrtc|cufft|curand|cusolver|cusparse|nvJitLink|nccl|amdhip64|hipblas|hipblaslt|rocblas|MIOpen|rccl))\.so\.([0-9]+)$`)

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
	var out []Lack
	for _, l := range inv.Libraries {
		for _, need := range l.Needs {
			m := runtime.FindStringSubmatch(need)
			if m == nil || len(brought[m[1]]) == 0 || slices.Contains(brought[m[1]], need) {
				continue
			}
			i := slices.IndexFunc(out, func(k Lack) bool { return k.Soname == need })
			if i < 0 {
				has := slices.Clone(brought[m[1]])
				slices.Sort(has)
				i, out = len(out), append(out, Lack{Soname: need, Has: slices.Compact(has)})
			}
			out[i].By = append(out[i].By, l.Path)
		}
	}
	return out
}
