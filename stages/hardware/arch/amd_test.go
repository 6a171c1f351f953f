package arch_test

import (
	"errors"
	"testing"

	"infbench/stages/hardware/arch"
)

// Each rule with its source; every case stands beside one that differs in a single point.
func TestAMDOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		target, device string
		want           arch.Reach
	}{
		// A processor runs its own code alone: AMDGPUUsage, "Processors".
		{"gfx942", "gfx942", arch.Native},
		{"gfx90a", "gfx942", arch.None},
		{"gfx942", "gfx90a", arch.None},
		{"gfx942", "gfx950", arch.None},
		{"gfx1030", "gfx1031", arch.None},
		{"gfx1100", "gfx1101", arch.None},
		{"gfx900", "gfx906", arch.None},
		{"gfx1100", "gfx1201", arch.None},
		// A generic target: AMDGPUUsage, "AMDGPU Generic Processors".
		{"gfx9-generic", "gfx906", arch.Compatible},
		{"gfx9-generic", "gfx908", arch.None},
		{"gfx9-generic", "gfx90a", arch.None},
		{"gfx9-generic", "gfx942", arch.None},
		{"gfx9-4-generic", "gfx942", arch.Compatible},
		{"gfx9-4-generic", "gfx950", arch.Compatible},
		{"gfx9-4-generic", "gfx90a", arch.None},
		{"gfx10-1-generic", "gfx1012", arch.Compatible},
		{"gfx10-1-generic", "gfx1030", arch.None},
		{"gfx10-3-generic", "gfx1036", arch.Compatible},
		{"gfx10-3-generic", "gfx1010", arch.None},
		{"gfx11-generic", "gfx1151", arch.Compatible},
		{"gfx11-generic", "gfx1100", arch.Compatible},
		{"gfx11-generic", "gfx1201", arch.None},
		{"gfx12-generic", "gfx1201", arch.Compatible},
		{"gfx12-generic", "gfx1250", arch.None}, // it has a generic target of its own
		{"gfx12-5-generic", "gfx1250", arch.Compatible},
		{"gfx13-generic", "gfx1310", arch.None}, // a later one, not known yet
		// A stated feature: AMDGPUUsage, "Target Features": the process must have that
		// setting, code that names none runs with both.
		{"gfx90a:xnack+", "gfx90a:xnack+", arch.Native},
		{"gfx90a:xnack+", "gfx90a:xnack-", arch.None},
		{"gfx90a:xnack-", "gfx90a:xnack+", arch.None},
		{"gfx90a:xnack-", "gfx90a:sramecc+:xnack-", arch.Native},
		{"gfx90a", "gfx90a:xnack+", arch.Native},
		{"gfx90a", "gfx90a:sramecc+:xnack-", arch.Native},
		{"gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-", arch.Native},
		{"gfx90a:sramecc-:xnack-", "gfx90a:sramecc+:xnack-", arch.None},
		{"gfx90a:xnack+", "gfx942:xnack+", arch.None},
		{"gfx9-4-generic:xnack+", "gfx942:xnack+", arch.Compatible},
		{"gfx9-4-generic:xnack+", "gfx942:xnack-", arch.None},
		// A feature of the device that nobody stated: xnack is off by default (Linux,
		// amdgpu_gmc_noretry_set), but for the processors that it does not name.
		{"gfx90a:xnack+", "gfx90a", arch.None},
		{"gfx90a:xnack-", "gfx90a", arch.Native},
		{"gfx942:sramecc+:xnack+", "gfx942", arch.None},
		{"gfx9-4-generic:xnack+", "gfx942", arch.None},
		{"gfx900:xnack+", "gfx900", arch.None},
		{"gfx90c:xnack+", "gfx90c", arch.Native},
		{"gfx90c:xnack-", "gfx90c", arch.Native},
		{"gfx90c:xnack+", "gfx90c:xnack-", arch.None},
		// sramecc is the firmware's: either is let pass.
		{"gfx906:sramecc-", "gfx906", arch.Native},
		{"gfx906:sramecc+", "gfx906", arch.Native},
		{"gfx906:sramecc+", "gfx906:sramecc-", arch.None},
		// SPIR-V is compiled on loading, for any device of AMD.
		{"amdgcnspirv", "gfx1201", arch.ByPTX},
		{"amdgcnspirv", "sm_90", arch.None},
		// Neither vendor's code runs on the other's devices.
		{"gfx942", "sm_90", arch.None},
		{"sm_90", "gfx942", arch.None},
		{"compute_80", "gfx942", arch.None},
	} {
		target, err := arch.ParseTarget(c.target)
		if err != nil {
			t.Fatal(err)
		}
		d, err := arch.ParseDevice(c.device)
		if err != nil {
			t.Fatal(err)
		}
		if got := target.On(d); got != c.want {
			t.Errorf("%s on %s: got %s, want %s", target, c.device, got, c.want)
		}
	}
	if got := (arch.AMD{}).On(arch.Device{}); got != arch.None {
		t.Errorf("nothing on nothing: got %s, want none", got)
	}
}

