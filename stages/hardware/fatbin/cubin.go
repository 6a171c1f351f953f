package fatbin

import (
	"encoding/binary"
	"errors"
	"fmt"

	"infbench/stages/hardware/arch"
)

// cubinHeader is what is read of a module's ELF header.
const cubinHeader = 52

const emCUDA = 190

// ErrNotCubin says that a file is no CUDA module.
var ErrNotCubin = errors.New("not a CUDA module")

// Cubin returns what a standalone module was compiled for; it wants the first 52 bytes of
// the file. Where the architecture stands depends on the version of the format: in the low
// byte of the flags up to CUDA 12's, in the second one since CUDA 13's, as the modules show
// that cuobjdump takes out of libraries of both. The newer form does not tell code for one
// architecture alone or for a family: such a module is taken as plain.
func Cubin(b []byte) (arch.CUDA, error) {
	const version, flags, accelerators = 8, 48, 0x800
	le := binary.LittleEndian
	if len(b) < cubinHeader || string(b[:4]) != "\x7fELF" || le.Uint16(b[18:]) != emCUDA {
		return arch.CUDA{}, ErrNotCubin
	}
	f := le.Uint32(b[flags:])
	t := arch.CUDA{SM: int(f & 0xff)}
	switch v := b[version]; {
	case v <= 7:
		if f&accelerators != 0 {
			t.Variant = arch.ArchSpecific
		}
	case v == 8:
		t.SM = int(f >> 8 & 0xff)
	default:
		return arch.CUDA{}, fmt.Errorf("a CUDA module of the format %d, at most 8 is known", v)
	}
	if t.SM < 10 {
		return arch.CUDA{}, fmt.Errorf("a CUDA module for architecture %d, which cannot be", t.SM)
	}
	return t, nil
}
