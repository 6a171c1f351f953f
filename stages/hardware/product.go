package hardware

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
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

// productMemory is the memory of products in GiB, as their management tools report it
// rounded down: a part of what the box says is kept for error correction.
var productMemory = map[string]float64{
	"v100": 32, "t4": 15, "a10": 22, "a10g": 22, "a16": 15, "a30": 24, "a40": 45, "a100": 80, "a100-40gb": 40, "a100-80gb": 80, "a800": 80,
	"l4": 22, "l40": 45, "l40s": 45, "h20": 95, "h100": 79, "h100-sxm": 79, "h100-sxm5-80gb": 79, "h100-80gb-hbm3": 79, "h100-pcie": 79, "h100-nvl": 93, "h800": 79, "h200": 140, "gh200": 95, "b200": 178, "gb200": 184, "b300": 268, "gb300": 277,
	"rtx3090": 24, "rtx4090": 24, "rtx5090": 32, "rtx6000-ada": 48, "a6000": 48, "rtx-pro-6000": 95, "gb10": 119,
	"mi210": 64, "mi250": 64, "mi250x": 64, "mi300x": 192, "mi308x": 192, "mi325x": 256, "mi350x": 288, "mi355x": 288, "w7900": 48, "7900xtx": 24,
}

var (
	manyDevices = regexp.MustCompile(`^(.*[^\sx×])\s*[x×]\s*(\d{1,4})$`)
	manyOf      = regexp.MustCompile(`^(\d{1,4})\s*[x×]\s*(.+)$`)
	memorySize  = regexp.MustCompile(`^(\d{1,5}(?:\.\d+)?)\s*(m|mb|mib|g|gb|gib|t|tb|tib)$`)
	separators  = strings.NewReplacer(" ", "", "-", "", "_", "", "nvidia", "", "geforce", "", "amd", "", "instinct", "", "radeon", "", "tesla", "")
)

// MemoryOf reads a product's name or a size, times a count: "h200 x8", "RTX 4090",
// "24GiB x2". The error says what is known.
func MemoryOf(device string) (Memory, error) {
	text := strings.ToLower(strings.TrimSpace(device))
	m := Memory{Name: device, Count: 1}
	if p := manyOf.FindStringSubmatch(text); p != nil {
		n, _ := strconv.ParseInt(p[1], 10, 64) // at most four digits
		text, m.Count = p[2], n
	} else if p := manyDevices.FindStringSubmatch(text); p != nil && named(text) == 0 { // "rtx 4090" is one
		n, _ := strconv.ParseInt(p[2], 10, 64)
		text, m.Count = p[1], n
	}
	if p := memorySize.FindStringSubmatch(text); p != nil {
		n, _ := strconv.ParseFloat(p[1], 64) // digits and a point
		unit := map[byte]float64{'m': gib / 1024, 'g': gib, 't': 1024 * gib}[p[2][0]]
		if len(p[2]) == 2 {
			unit = map[byte]float64{'m': 1e6, 'g': 1e9, 't': 1e12}[p[2][0]]
		}
		m.Each = int64(n * unit)
	} else {
		m.Each = int64(named(text) * gib)
	}
	if m.Each <= 0 || m.Count <= 0 {
		return Memory{}, fmt.Errorf("the memory of %.40q is not known: give a size such as \"80GiB x4\", or a product such as h200 or rtx4090", device)
	}
	return m, nil
}

// named returns the GiB of the product that a name means, 0 for none.
func named(text string) float64 {
	want := separators.Replace(text)
	return cmp.Or(productMemory[text], func() float64 {
		for name, n := range productMemory {
			if separators.Replace(name) == want || "rtx"+want == separators.Replace(name) {
				return n
			}
		}
		return 0
	}())
}
