package static

import (
	"math"
	"testing"
)

// The values are those of IEEE 754 (binary16) and of the OCP 8-bit specification.
func TestFloats(t *testing.T) {
	t.Parallel()
	for bits, want := range map[uint16]float64{
		0x3c00: 1, 0xc000: -2, 0x7bff: 65504, 0x0001: math.Ldexp(1, -24), 0x0400: math.Ldexp(1, -14), 0x7c00: math.Inf(1), 0xfc00: math.Inf(-1), 0: 0,
	} {
		if got := half(bits); got != want {
			t.Errorf("half %#04x is %v, want %v", bits, got, want)
		}
	}
	for b, want := range map[byte]float64{0x38: 1, 0xb8: -1, 0x7e: 448, 0x01: math.Ldexp(1, -9), 0x08: math.Ldexp(1, -6), 0: 0} {
		if got := e4m3(b); got != want {
			t.Errorf("E4M3 %#02x is %v, want %v", b, got, want)
		}
	}
	if !math.IsNaN(half(0x7e00)) || !math.IsNaN(e4m3(0x7f)) || !math.IsNaN(e4m3(0xff)) {
		t.Error("a NaN is a number")
	}
	if got := decode("BF16", []byte{0x80, 0x3f}); len(got) != 1 || got[0] != 1 {
		t.Errorf("BF16 0x3f80 is %v", got)
	}
	if got := decode("F8_E8M0", []byte{127, 128}); len(got) != 2 || got[0] != 1 || got[1] != 2 {
		t.Errorf("E8M0 is %v", got)
	}
}
