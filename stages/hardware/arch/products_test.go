package arch_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"infbench/stages/hardware/arch"
)

// Names as nvidia-smi, rocm-smi, lspci and people write them, and what the vendors' pages say
// of each.
func TestParseProduct(t *testing.T) {
	t.Parallel()
	for want, names := range map[string]string{
		"sm_70":   "Tesla V100-SXM2-32GB|V100|Tesla V100-SXM2-16GB|TITAN V",
		"sm_75":   "Tesla T4|NVIDIA T4|Quadro RTX 6000|NVIDIA GeForce RTX 2080 Ti|TITAN RTX|NVIDIA GeForce GTX 1660 SUPER|2080ti",
		"sm_80":   "NVIDIA A100-SXM4-80GB|NVIDIA A100 80GB PCIe|NVIDIA A100-SXM4-40GB|A100-PCIE-40GB|NVIDIA A30|NVIDIA A800-SXM4-80GB|A100-SXM-64GB",
		"sm_86":   "NVIDIA A10G|NVIDIA A10|NVIDIA A40|NVIDIA RTX A6000|NVIDIA GeForce RTX 3090|RTX 3060|3080 Ti|NVIDIA A2|NVIDIA A16|a6000",
		"sm_87":   "Orin (nvgpu)|NVIDIA Jetson AGX Orin Developer Kit|Jetson Orin Nano|orin|NVIDIA Jetson Orin NX",
		"sm_89":   "NVIDIA L4|NVIDIA L40S|NVIDIA GeForce RTX 4090|rtx4090|RTX-4090|4090|NVIDIA RTX 6000 Ada Generation|NVIDIA GeForce RTX 4090 Laptop GPU|NVIDIA L40|NVIDIA RTX 4000 SFF Ada Generation",
		"sm_90":   "NVIDIA H100 80GB HBM3|NVIDIA H100 PCIe|NVIDIA H100 NVL|NVIDIA H200|NVIDIA GH200 480GB|NVIDIA GH200 144G HBM3e|NVIDIA H20|H800|NVIDIA H100 80GB HBM3 MIG 1g.10gb|NVIDIA H20-3e",
		"sm_100":  "NVIDIA B200|NVIDIA GB200|gb200",
		"sm_103":  "NVIDIA B300 SXM6|NVIDIA GB300|b300",
		"sm_110":  "NVIDIA Thor|Jetson AGX Thor Developer Kit|Jetson T5000",
		"sm_120":  "NVIDIA GeForce RTX 5090|NVIDIA RTX PRO 6000 Blackwell Server Edition|NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition|RTX 5060 Ti|5090",
		"sm_121":  "NVIDIA GB10|DGX Spark",
		"gfx908":  "AMD Instinct MI100|mi100",
		"gfx90a":  "AMD Instinct MI250X|MI210",
		"gfx942":  "AMD Instinct MI300X|AMD Instinct MI300X OAM|MI300A|mi325x|MI308X",
		"gfx950":  "AMD Instinct MI355X|MI350X",
		"gfx1030": "AMD Radeon RX 6800 XT|Radeon PRO W6800|V620",
		"gfx1100": "AMD Radeon RX 7900 XTX|7900XTX|AMD Radeon PRO W7900|7900 xt",
		"gfx1151": "Strix Halo|Radeon 8060S Graphics|Ryzen AI Max+ 395",
		"gfx1201": "AMD Radeon RX 9070 XT|9070|AMD Radeon AI PRO R9700",
	} {
		for name := range strings.SplitSeq(names, "|") {
			if p, err := arch.ParseProduct(name); err != nil || p.Arch != want {
				t.Errorf("%s: got %+v, %v, want %s", name, p, err, want)
			}
		}
	}
	for _, name := range []string{"", "NVIDIA", "sm_90", "GeForce", "H", "A1000000", "x4", "NVIDIA Graphics Device", "cpu", "h100 h200", "llvmpipe", strings.Repeat("a", 1<<20)} {
		if p, err := arch.ParseProduct(name); !errors.Is(err, arch.ErrNoProduct) {
			t.Errorf("%.40q: got %+v, %v, want ErrNoProduct", name, p, err)
		}
	}
}

