package arch

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Product is what is known of a device by its product's name.
type Product struct {
	// Arch is its architecture, such as "sm_90" or "gfx942".
	Arch string
	// GiB is its memory as the management tool reports it, rounded down, since a part of
	// what the box says is kept for error correction; 0 where the name has several sizes
	// or the memory is shared with the processor and differs by machine.
	GiB float64
}

// groups are the products of each architecture: a name, and behind a colon its memory in
// GiB. The architectures are those of two lists:
//
//   - NVIDIA, "CUDA GPU Compute Capability" and its legacy page (developer.nvidia.com/cuda-gpus).
//     H20, H800, A800, L2 and L20 are not on it: they are H100, A100 and L40 with less of
//     something. Thor is 11.0 there, and was 10.1 (sm_101) to CUDA 12.
//   - LLVM, "User Guide for AMDGPU Backend", Processors, and for MI308X, MI325X, R9700, V710
//     and Strix Halo ROCm's system requirements (rocm.docs.amd.com).
var groups = []struct{ arch, names string }{
	{"sm_60", "p100"},
	{"sm_61", "p4 p40 gtx1060 gtx1070 gtx1070-ti gtx1080 gtx1080-ti titan-xp"},
	{"sm_70", "v100:32 v100-16gb:16 v100-32gb:32 v100s titan-v quadro-gv100"},
	{"sm_72", "xavier agx-xavier xavier-nx"},
	{"sm_75", "t4:15 t4g:15 rtx2060 rtx2060-super rtx2070 rtx2070-super rtx2080 rtx2080-super rtx2080-ti gtx1650 gtx1660 gtx1660-ti gtx1660-super titan-rtx " +
		"quadro-rtx8000 quadro-rtx6000 quadro-rtx5000 quadro-rtx4000 quadro-rtx3000"},
	{"sm_80", "a30:24 a100:80 a100-40gb:40 a100-80gb:80 a800:80"},
	{"sm_86", "a2 a10:22 a10g:22 a10m a16:15 a40:45 rtx3050 rtx3060 rtx3060-ti rtx3070 rtx3070-ti rtx3080 rtx3080-ti rtx3090:24 rtx3090-ti:24 " +
		"rtx-a2000 rtx-a3000 rtx-a4000 rtx-a4500 rtx-a5000 rtx-a5500 rtx-a6000:48"},
	{"sm_87", "orin agx-orin orin-nx orin-nano orin-nano-super"},
	{"sm_89", "l2 l4:22 l20 l40:45 l40s:45 l40g rtx4050 rtx4060 rtx4060-ti rtx4070 rtx4070-super rtx4070-ti rtx4070-ti-super rtx4080 rtx4080-super rtx4090:24 rtx4090-d:24 " +
		"rtx2000-ada rtx4000-ada rtx4000-sff-ada rtx4500-ada rtx5000-ada rtx5880-ada rtx6000-ada:48"},
	{"sm_90", "h20:95 h20-3e h100:79 h100-pcie:79 h100-nvl:93 h800:79 h200:140 h200-nvl:140 gh200:95 gh200-480gb:95"},
	{"sm_100", "b200:178 gb200:184"},
	{"sm_103", "b300:268 gb300:277"},
	{"sm_110", "thor agx-thor t4000 t5000"},
	{"sm_120", "rtx5050 rtx5060 rtx5060-ti rtx5070 rtx5070-ti rtx5080 rtx5090:32 rtx5090-d:32 " +
		"rtx-pro-2000 rtx-pro-4000 rtx-pro-4000-sff rtx-pro-4500 rtx-pro-5000 rtx-pro-6000:95"},
	{"sm_121", "gb10:119 dgx-spark:119"},

	{"gfx900", "mi25 rx-vega56 rx-vega64"},
	{"gfx906", "mi50 mi60 vii pro-vii"},
	{"gfx908", "mi100"},
	{"gfx90a", "mi210:64 mi250:64 mi250x:64"},
	{"gfx942", "mi300a mi300x:192 mi308x:192 mi325x:256"},
	{"gfx950", "mi350x:288 mi355x:288"},
	{"gfx1030", "rx6800 rx6800-xt rx6900-xt rx6950-xt w6800 v620"},
	{"gfx1031", "rx6700-xt rx6750-xt"},
	{"gfx1032", "rx6600 rx6600-xt rx6650-xt w6600"},
	{"gfx1034", "rx6400 rx6500-xt"},
	{"gfx1035", "680m"},
	{"gfx1100", "rx7900-xtx:24 rx7900-xt rx7900-gre w7800 w7900:48"},
	{"gfx1101", "rx7700-xt rx7800-xt w7700 v710"},
	{"gfx1102", "rx7600 rx7600-xt w7500 w7600"},
	{"gfx1103", "780m"},
	{"gfx1150", "880m 890m"},
	{"gfx1151", "8050s 8060s strix-halo ryzen-ai-max+395"},
	{"gfx1200", "rx9060 rx9060-xt"},
	{"gfx1201", "rx9070 rx9070-xt rx9070-gre r9700"},
}

// several are names that people use for products of different architectures.
var several = map[string][]string{
	"rtx2000": {"rtx2000-ada", "rtx-pro-2000"},
	"rtx4000": {"quadro-rtx4000", "rtx4000-ada", "rtx-pro-4000"},
	"rtx4500": {"rtx4500-ada", "rtx-pro-4500"},
	"rtx5000": {"quadro-rtx5000", "rtx5000-ada", "rtx-pro-5000"},
	"rtx6000": {"quadro-rtx6000", "rtx6000-ada", "rtx-pro-6000"},
}

