package host

import (
	"strings"
	"testing"
	"unicode"

	"infbench/record"
)

// plain fails where a text that is kept holds what no answer has.
func plain(t *testing.T, text string) {
	t.Helper()
	if len(text) > 120 || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) || identifiers.MatchString(text) {
		t.Fatalf("kept: %q", text)
	}
}

func FuzzSMI(f *testing.F) {
	f.Add("NVIDIA H100 80GB HBM3, 9.0, 81559, 550.90.07, Disabled\n")
	f.Add("NVIDIA GB10, 12.1, [N/A], 580.95.05, [N/A]\n")
	f.Add("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n")
	f.Add("\"a, 9.0, 1, 2, 3\n")
	f.Fuzz(func(t *testing.T, printed string) {
		s := parseSMI(printed, strings.Split(smiFields, ","))
		for _, a := range s.kinds {
			plain(t, a.Name)
			if a.Count < 1 || a.MemoryBytes < 0 || a.Unified && a.MemoryBytes != 0 || a.Name == "" {
				t.Fatalf("%+v", a)
			}
		}
		for _, v := range s.versions {
			plain(t, v.Version)
		}
	})
}

func FuzzKFD(f *testing.F) {
	f.Add("cpu_cores_count 0\nsimd_count 1216\ngfx_target_version 90402\nvendor_id 4098\ndevice_id 29857\nunique_id 1\n")
	f.Add("heap_type 1\nsize_in_bytes 206141652992\n")
	f.Fuzz(func(t *testing.T, text string) {
		n := parseKFD(text)
		if a := n.accelerator(); a.Name != "" && (a.Arch == "" || !strings.HasPrefix(a.Arch, "gfx") || len(a.Arch) > 8) {
			t.Fatalf("%+v", a)
		}
		if n.ownMemory() < 0 || len(n) > len(kfdProperties) {
			t.Fatalf("%v", n)
		}
	})
}

func FuzzCPUInfo(f *testing.F) {
	f.Add("processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: avx avx2\n")
	f.Add("Features\t: asimd sve\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n")
	f.Fuzz(func(t *testing.T, text string) {
		name, _ := parseCPUInfo(text)
		plain(t, name)
	})
}

func FuzzOSRelease(f *testing.F) {
	f.Add("NAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\n")
	f.Add("NAME='x'\nVERSION_ID=1")
	f.Fuzz(func(t *testing.T, text string) { plain(t, parseOSRelease(text)) })
}

func FuzzEnviron(f *testing.F) {
	f.Add("A=b\x00IMAGE_DIGEST=x@sha256:" + strings.Repeat("a", 64) + "\x00CUDA_VERSION=12.4.1")
	f.Fuzz(func(t *testing.T, text string) {
		image, versions := parseEnviron(text)
		if image != "" && !digestEnd.MatchString(image) {
			t.Fatalf("%q", image)
		}
		for _, v := range versions {
			plain(t, v.Version)
		}
	})
}

func FuzzListeners(f *testing.F) {
	f.Add("  sl\n   0: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1\n", 8000)
	f.Fuzz(func(t *testing.T, table string, port int) {
		for _, inode := range listeners(table, port) {
			if !digits12.MatchString(inode) || port < 0 || port > 65535 {
				t.Fatalf("port %d: %q", port, inode)
			}
		}
	})
}

// Versions as the kernel's driver writes them, and the names that LLVM gives them.
func TestGFXName(t *testing.T) {
	t.Parallel()
	for v, want := range map[int64]string{90402: "gfx942", 90010: "gfx90a", 90008: "gfx908", 90500: "gfx950", 110000: "gfx1100", 110501: "gfx1151", 120001: "gfx1201", 100300: "gfx1030", 0: "", 99: "", -1: "", 91600: "", 90016: "", 9999999: ""} {
		if got := gfxName(v); got != want {
			t.Errorf("%d: got %q, want %q", v, got, want)
		}
	}
}

func TestCountList(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int{"0-1\n": 2, "0": 1, "0-63,128-191": 128, "": 0, "0-": 0, "3-1": 0, "0-99999999999": 0, "a": 0, "0,2,4": 3, strings.Repeat("0-60000,", 3) + "1": 0} {
		if got := countList(s); got != want {
			t.Errorf("%.30q: got %d, want %d", s, got, want)
		}
	}
}

// Kernels' releases as distributions write them; what a person appended is left off.
func TestKernelRelease(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"6.8.0-1021-aws": "6.8.0-1021-aws", "5.15.148-tegra": "5.15.148-tegra", "3.10.0-1160.119.1.el7.x86_64": "3.10.0-1160.119.1.el7.x86_64", "6.1.0-18-cloud-amd64": "6.1.0-18-cloud-amd64",
		"6.8.0-alice-build": "6.8.0", "5.15.167.4-microsoft-standard-WSL2": "5.15.167.4-microsoft-standard-WSL2", "6.11.0-1016-nvidia-64k": "6.11.0-1016-nvidia-64k", "custom": "",
	} {
		got := ""
		if m := releaseForm.FindStringSubmatch(s); m != nil {
			got = m[1]
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", s, got, want)
		}
	}
}

func TestMemoryModel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kinds []record.Accelerator
		want  record.MemoryModel
	}{
		"a card beside the graphics of the processor": {[]record.Accelerator{{Name: "NVIDIA GeForce RTX 4090", Arch: "sm_89", MemoryBytes: 24 << 30}, {Name: "AMD gfx1036", Arch: "gfx1036", MemoryBytes: 1 << 29}}, record.Separate},
		"MI300A":                  {[]record.Accelerator{{Name: "AMD Instinct MI300A", Arch: "gfx942", MemoryBytes: 1 << 37}}, record.Unified},
		"none":                    {nil, record.UnknownModel},
		"a card without a figure": {[]record.Accelerator{{Name: "NVIDIA L40S", Arch: "sm_89"}}, record.UnknownModel},
	} {
		var s seen
		for _, a := range c.kinds {
			s.add(a)
		}
		if got, _ := s.memoryModel(); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
		for _, a := range s.kinds {
			if a.Unified && a.MemoryBytes > 0 {
				t.Errorf("%s: %+v", name, a)
			}
		}
	}
}