// A name of two architectures is an error that names both.
func TestNamesOfSeveral(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"RTX 6000": {"quadro-rtx6000 (sm_75)", "rtx6000-ada (sm_89)", "rtx-pro-6000 (sm_120)"}, "NVIDIA RTX 4500": {"sm_89", "sm_120"}, "6000": {"sm_75", "sm_120"}, "rtx5000 x2": {"sm_75", "sm_89"},
	} {
		_, err := arch.ParseDevice(name)
		if err == nil || errors.Is(err, arch.ErrNoDevice) {
			t.Errorf("%s: %v, want an error that names all", name, err)
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v, want %s in it", name, err, w)
			}
		}
	}
}

// What a name has left of the device, or has beside it, is not the table's memory.
func TestProductMemory(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]float64{
		"NVIDIA H100 80GB HBM3": 79, "NVIDIA H100 NVL": 93, "NVIDIA A100-SXM4-40GB": 40, "NVIDIA A100-SXM4-80GB": 80, "NVIDIA GH200 480GB": 95, "NVIDIA GH200 144G HBM3e": 0,
		"NVIDIA H100 80GB HBM3 MIG 1g.10gb": 0, "NVIDIA GeForce RTX 4090": 24, "NVIDIA GeForce RTX 4090 Laptop GPU": 0, "A100-SXM-64GB": 0, "Orin": 0, "Tesla V100-SXM2-16GB": 16,
	} {
		if p, err := arch.ParseProduct(name); err != nil || p.GiB != want {
			t.Errorf("%s: got %v GiB, %v, want %v", name, p.GiB, err, want)
		}
	}
}

// Every product is in the table once, is found by its own name, and its architecture is a
// word that the compilers know.
func TestTableOfProducts(t *testing.T) {
	t.Parallel()
	var all []string
	for a, names := range arch.Products() {
		if _, err := arch.ParseTarget(a); err != nil && !strings.HasPrefix(a, "gfx") {
			t.Errorf("%s: %v", a, err)
		}
		for _, n := range names {
			all = append(all, strings.ReplaceAll(n, "-", ""))
			if p, err := arch.ParseProduct(n); err != nil || p.Arch != a {
				t.Errorf("%s: got %s, %v, want %s", n, p.Arch, err, a)
			}
		}
	}
	slices.Sort(all)
	if n := len(all); len(slices.Compact(all)) != n {
		t.Error("a product stands in the table twice")
	}
}

func TestSplitCount(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		name  string
		count int
	}{
		"h200 x8": {"h200", 8}, "8xH100": {"H100", 8}, "RTX 4090": {"RTX 4090", 1}, "rtx 4090 x2": {"rtx 4090", 2}, "4 × 24GiB": {"24GiB", 4}, "sm_90 x2": {"sm_90", 2}, " h200 ": {"h200", 1}, "": {"", 1},
		"2 x RTX 4090": {"RTX 4090", 2}, "h200 x0": {"h200", 0}, "x4": {"x4", 1},
	} {
		if name, n := arch.SplitCount(text); name != want.name || n != want.count {
			t.Errorf("%q: got %q, %d, want %q, %d", text, name, n, want.name, want.count)
		}
	}
}

func TestParseDeviceByProduct(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"h200 x8": "sm_90", "RTX 4090": "sm_89", "rtx 4090": "sm_89", "2x L40S": "sm_89", "NVIDIA GB10": "sm_121", "NVIDIA H100 (sm_90)": "sm_90", "b300": "sm_103",
	} {
		if got, err := arch.ParseDevice(s); err != nil || got.String() != want {
			t.Errorf("%q: got %s, %v, want %s", s, got, err, want)
		}
	}
}

func FuzzParseProduct(f *testing.F) {
	for _, s := range []string{"NVIDIA H100 80GB HBM3", "rtx 4090 x2", "8 x H200", "Ryzen AI Max+ 395", "a100-40gb", "\x00", "ſm 100"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := arch.ParseProduct(s)
		if (err == nil) != (p.Arch != "") || p.GiB < 0 {
			t.Fatalf("%q: got %+v, %v", s, p, err)
		}
		if name, n := arch.SplitCount(s); n < 0 || n > 9999 || len(name) > len(s) {
			t.Fatalf("%q: got %q, %d", s, name, n)
		}
	})
}
