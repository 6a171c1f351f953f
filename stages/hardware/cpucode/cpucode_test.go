package cpucode_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"infbench/stages/hardware/arch"
	"infbench/stages/hardware/cpucode"
	elfs "infbench/stages/hardware/elf"
	"infbench/stages/hardware/fatbin/fatbintest"
)

// Notes as GNU ld 2.40 wrote them into libraries, and what readelf -n says of each. The last
// one is of gcc 12 with -mneeded -march=x86-64-v3.
const (
	noteV2     = "040000001000000005000000474e5500028000c0040000000200000000000000" // x86 ISA needed: x86-64-v2
	noteV3     = "040000001000000005000000474e5500028000c0040000000400000000000000" // x86 ISA needed: x86-64-v3
	noteV4     = "040000001000000005000000474e5500028000c0040000000800000000000000" // x86 ISA needed: x86-64-v4
	noteNeeded = "040000001000000005000000474e5500028000c0040000000700000000000000" // x86-64-baseline, x86-64-v2, x86-64-v3
)

func library(t testing.TB, note string) []byte {
	t.Helper()
	b, err := hex.DecodeString(note)
	if err != nil {
		t.Fatal(err)
	}
	return fatbintest.ELF(fatbintest.Section{Name: ".text", Data: []byte{0xc3}}, fatbintest.Section{Name: ".note.gnu.property", Data: b})
}

func at(machine elf.Machine, library []byte) []byte {
	out := bytes.Clone(library)
	binary.LittleEndian.PutUint16(out[18:], uint16(machine))
	return out
}

func TestReadAt(t *testing.T) {
	t.Parallel()
	const v2, v3 = "cx16+lahf_lm+pni+popcnt+sse4_1+sse4_2+ssse3", "abm+avx+avx2+bmi1+bmi2+cx16+f16c+fma+lahf_lm+movbe+pni+popcnt+sse4_1+sse4_2+ssse3+xsave"
	plain := fatbintest.ELF(fatbintest.Section{Name: ".text", Data: []byte{0xc3}})
	short := library(t, noteV2)
	for name, c := range map[string]struct {
		file   []byte
		want   string
		stated bool
	}{
		"v2":                        {library(t, noteV2), "x86_64+" + v2, true},
		"v3":                        {library(t, noteV3), "x86_64+" + v3, true},
		"v3 by the compiler":        {library(t, noteNeeded), "x86_64+" + v3, true},
		"no note":                   {plain, "x86_64", false},
		"for Arm":                   {at(elf.EM_AARCH64, plain), "aarch64", false},
		"an x86 note, for Arm":      {at(elf.EM_AARCH64, library(t, noteV4)), "aarch64", false},
		"for a microcontroller":     {at(elf.EM_AVR, plain), "no processor", false},
		"another property":          {library(t, strings.Replace(noteV2, "028000c0", "020000c0", 1)), "x86_64", false},
		"the level of the baseline": {library(t, strings.Replace(noteV2, "0400000002000000", "0400000001000000", 1)), "x86_64", true},
		"a header alone":            {short[:64][:20], "", false},
	} {
		l, err := cpucode.ReadAt(bytes.NewReader(c.file), int64(len(c.file)))
		if c.want == "" {
			if err == nil {
				t.Errorf("%s: got %+v, want an error", name, l)
			}
			continue
		}
		if err != nil || l.Target.String() != strings.TrimSuffix(c.want, "+") || l.Stated != c.stated {
			t.Errorf("%s: got %s, stated %t, %v, want %s, %t", name, l.Target, l.Stated, err, c.want, c.stated)
		}
	}
	for name, note := range map[string]string{
		"cut in the header": noteV2[:20], "cut in the name": noteV2[:28], "cut in the property": noteV2[:50], "a size past the end": strings.Replace(noteV2, "10000000", "ff000000", 1),
		"a property of another size": strings.Replace(noteV2, "028000c004", "028000c008", 1), "a huge name": strings.Replace(noteV2, "04000000", "ffffffff", 1),
	} {
		f := library(t, note)
		if l, err := cpucode.ReadAt(bytes.NewReader(f), int64(len(f))); err == nil {
			t.Errorf("%s: got %+v, want an error", name, l)
		}
	}
	if _, err := cpucode.ReadAt(strings.NewReader("INPUT(libc.so.6)"), 16); !errors.Is(err, elfs.ErrNotELF) {
		t.Errorf("a linker script: %v, want ErrNotELF", err)
	}
}

