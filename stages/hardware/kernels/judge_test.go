package kernels

import (
	"slices"
	"strings"
	"testing"

	"infbench/stages/hardware/arch"
)

func lib(t *testing.T, path, targets string) Library {
	t.Helper()
	l := Library{Path: path}
	for w := range strings.FieldsSeq(targets) {
		target, err := arch.ParseTarget(w)
		if err != nil {
			t.Fatal(err)
		}
		l.Targets = append(l.Targets, target)
	}
	return l
}

// vllm is the layout of a CUDA wheel of vLLM beside PyTorch, cut short.
func vllm(t *testing.T, own string) Inventory {
	return Inventory{
		Marks: []string{"site-packages/vllm/_C.abi3.so"},
		Libraries: []Library{
			lib(t, "site-packages/vllm/_C.abi3.so", own),
			lib(t, "site-packages/vllm/vllm_flash_attn/_vllm_fa3_C.abi3.so", "sm_80 sm_90a"),
			lib(t, "site-packages/torch/lib/libtorch_cuda.so", "sm_80 sm_86 sm_90 sm_100 sm_120"),
			lib(t, "site-packages/somebody/fast.so", "sm_90"),
		},
	}
}

// The same libraries mean different things on different devices, and a library means what
// the engine makes of it.
func TestJudgement(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		own, device         string
		fails, lacks, slows string
	}{
		"all run":                  {"sm_80 sm_90", "sm_90", "", "", ""},
		"an image too old":         {"sm_80 sm_90", "sm_120", "_C.abi3.so", "fast.so _vllm_fa3_C.abi3.so", ""},
		"saved by PTX":             {"sm_80 compute_90", "sm_120", "", "fast.so _vllm_fa3_C.abi3.so", "_C.abi3.so"},
		"an optional backend away": {"sm_80", "sm_86", "", "fast.so", ""},
	} {
		d, err := arch.ParseDevice(c.device)
		if err != nil {
			t.Fatal(err)
		}
		j := vllm(t, c.own).On(d)
		for kind, want := range map[string]string{"fails": c.fails, "lacks": c.lacks, "slow": c.slows} {
			f := map[string]func(Row) bool{"fails": Row.Fails, "lacks": Row.Lacks, "slow": Row.Slow}[kind]
			var got []string
			for _, r := range j.Of(f) {
				got = append(got, r.Path[strings.LastIndex(r.Path, "/")+1:])
			}
			slices.Sort(got)
			wants := strings.Fields(want)
			slices.Sort(wants)
			if !slices.Equal(got, wants) {
				t.Errorf("%s: %s: got %v, want %v", name, kind, got, wants)
			}
		}
	}
}

// Of a group one that runs is enough; where none does, all fail.
func TestOneOfAGroup(t *testing.T) {
	t.Parallel()
	inv := Inventory{
		Marks: []string{"sgl_kernel/sm90/common_ops.abi3.so"},
		Libraries: []Library{
			lib(t, "sgl_kernel/sm90/common_ops.abi3.so", "sm_90a"),
			lib(t, "sgl_kernel/sm100/common_ops.abi3.so", "sm_80 sm_89 sm_90 sm_100a sm_120a"),
		},
	}
	for device, want := range map[string]int{"sm_90": 0, "sm_89": 0, "sm_120": 0, "sm_121": 2, "sm_75": 2} {
		d, err := arch.ParseDevice(device)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(inv.On(d).Of(Row.Fails)); got != want {
			t.Errorf("%s: %d fail, want %d", device, got, want)
		}
	}
}

// Without an engine every library that was named is required.
func TestNamedLibrariesAreRequired(t *testing.T) {
	t.Parallel()
	inv := Inventory{Libraries: []Library{lib(t, "fast.so", "sm_80")}}
	d, _ := arch.ParseDevice("sm_90")
	if j := inv.On(d); len(j.Of(Row.Fails)) != 1 {
		t.Errorf("got %+v", j.Rows)
	}
}

// A runtime library of another version than the one that is there is what an import dies of;
// one that is nowhere is the system's.
func TestLacks(t *testing.T) {
	t.Parallel()
	a, b := lib(t, "vllm/_C.abi3.so", "sm_90"), lib(t, "torch/lib/libtorch_cuda.so", "sm_90")
	a.Needs, b.Needs = []string{"libcudart.so.13", "libnccl.so.2", "libc.so.6"}, []string{"libcudart.so.12", "libcublas.so.12"}
	inv := Inventory{Libraries: []Library{a, b}, Marks: []string{"nvidia/cuda_runtime/lib/libcudart.so.12", "nvidia/cublas/lib/libcublas.so.12"}}
	got := inv.Lacks()
	if len(got) != 1 || got[0].Soname != "libcudart.so.13" || !slices.Equal(got[0].By, []string{a.Path}) || !slices.Equal(got[0].Has, []string{"libcudart.so.12"}) {
		t.Errorf("got %+v", got)
	}
}

// Who compiles on first use, and what is missing for it.
func TestCompilers(t *testing.T) {
	t.Parallel()
	inv := Inventory{Marks: []string{"usr/lib/dist-packages/triton/__init__.py", "usr/lib/dist-packages/triton/backends/nvidia/bin/ptxas", "usr/lib/dist-packages/bitsandbytes/backends/flashinfer/jit/__init__.py"}}
	got := inv.Compilers(arch.VendorNVIDIA)
	if len(got) != 1 || got[0].Name != "triton" || !slices.Equal(got[0].Missing, []string{"a C compiler"}) || got[0].Spared {
		t.Errorf("got %+v", got)
	}
	inv.Marks = append(inv.Marks, "usr/bin/gcc", "x/site-packages/flashinfer/jit/__init__.py", "x/flashinfer_jit_cache/__init__.py")
	got = inv.Compilers(arch.VendorNVIDIA)
	if len(got) != 2 || len(got[0].Missing) != 0 || !got[1].Spared || !slices.Equal(got[1].Missing, []string{"nvcc", "ninja", "a C++ compiler"}) {
		t.Errorf("got %+v", got)
	}
}

// The table of roles refuses what would judge by accident.
func TestRolesAreWhole(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[[common.library]]\nmatch=[\"a\"]\nrole=\"needed\"\nwhy=\"x\"":                  "is no role",
		"[[common.library]]\nmatch=[\"a\"]\nrole=\"one of\"\nwhy=\"x\"":                  "a group",
		"[[common.library]]\nmatch=[\"a\"]\nrole=\"required\"":                           "a reason",
		"[[common.library]]\nmatch=[\"a\"]\nrole=\"required\"\nwhy=\"x\"\nbecause=\"y\"": "unknown key",
		"[[engine]]\nname=\"x\"\n[[engine.library]]\nrole=\"required\"\nwhy=\"x\"":       "a pattern",
	} {
		if _, err := parseRoles(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
