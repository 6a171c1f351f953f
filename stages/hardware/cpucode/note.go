package cpucode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"infbench/stages/hardware/elf"
)

// The note of GNU properties: "Linux Extensions to gABI", and for x86 the System V psABI of
// AMD64, "Program Property". In a 64-bit file notes and properties are aligned to 8 bytes.
const (
	noteSection   = ".note.gnu.property"
	propertyNote  = 5          // NT_GNU_PROPERTY_TYPE_0
	isaNeeded     = 0xc0008002 // GNU_PROPERTY_X86_ISA_1_NEEDED
	maxNote       = 1 << 16    // an ordinary one has 64 bytes
	noteHeader    = 12
	propertyAlign = 8
)

// isaLevels are the bits of the property, lowest first. The first is the architecture itself.
var isaLevels = []string{"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"}

// levelOf returns the highest level of x86-64 that a note says is needed, "" where it says
// nothing of it.
func levelOf(r io.ReaderAt, s elf.Section) (string, error) {
	if s.End-s.Off > maxNote {
		return "", fmt.Errorf("%s of %d bytes is larger than any", noteSection, s.End-s.Off)
	}
	b := make([]byte, s.End-s.Off)
	if _, err := r.ReadAt(b, s.Off); err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read %s: %w", noteSection, err)
	}
	var bits uint32
	for len(b) > 0 {
		if len(b) < noteHeader {
			return "", errCut
		}
		le := binary.LittleEndian
		nameSize, size, kind := uint64(le.Uint32(b)), uint64(le.Uint32(b[4:])), le.Uint32(b[8:])
		from := up(noteHeader + nameSize)
		end := from + size
		if end > uint64(len(b)) {
			return "", errCut
		}
		if string(b[noteHeader:noteHeader+nameSize]) == "GNU\x00" && kind == propertyNote {
			n, err := needed(b[from:end])
			if err != nil {
				return "", err
			}
			bits |= n
		}
		b = b[min(up(end), uint64(len(b))):]
	}
	level := ""
	for i, name := range isaLevels {
		if bits&(1<<i) != 0 {
			level = name
		}
	}
	return level, nil
}

var errCut = errors.New(noteSection + " is cut short")

// needed returns the bits of the property among the properties of a note.
func needed(b []byte) (uint32, error) {
	var bits uint32
	for len(b) > 0 {
		if len(b) < 8 {
			return 0, errCut
		}
		kind, size := binary.LittleEndian.Uint32(b), uint64(binary.LittleEndian.Uint32(b[4:]))
		if 8+size > uint64(len(b)) {
			return 0, errCut
		}
		if kind == isaNeeded {
			if size != 4 {
				return 0, fmt.Errorf("a property of %s has %d bytes, want 4", noteSection, size)
			}
			bits |= binary.LittleEndian.Uint32(b[8:])
		}
		b = b[min(up(8+size), uint64(len(b))):]
	}
	return bits, nil
}

// up is the next multiple of the alignment.
func up(n uint64) uint64 { return (n + propertyAlign - 1) &^ (propertyAlign - 1) }
