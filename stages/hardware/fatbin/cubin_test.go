package fatbin_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"infbench/stages/hardware/fatbin"
)

// module returns the header of a CUDA module.
func module(version byte, flags uint32) []byte {
	b := make([]byte, 64)
	copy(b, "\x7fELF\x02\x01\x01\x33")
	b[8] = version
	binary.LittleEndian.PutUint16(b[18:], 190)
	binary.LittleEndian.PutUint32(b[48:], flags)
	return b
}

// The flags are those of modules that cuobjdump 13.5 took out of bitsandbytes 0.50.2,
// cuBLASLt 12.9 and NCCL 2.32, the targets what it names them.
func TestCubin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		version byte
		flags   uint32
		want    string
	}{
		{7, 0x3c053c, "sm_60"},
		{7, 0x560556, "sm_86"},
		{7, 0x5a055a, "sm_90"},
		{7, 0x5a0d5a, "sm_90a"},
		{8, 0x6004b04, "sm_75"},
		{8, 0x6005a04, "sm_90"},
		{8, 0x6006402, "sm_100"},
		{8, 0x6007802, "sm_120"},
	} {
		got, err := fatbin.Cubin(module(c.version, c.flags))
		if err != nil || got.String() != c.want {
			t.Errorf("format %d, flags %#x: got %s, %v, want %s", c.version, c.flags, got, err, c.want)
		}
	}
	for name, b := range map[string][]byte{"short": module(7, 0x5a)[:51], "another machine": make([]byte, 64), "a later format": module(9, 0x5a5a), "no architecture": module(8, 0x5)} {
		if got, err := fatbin.Cubin(b); err == nil {
			t.Errorf("%s: got %s", name, got)
		}
	}
	if _, err := fatbin.Cubin(nil); !errors.Is(err, fatbin.ErrNotCubin) {
		t.Errorf("nothing: %v", err)
	}
}

func FuzzCubin(f *testing.F) {
	f.Add(module(7, 0x5a0d5a))
	f.Add(module(8, 0x6007802))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := fatbin.Cubin(b); err == nil && (got.SM < 10 || got.SM > 255) {
			t.Errorf("an architecture %d", got.SM)
		}
	})
}
