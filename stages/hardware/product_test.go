package hardware

import "testing"

func TestMemoryOf(t *testing.T) {
	t.Parallel()
	for device, want := range map[string]int64{
		"h200": 140 << 30, "H100 x2": 158 << 30, "NVIDIA H200 x8": 1120 << 30, "RTX 4090": 24 << 30, "NVIDIA GeForce RTX 5090": 32 << 30, "4090": 24 << 30,
		"mi300x": 192 << 30, "AMD Instinct MI300X": 192 << 30, "24GiB": 24 << 30, "80GB x4": 320e9, "h100x8": 632 << 30, "8xH100": 632 << 30, "4 x 24GiB": 96 << 30, "NVIDIA H100-SXM5-80GB x2": 158 << 30, "10MiB": 10 << 20, "1.5 TiB": 1536 << 30,
	} {
		m, err := MemoryOf(device)
		if err != nil || m.Total() != want {
			t.Errorf("%s has %d (%v), want %d", device, m.Total(), err, want)
		}
	}
	for _, device := range []string{"", "sm_90", "x4", "h200 x0", "-3GiB", "99999999999GiB", "GiB", "RTX 6000", "Orin", "RTX 4090 Laptop GPU"} {
		if m, err := MemoryOf(device); err == nil {
			t.Errorf("%q has %d bytes", device, m.Total())
		}
	}
}
