package hardware

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"infbench/stages/hardware/arch"
)

// A Memory is the memory of the devices that a checkpoint shall fit.
type Memory struct {
	// Name is what was asked for, such as "h200 x8".
	Name string
	// Each is what one device has, in bytes, as its management tool reports it.
	Each int64
	// Count is how many there are.
	Count int64
}

// Total returns the memory of all devices, in bytes.
func (m Memory) Total() int64 { return m.Each * m.Count }

const gib = 1 << 30

var memorySize = regexp.MustCompile(`^(\d{1,5}(?:\.\d+)?)\s*(m|mb|mib|g|gb|gib|t|tb|tib)$`)

// MemoryOf reads a product's name or a size, times a count: "h200 x8", "RTX 4090",
// "24GiB x2". The error says what is known.
func MemoryOf(device string) (Memory, error) {
	text, count := arch.SplitCount(strings.ToLower(device))
	m := Memory{Name: device, Count: int64(count)}
	if p := memorySize.FindStringSubmatch(text); p != nil {
		n, _ := strconv.ParseFloat(p[1], 64) // digits and a point
		unit := map[byte]float64{'m': gib / 1024, 'g': gib, 't': 1024 * gib}[p[2][0]]
		if len(p[2]) == 2 {
			unit = map[byte]float64{'m': 1e6, 'g': 1e9, 't': 1e12}[p[2][0]]
		}
		m.Each = int64(n * unit)
	} else {
		p, err := arch.ParseProduct(text)
		if err != nil && !errors.Is(err, arch.ErrNoProduct) {
			return Memory{}, fmt.Errorf("the memory of %.40q is not known: %w", device, err)
		}
		m.Each = int64(p.GiB * gib)
	}
	if m.Each <= 0 || m.Count <= 0 {
		return Memory{}, fmt.Errorf("the memory of %.40q is not known: give a size such as \"80GiB x4\", or a product such as h200 or rtx4090", device)
	}
	return m, nil
}
