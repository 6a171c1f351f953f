package arch_test

import (
	"slices"
	"strings"
	"testing"

	"infbench/stages/hardware/arch"
)

func TestCPUOn(t *testing.T) {
	t.Parallel()
	old := arch.Processor("x86_64", strings.Fields("sse2 pni ssse3 sse4_1 sse4_2 popcnt cx16 lahf_lm avx hypervisor"))
	for target, want := range map[string]string{
		"x86_64": "", "x86_64+avx": "", "x86_64+avx+avx2+fma": "avx2 fma", "x86_64+x86-64-v2": "", "aarch64": "aarch64", "aarch64+sve": "aarch64",
		"x86_64+x86-64-v3": "abm avx2 bmi1 bmi2 f16c fma movbe xsave",
	} {
		c, err := arch.ParseCPU(target)
		if err != nil {
			t.Fatal(err)
		}
		reach := arch.Native
		if want != "" {
			reach = arch.None
		}
		if got := c.On(old); got != reach {
			t.Errorf("%s: got %s, want %s", target, got, reach)
		}
		if got := strings.Join(c.Missing(old), " "); got != want {
			t.Errorf("%s lacks %q, want %q", target, got, want)
		}
	}
	sm90, _ := arch.ParseDevice("sm_90")
	if got := arch.NewCPU("x86_64").On(sm90); got != arch.None {
		t.Errorf("a processor's code on sm_90: %s", got)
	}
	if got := (arch.CUDA{SM: 90, PTX: true}).On(old); got != arch.None {
		t.Errorf("PTX on a processor: %s", got)
	}
	for _, got := range []arch.Reach{arch.CPU{}.On(old), arch.CPU{}.On(arch.Device{}), arch.NewCPU("x86_64").On(arch.Device{}), arch.NewCPU("a b", "avx").On(arch.Device{})} {
		if got != arch.None {
			t.Errorf("nothing runs: %s", got)
		}
	}
}

func TestCPUIsComparable(t *testing.T) {
	t.Parallel()
	a, b := arch.NewCPU("amd64", "fma", "avx2", "fma"), arch.NewCPU("x86_64", "avx2", "fma")
	if a != b || a.String() != "x86_64+avx2+fma" {
		t.Errorf("%s and %s", a, b)
	}
	got := arch.Unique([]arch.CPU{a, b, arch.NewCPU("aarch64")})
	if len(got) != 2 || arch.Join(got) != "aarch64, x86_64+avx2+fma" {
		t.Errorf("got %s", arch.Join(got))
	}
	if d := arch.Processor("arm64", nil); d.String() != "aarch64" || d == (arch.Device{}) {
		t.Errorf("got %s", d)
	}
	if d := arch.Processor("", nil); d != (arch.Device{}) {
		t.Errorf("got %s", d)
	}
}

// The levels are those of the x86-64 psABI; the flags are of /proc/cpuinfo of three machines.
func TestLevel(t *testing.T) {
	t.Parallel()
	const epyc = "fpu sse sse2 pni ssse3 fma cx16 sse4_1 sse4_2 movbe popcnt xsave avx f16c lahf_lm abm bmi1 avx2 bmi2 avx512f avx512dq avx512cd avx512bw avx512vl avx512_bf16"
	for flags, want := range map[string]string{
		epyc: "x86-64-v4", strings.ReplaceAll(epyc, "avx512", "x"): "x86-64-v3", "fpu sse sse2 pni ssse3 cx16 sse4_1 sse4_2 popcnt lahf_lm": "x86-64-v2", "fpu sse sse2": "", "asimd sve": "",
		strings.ReplaceAll(epyc, " lahf_lm", ""): "",
	} {
		if got := arch.Level(strings.Fields(flags)); got != want {
			t.Errorf("%s: got %s, want %s", flags, got, want)
		}
	}
	if got := arch.Relevant(strings.Fields("vme avx2 lm nx avx2 amx_int8 constant_tsc")); !slices.Equal(got, []string{"amx_int8", "avx2"}) {
		t.Errorf("got %v", got)
	}
}

func FuzzParseCPU(f *testing.F) {
	for _, s := range []string{"x86_64", "x86_64+avx2+fma", "aarch64+sve", "x86_64+x86-64-v3", "+", "amd64+avx"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := arch.ParseCPU(s)
		if err != nil {
			return
		}
		if again, err := arch.ParseCPU(c.String()); err != nil || again != c {
			t.Fatalf("%q is %s, which is read as %s, %v", s, c, again, err)
		}
	})
}