// The names are those of llama.cpp's images; what each needs is written out by hand from its
// CMake list.
func TestByName(t *testing.T) {
	t.Parallel()
	const haswell = "avx+avx2+bmi2+f16c+fma+sse4_2"
	for name, want := range map[string]string{
		"libggml-cpu-x64.so": "x86_64", "libggml-cpu-sse42.so": "x86_64+sse4_2", "libggml-cpu-haswell.so": "x86_64+" + haswell, "libggml-cpu-haswell.so.0.9.4": "x86_64+" + haswell, "ggml-cpu-haswell.dll": "x86_64+" + haswell,
		"libggml-cpu-alderlake.so":  "x86_64+avx+avx2+avx_vnni+bmi2+f16c+fma+sse4_2",
		"libggml-cpu-zen4.so":       "x86_64+avx+avx2+avx512_bf16+avx512_vnni+avx512bw+avx512cd+avx512dq+avx512f+avx512vbmi+avx512vl+bmi2+f16c+fma+sse4_2",
		"libggml-cpu-armv8.0_1.so":  "aarch64",
		"libggml-cpu-armv8.6_1.so":  "aarch64+asimddp+fphp+i8mm+sve",
		"libggml-cpu-armv9.2_2.so":  "aarch64+asimddp+fphp+i8mm+sme+sve+sve2",
		"libggml-cpu-piledriver.so": "x86_64+avx+f16c+fma+sse4_2",
	} {
		if l, ok := cpucode.ByName(name); !ok || l.Target.String() != want || !l.Stated || l.Family != "ggml-cpu" {
			t.Errorf("%s: got %s, %t, want %s", name, l.Target, ok, want)
		}
	}
	for _, name := range []string{"", "libggml-cpu.so", "libggml-cuda.so", "libggml-cpu-martian.so", "libggml-cpu-haswell.so.bak", "xlibggml-cpu-haswell.so", "libggml-cpu-../haswell.so"} {
		if l, ok := cpucode.ByName(name); ok {
			t.Errorf("%s: got %s, want nothing", name, l.Target)
		}
	}
}

