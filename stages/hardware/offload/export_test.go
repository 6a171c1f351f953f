package offload

import (
	"bytes"
	"math"

	"infbench/stages/hardware/arch"
	"infbench/stages/hardware/elf"
)

// Head reads the bundle, compressed or not, at the beginning of a window of bytes, which
// may end before the bundle does: 256 KiB hold the table of any. The length is that of the
// whole bundle, 0 where the bundle does not tell it, as compressed ones of version 1 do
// not. An error says that no bundle begins here, or a damaged one.
func Head(b []byte) (targets []arch.AMD, length int64, err error) {
	var d decoder
	h, err := d.bundle(bytes.NewReader(b), elf.Span{End: math.MaxInt64})
	if err != nil {
		return nil, 0, err
	}
	return arch.Unique(h.targets), h.length, nil
}

// Holds reports whether the library holds device code that could run anywhere.
func (l Library) Holds() bool { return len(l.Targets) > 0 }

// String lists what the library can run on.
func (l Library) String() string { return arch.Join(l.Targets) }

// On returns how the best of the code reaches the device.
func (l Library) On(d arch.Device) arch.Reach { return arch.Best(l.Targets, d) }
