package arch_test

import (
	"errors"
	"testing"

	"infbench/stages/hardware/arch"
)

// The rules and their sources stand at Target.On. Every case of a kind stands beside
// one that differs in a single point.
func TestTargetOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		target, device string
		want           arch.Reach
	}{
		// Machine code: the same major, an equal or higher minor.
		{"sm_90", "9.0", arch.Native},
		{"sm_86", "8.9", arch.Compatible},
		{"sm_89", "8.6", arch.None},
		{"sm_80", "8.6", arch.Compatible},
		{"sm_80", "9.0", arch.None},
		{"sm_90", "8.0", arch.None},
		{"sm_120", "12.1", arch.Compatible},
		{"sm_121", "12.0", arch.None},
		{"sm_90", "10.0", arch.None},
		{"sm_100", "11.0", arch.None},
		{"sm_75", "7.5", arch.Native},
		{"sm_70", "7.5", arch.Compatible},
		// Not among Tegra devices and others.
		{"sm_86", "8.7", arch.None},
		{"sm_87", "8.9", arch.None},
		{"sm_87", "8.7", arch.Native},
		{"sm_100f", "10.1", arch.None},
		{"compute_80", "8.7", arch.ByPTX},
		// For one architecture alone.
		{"sm_90a", "9.0", arch.Native},
		{"sm_90a", "10.0", arch.None},
		{"sm_120a", "12.0", arch.Native},
		{"sm_120a", "12.1", arch.None},
		{"sm_100a", "10.3", arch.None},
		// For a family.
		{"sm_100f", "10.0", arch.Native},
		{"sm_100f", "10.3", arch.Compatible},
		{"sm_103f", "10.0", arch.None},
		{"sm_100f", "11.0", arch.None},
		{"sm_120f", "12.1", arch.Compatible},
		{"sm_100f", "12.0", arch.None},
		// PTX: upward.
		{"compute_80", "12.0", arch.ByPTX},
		{"compute_80", "8.0", arch.ByPTX},
		{"compute_90", "8.9", arch.None},
		{"compute_120", "12.1", arch.ByPTX},
		{"compute_90a", "9.0", arch.ByPTX},
		{"compute_90a", "10.0", arch.None},
		{"compute_90a", "12.0", arch.None},
		{"compute_100f", "10.3", arch.ByPTX},
		{"compute_100f", "12.0", arch.None},
		{"compute_103f", "10.0", arch.None},
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
}

// What is visibly nothing runs nowhere.
func TestZeroRunsNowhere(t *testing.T) {
	t.Parallel()
	d, _ := arch.ParseDevice("sm_90")
	for _, got := range []arch.Reach{
		arch.CUDA{}.On(d), arch.CUDA{}.On(arch.Device{}),
		arch.CUDA{SM: 90}.On(arch.Device{}), arch.CUDA{SM: 80, PTX: true}.On(arch.Device{}),
	} {
		if got != arch.None {
			t.Errorf("got %s, want none", got)
		}
	}
}

func TestParseTarget(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]arch.CUDA{
		"sm_90": {SM: 90}, "sm_90a": {SM: 90, Variant: "a"}, "sm_100f": {SM: 100, Variant: "f"},
		"compute_80": {SM: 80, PTX: true}, "compute_90a (PTX)": {SM: 90, Variant: "a", PTX: true},
	} {
		got, err := arch.ParseCUDA(s)
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", s, got, err, want)
		}
		if again, err := arch.ParseCUDA(got.String()); err != nil || again != got {
			t.Errorf("%s: written as %q, which is read as %+v, %v", s, got, again, err)
		}
	}
	for _, s := range []string{"", "sm_9", "sm_1000", "sm_090", "sm_90b", "SM_90", "sm_90 (PTX)", "gfx942", "sm_90\n", "lto_90"} {
		if got, err := arch.ParseCUDA(s); err == nil {
			t.Errorf("%q: got %s, want an error", s, got)
		}
	}
}

func TestParseDevice(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"sm_90": "sm_90", "9.0": "sm_90", " sm_90 x2 ": "sm_90", "9.0 x 8": "sm_90", "12.1": "sm_121", "SM90": "sm_90", "sm_90a": "sm_90",
		"NVIDIA H100 (sm_90)": "sm_90", "compute capability 8.9": "sm_89", "CC 8.9": "sm_89", "sm_90, sm_90": "sm_90", "7.5 ×4": "sm_75",
	} {
		if got, err := arch.ParseDevice(s); err != nil || got.String() != want {
			t.Errorf("%q: got %s, %v, want %s", s, got, err, want)
		}
	}
	for _, s := range []string{"", "cpu", "H101", "CUDA 12.4", "driver 550.54", "9", "90", "9.01", "asm_90", "sm_9", "9.0.1"} {
		if got, err := arch.ParseDevice(s); !errors.Is(err, arch.ErrNoDevice) {
			t.Errorf("%q: got %s, %v, want ErrNoDevice", s, got, err)
		}
	}
	if got, err := arch.ParseDevice("sm_80 and sm_90"); err == nil || errors.Is(err, arch.ErrNoDevice) {
		t.Errorf("two architectures: got %s, %v, want an error that names both", got, err)
	}
}