// products are the products by their names without separators.
var products = func() map[string]Product {
	out := map[string]Product{}
	for _, g := range groups {
		for name := range strings.FieldsSeq(g.names) {
			name, size, _ := strings.Cut(name, ":")
			gib, _ := strconv.ParseFloat(size, 64) // none is 0
			out[joined(name)] = Product{Arch: g.arch, GiB: gib}
		}
	}
	return out
}()

// joined is a name without its separators.
func joined(name string) string { return strings.ReplaceAll(name, "-", "") }

// ErrNoProduct says that a text names no product of the table.
var ErrNoProduct = errors.New("no product that is known, such as h200, rtx4090 or mi300x")

var (
	makers   = words("nvidia amd ati geforce instinct radeon tesla jetson graphics gpu corporation inc hgx device")
	forms    = words("sxm sxm2 sxm3 sxm4 sxm5 sxm6 oam pcie pci nvl hbm2 hbm2e hbm3 hbm3e generation blackwell server workstation edition max q nvgpu developer kit devkit superchip grace hopper")
	partial  = words("laptop mobile mig max") // a part of a device, or another one of its name: with memory of its own
	sizeWord = regexp.MustCompile(`^([0-9]{1,4})gb?$`)
	notWord  = regexp.MustCompile(`[^a-z0-9+]+`)
	marks    = strings.NewReplacer("(r)", " ", "(tm)", " ", "®", " ", "™", " ", "radeon pro", " ", "radeon ai pro", " ")
	kinds    = []string{"", "rtx", "rx", "gtx"} // that people leave off
)

func words(s string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		out[w] = true
	}
	return out
}

// maxProduct bounds a product's name; nvidia-smi writes up to 50 characters.
const maxProduct = 120

// ParseProduct reads a product's name as people and management tools write it: "h200", "RTX
// 4090", "NVIDIA H100 80GB HBM3", "AMD Instinct MI300X OAM". It returns [ErrNoProduct] for one
// that is not known, and an error for one that has two architectures.
func ParseProduct(text string) (Product, error) {
	if len(text) > maxProduct {
		return Product{}, ErrNoProduct
	}
	said := notWord.Split(marks.Replace(strings.ToLower(text)), -1)
	said = slices.DeleteFunc(said, func(w string) bool { return makers[w] })
	plain := slices.DeleteFunc(slices.Clone(said), func(w string) bool { return forms[w] || partial[w] })
	bare := slices.DeleteFunc(slices.Clone(plain), sizeWord.MatchString)
	for _, name := range [][]string{said, plain, bare} {
		p, err := find(strings.Join(name, ""))
		if errors.Is(err, ErrNoProduct) {
			continue
		}
		for _, w := range said {
			if m := sizeWord.FindStringSubmatch(w); partial[w] || m != nil && len(name) == len(bare) && !near(m[1], p.GiB) {
				p.GiB = 0
			}
		}
		return p, err
	}
	return Product{}, ErrNoProduct
}

// near reports whether the size in a name is that of the table.
func near(size string, gib float64) bool {
	n, _ := strconv.ParseFloat(size, 64) // digits
	return gib <= n && gib > 0.9*n
}

// find looks up a name without separators.
func find(name string) (Product, error) {
	for _, kind := range kinds {
		if p, ok := products[kind+name]; ok && name != "" {
			return p, nil
		}
		if list := several[kind+name]; list != nil {
			var each []string
			for _, n := range list {
				each = append(each, fmt.Sprintf("%s (%s)", n, products[joined(n)].Arch))
			}
			return Product{}, fmt.Errorf("%s may be %s or %s: name one", kind+name, strings.Join(each[:len(each)-1], ", "), each[len(each)-1])
		}
	}
	return Product{}, ErrNoProduct
}

var (
	countBehind = regexp.MustCompile(`(?i)^(.*[^\sx×*])\s*[x×*]\s*(\d{1,4})$`)
	countBefore = regexp.MustCompile(`(?i)^(\d{1,4})\s*[x×*]\s*(.+)$`)
)

// SplitCount takes the number of devices off a text: "h200 x8", "8 x H200". The "x 4090" of
// "rtx 4090" is no number.
func SplitCount(text string) (name string, count int) {
	text = strings.TrimSpace(text)
	if p := countBefore.FindStringSubmatch(text); p != nil {
		n, _ := strconv.Atoi(p[1]) // at most four digits
		return strings.TrimSpace(p[2]), n
	}
	if _, err := ParseProduct(text); !errors.Is(err, ErrNoProduct) {
		return text, 1
	}
	if p := countBehind.FindStringSubmatch(text); p != nil {
		n, _ := strconv.Atoi(p[2])
		return strings.TrimSpace(p[1]), n
	}
	return text, 1
}

// productDevice is the device that a product's name means. An architecture is read like any
// other text, so that whatever ParseDevice knows, the table may name.
func productDevice(text string) (Device, error) {
	name, _ := SplitCount(text)
	p, err := ParseProduct(name)
	switch {
	case errors.Is(err, ErrNoProduct):
		return Device{}, ErrNoDevice
	case err != nil:
		return Device{}, err
	}
	return ParseDevice(p.Arch)
}