func TestNeedsXNACK(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		target, device string
		want           bool
	}{
		{"gfx90a:xnack+", "gfx90a", true},
		{"gfx90a:xnack+", "gfx90a:sramecc+:xnack-", true},
		{"gfx90a:xnack+", "gfx90a:xnack+", false},
		{"gfx90a:xnack+", "gfx942", false},
		{"gfx90a:sramecc-:xnack+", "gfx90a:sramecc+", false},
		{"gfx90a", "gfx90a", false},
		{"gfx90a:xnack+", "sm_90", false},
	} {
		target, _ := arch.ParseAMD(c.target)
		d, _ := arch.ParseDevice(c.device)
		if got := target.NeedsXNACK(d); got != c.want {
			t.Errorf("%s on %s: got %v, want %v", c.target, c.device, got, c.want)
		}
	}
}

func TestParseAMD(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]arch.AMD{
		"gfx942": {Processor: "gfx942"}, "gfx90a:xnack+": {Processor: "gfx90a", XNACK: arch.On},
		"gfx90a:sramecc+:xnack-": {Processor: "gfx90a", SRAMECC: arch.On, XNACK: arch.Off},
		"gfx1100":                {Processor: "gfx1100"}, "gfx9-4-generic:xnack-": {Processor: "gfx9-4-generic", XNACK: arch.Off},
		"gfx11-generic": {Processor: "gfx11-generic"}, "amdgcnspirv": {Processor: arch.SPIRV},
	} {
		if got, err := arch.ParseAMD(s); err != nil || got != want || got.String() != s {
			t.Errorf("%s: got %+v, %v, want %+v", s, got, err, want)
		}
	}
	if got, err := arch.ParseAMD("gfx908:xnack+:sramecc-"); err != nil || got.String() != "gfx908:sramecc-:xnack+" {
		t.Errorf("features in another order: got %s, %v", got, err)
	}
	for _, s := range []string{
		"", "gfx", "gfx9", "gfx94", "gfx94201", "gfx9420g", "GFX942", "gfx942:", "gfx942:xnack", "gfx942:xnack+:xnack-", "gfx942:xnack+:xnack+",
		"gfx942:cumode+", "gfx942::xnack+", "gfx-generic", "gfx942-generic-", "sm_90", "gfx942\n", "gfx942 ", "amdgcnspirv64",
	} {
		if got, err := arch.ParseAMD(s); err == nil {
			t.Errorf("%q: got %s, want an error", s, got)
		}
	}
}

func TestParseAMDDevice(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"gfx942": "gfx942", "gfx942 x8": "gfx942", " GFX942 × 8 ": "gfx942", "gfx90a:sramecc+:xnack-": "gfx90a:sramecc+:xnack-",
		"gfx90a:xnack+ x4": "gfx90a:xnack+", "AMD Instinct MI300X (gfx942)": "gfx942", "AMD Radeon RX 7900 XTX (gfx1100), gfx1100": "gfx1100",
		"amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-": "gfx90a:sramecc+:xnack-", "gfx1150": "gfx1150", "gfx90c": "gfx90c",
	} {
		if got, err := arch.ParseDevice(s); err != nil || got.String() != want {
			t.Errorf("%q: got %s, %v, want %s", s, got, err, want)
		}
	}
	for _, s := range []string{"xgfx942", "AMD Instinct"} {
		if got, err := arch.ParseDevice(s); !errors.Is(err, arch.ErrNoDevice) {
			t.Errorf("%q: got %s, %v, want ErrNoDevice", s, got, err)
		}
	}
	for _, s := range []string{"gfx94", "gfx942:xnack", "gfx942x8", "gfx942 and gfx950", "gfx942 and sm_90", "gfx90a, gfx90a:xnack+", "gfx11-generic"} {
		if got, err := arch.ParseDevice(s); err == nil || errors.Is(err, arch.ErrNoDevice) {
			t.Errorf("%q: got %s, %v, want an error that says what is wrong", s, got, err)
		}
	}
}

func TestAMDOrder(t *testing.T) {
	t.Parallel()
	var ts []arch.AMD
	for _, s := range []string{"amdgcnspirv", "gfx1100", "gfx11-generic", "gfx90a:xnack+", "gfx942", "gfx9-4-generic", "gfx90a", "gfx942", "gfx908", "gfx10-3-generic"} {
		target, _ := arch.ParseAMD(s)
		ts = append(ts, target)
	}
	want := "gfx908, gfx90a, gfx90a:xnack+, gfx942, gfx1100, gfx9-4-generic, gfx10-3-generic, gfx11-generic, amdgcnspirv"
	if got := arch.Join(arch.Unique(ts)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Whatever is read as a target or a device is written so that it is read again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"gfx942", "gfx90a:sramecc+:xnack-", "gfx11-generic", "AMD Instinct MI300X (gfx942)", "sm_90a", "compute_80 (PTX)", "9.0 x8", "amdgcnspirv"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if target, err := arch.ParseTarget(s); err == nil {
			if again, err := arch.ParseTarget(target.String()); err != nil || again != target {
				t.Fatalf("%q is written as %q, which is read as %v, %v", s, target, again, err)
			}
		}
		d, err := arch.ParseDevice(s)
		if err != nil {
			if d != (arch.Device{}) {
				t.Fatalf("%q: %s and %v at once", s, d, err)
			}
			return
		}
		if again, err := arch.ParseDevice(d.String()); err != nil || again != d {
			t.Fatalf("%q is written as %q, which is read as %s, %v", s, d, again, err)
		}
	})
}