// The flags of processors that are sold, and the variant that llama.cpp picks there.
func TestBest(t *testing.T) {
	t.Parallel()
	var x86, arm []cpucode.Library
	for _, v := range strings.Fields("x64 sse42 sandybridge haswell alderlake skylakex icelake cascadelake zen4 sapphirerapids") {
		l, _ := cpucode.ByName("libggml-cpu-" + v + ".so")
		x86 = append(x86, l)
	}
	for _, v := range strings.Fields("armv8.0_1 armv8.2_1 armv8.2_2 armv8.2_3 armv8.6_1 armv8.6_2 armv9.2_1 armv9.2_2") {
		l, _ := cpucode.ByName("libggml-cpu-" + v + ".so")
		arm = append(arm, l)
	}
	const v3 = "pni ssse3 sse4_1 sse4_2 popcnt cx16 lahf_lm movbe abm bmi1 bmi2 xsave avx avx2 f16c fma "
	const v4 = v3 + "avx512f avx512dq avx512cd avx512bw avx512vl "
	for name, c := range map[string]struct{ machine, flags, want string }{
		"Xeon E5 v3":                   {"x86_64", v3, "haswell"},
		"Core of 12th gen":             {"x86_64", v3 + "avx_vnni", "alderlake"},
		"Xeon of 2017":                 {"x86_64", v4, "skylakex"},
		"Xeon of 2019":                 {"x86_64", v4 + "avx512_vnni", "cascadelake"},
		"Ice Lake":                     {"x86_64", v4 + "avx512vbmi avx512_vnni", "icelake"},
		"EPYC 9004":                    {"x86_64", v4 + "avx512vbmi avx512_vnni avx512_bf16", "zen4"},
		"Xeon of 2023":                 {"x86_64", v4 + "avx512vbmi avx512_vnni avx512_bf16 avx_vnni amx_tile amx_int8 amx_bf16", "sapphirerapids"},
		"a plain VM":                   {"x86_64", "sse sse2", "x64"},
		"a big AVX-512 VM without FMA": {"x86_64", strings.ReplaceAll(v4, "fma ", ""), "sandybridge"},
	} {
		if best, ok := cpucode.Best(x86, arch.Processor(c.machine, strings.Fields(c.flags))); !ok || best.Variant != c.want {
			t.Errorf("%s: got %q, %t, want %s", name, best.Variant, ok, c.want)
		}
	}
	graviton3 := arch.Processor("arm64", strings.Fields("fp asimd fphp asimdhp asimddp sve i8mm bf16 svei8mm svebf16"))
	if best, ok := cpucode.Best(arm, graviton3); !ok || best.Variant != "armv8.6_1" {
		t.Errorf("Graviton3: got %q", best.Variant)
	}
	if best, ok := cpucode.Best(x86, graviton3); ok {
		t.Errorf("x86 on Arm: got %s", best.Variant)
	}
	if _, ok := cpucode.Best(nil, graviton3); ok {
		t.Error("the best of none")
	}
}

// A name and a file that contradict one another are an error; a name tells more than a file
// that says nothing.
func TestReadNamed(t *testing.T) {
	t.Parallel()
	plain := fatbintest.ELF(fatbintest.Section{Name: ".text", Data: []byte{0xc3}})
	l, err := cpucode.ReadNamed(bytes.NewReader(plain), int64(len(plain)), "libggml-cpu-haswell.so")
	if err != nil || l.Variant != "haswell" || !l.Stated {
		t.Errorf("got %+v, %v", l, err)
	}
	arm := at(elf.EM_AARCH64, plain)
	if _, err := cpucode.ReadNamed(bytes.NewReader(arm), int64(len(arm)), "libggml-cpu-zen4.so"); err == nil || !strings.Contains(err.Error(), "aarch64") {
		t.Errorf("a name of x86 on code for Arm: %v", err)
	}
}

func FuzzReadAt(f *testing.F) {
	for _, n := range []string{noteV2, noteNeeded, noteV4 + noteV2, noteV2[:30]} {
		f.Add(library(f, n))
	}
	f.Add([]byte("\x7fELF"))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := cpucode.ReadAt(bytes.NewReader(b), int64(len(b)))
		if err != nil && l != (cpucode.Library{}) {
			t.Fatalf("an error and a library at once: %+v, %v", l, err)
		}
		if err == nil && l.Stated && l.Target.Architecture() != "x86_64" {
			t.Fatalf("%s states levels of x86", l.Target)
		}
	})
}

// FuzzNote reaches the parser of notes, which random files hardly do.
func FuzzNote(f *testing.F) {
	for _, n := range []string{noteV2, noteNeeded, noteV4 + noteV2, noteV2[:30]} {
		b, _ := hex.DecodeString(n)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, note []byte) {
		b := fatbintest.ELF(fatbintest.Section{Name: ".note.gnu.property", Data: note})
		l, err := cpucode.ReadAt(bytes.NewReader(b), int64(len(b)))
		if err == nil && l.Target.Architecture() != "x86_64" {
			t.Fatalf("got %+v", l)
		}
	})
}
