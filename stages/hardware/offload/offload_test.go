package offload_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"

	"infbench/stages/hardware/arch"
	"infbench/stages/hardware/elf"
	"infbench/stages/hardware/fatbin/fatbintest"
	"infbench/stages/hardware/offload"
	"infbench/stages/hardware/offload/offloadtest"
)

func readBytes(b []byte) (offload.Library, error) {
	return offload.ReadAt(bytes.NewReader(b), int64(len(b)))
}

func library(t testing.TB, text string) []byte {
	t.Helper()
	b, err := offloadtest.Library(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// bundle returns a bundle for the targets, as compilers make it.
func bundle(targets ...string) []byte {
	entries := []offloadtest.Entry{offloadtest.Host()}
	for _, s := range targets {
		entries = append(entries, offloadtest.Of(s))
	}
	return offloadtest.Bundle(entries...)
}

func section(b []byte) []byte {
	return fatbintest.ELF(fatbintest.Section{Name: offloadtest.Fatbin, Data: b})
}

func TestReadAt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, want             string
		bundles, compressed, entries int
	}{
		{"none", "", "none", 0, 0, 0},
		{"one", "gfx942", "gfx942", 1, 0, 1},
		{"sorted, each once", "gfx1100\ngfx90a\n\ngfx942\ngfx90a", "gfx90a, gfx942, gfx1100", 2, 0, 4},
		{"features", "gfx90a:xnack+\ngfx90a:xnack-\ngfx90a:sramecc+:xnack-", "gfx90a:xnack+, gfx90a:xnack-, gfx90a:sramecc+:xnack-", 1, 0, 3},
		{"compressed", "compressed:\ngfx942\ngfx950\n\ngfx942\n", "gfx942, gfx950", 2, 2, 3},
		{"both", "gfx906\n\ncompressed:\ngfx942\n", "gfx906, gfx942", 2, 1, 2},
		{"generic and SPIR-V", "gfx11-generic\namdgcnspirv\ngfx9-4-generic", "gfx9-4-generic, gfx11-generic, amdgcnspirv", 1, 0, 3},
	} {
		l, err := readBytes(library(t, c.text))
		if err != nil || l.String() != c.want || l.Bundles != c.bundles || l.Compressed != c.compressed || l.Entries != c.entries || l.Other != 0 {
			t.Errorf("%s: got %s, %+v, %v, want %s, %d bundles, %d compressed, %d entries", c.name, l, l, err, c.want, c.bundles, c.compressed, c.entries)
		}
		if l.Holds() != (c.entries > 0) {
			t.Errorf("%s: holds code: got %v", c.name, l.Holds())
		}
	}
}

// Each version with each method, several in a row, and as a file of its own.
func TestCompressed(t *testing.T) {
	t.Parallel()
	for version := 1; version <= 3; version++ {
		for _, method := range []int{offloadtest.Zlib, offloadtest.Zstd} {
			one := offloadtest.Compressed(version, method, bundle("gfx90a", "gfx942"))
			two := offloadtest.Compressed(version, method, bundle("gfx1100", "gfx942"))
			file := offloadtest.Section(one, two, bundle("gfx1201"))
			const want = "gfx90a, gfx942, gfx1100, gfx1201"
			for name, b := range map[string][]byte{"section": section(file), "file": file, "zeros behind": append(file, make([]byte, 5000)...)} {
				if l, err := readBytes(b); err != nil || l.String() != want || l.Bundles != 3 || l.Compressed != 2 || l.Entries != 5 {
					t.Errorf("version %d, method %d, %s: got %s, %+v, %v, want %s", version, method, name, l, l, err, want)
				}
			}
			length := int64(len(one))
			if version == 1 {
				length = 0 // it is not told
			}
			ts, n, err := offload.Head(file)
			if got := arch.Join(ts); err != nil || got != "gfx90a, gfx942" || n != length {
				t.Errorf("version %d, method %d: head: got %s, %d, %v, want gfx90a, gfx942, %d", version, method, got, n, err, length)
			}
		}
	}
}

// A bundle is told by its beginning, as much of it as the table needs.
func TestHead(t *testing.T) {
	t.Parallel()
	big := offloadtest.Bundle(offloadtest.Host(), offloadtest.Of("gfx942"), offloadtest.Entry{ID: "hip-amdgcn-amd-amdhsa--gfx90a", Data: noise(3 << 20)})
	const length = 2*offloadtest.Page + 3<<20 // the table's page, that of gfx942, the noise
	ts, n, err := offload.Head(big[:200])
	if got := arch.Join(ts); err != nil || got != "gfx90a, gfx942" || n != length {
		t.Errorf("got %s, %d, %v, want gfx90a, gfx942, %d", got, n, err, length)
	}
	packed := offloadtest.Compressed(3, offloadtest.Zstd, big)
	ts, n, err = offload.Head(packed[:256<<10])
	if got := arch.Join(ts); err != nil || got != "gfx90a, gfx942" || n != int64(len(packed)) {
		t.Errorf("compressed: got %s, %d, %v, want gfx90a, gfx942, %d", got, n, err, len(packed))
	}
	for name, b := range map[string][]byte{"nothing": nil, "zeros": make([]byte, 64), "an ELF file": section(big)[:64], "half a magic": []byte("__CLANG_"), "half a table": big[:100]} {
		if ts, n, err := offload.Head(b); err == nil || ts != nil || n != 0 {
			t.Errorf("%s: got %v, %d, %v, want an error", name, ts, n, err)
		}
	}
}

// noise does not compress: a generator of fixed steps.
func noise(n int) []byte {
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

// IDs as compilers wrote them over the years, and what is none of AMD's.
func TestIDs(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+":         "gfx90a:xnack+",
		"hip-amdgcn-amd-amdhsa--gfx908:sramecc-:xnack-":  "gfx908:sramecc-:xnack-",
		"hip-amdgcn-amd-amdhsa-gfx803":                   "gfx803",
		"hip-amdgcn-amd-amdhsa-gfx906+sramecc":           "gfx906:sramecc+",
		"hip-amdgcn-amd-amdhsa-gfx908+sramecc+xnack":     "gfx908:sramecc+:xnack+",
		"hip-amdgcn-amd-amdhsa-gfx908+":                  "none",
		"hipv4-amdgcn-amd-amdhsa-unknown-gfx942":         "gfx942",
		"openmp-amdgcn-amd-amdhsa--gfx906":               "gfx906",
		"openmp-amdgcn-amd-amdhsa-":                      "none",
		"hip-spirv64-amd-amdhsa--amdgcnspirv":            "amdgcnspirv",
		"hip-spirv64-amd-amdhsa-unknown-amdgcnspirv":     "amdgcnspirv",
		"openmp-nvptx64-nvidia-cuda--sm_90":              "none",
		"hipv4-amdgcn-amd-amdhsa--gfx90a:cumode+":        "none",
		"hipv4-amdgcn-amd-amdhsa--gfx90a\x1b[31m\nplain": "none",
		"sycl-spir64-unknown-unknown":                    "none",
	} {
		l, err := readBytes(offloadtest.Bundle(offloadtest.Host(), offloadtest.Entry{ID: id, Data: []byte("code")}))
		other := 0
		if want == "none" {
			other = 1
		}
		if err != nil || l.String() != want || l.Other != other {
			t.Errorf("%q: got %s, %d others, %v, want %s", id, l, l.Other, err, want)
		}
	}
	// What is the host's, or empty, is nothing for a device.
	l, err := readBytes(offloadtest.Bundle(offloadtest.Entry{ID: "host-x86_64-unknown-linux--", Data: []byte("host")}, offloadtest.Entry{ID: "hip-amdgcn-amd-amdhsa--gfx942"}))
	if err != nil || l.Holds() || l.Other != 0 || l.Bundles != 1 {
		t.Errorf("host and an empty entry: got %s, %+v, %v, want nothing", l, l, err)
	}
}

func TestWithoutBundles(t *testing.T) {
	t.Parallel()
	for name, b := range map[string][]byte{
		"CUDA's":         fatbintest.ELF(fatbintest.Section{Name: ".nv_fatbin", Data: fatbintest.Region()}),
		"pointers alone": fatbintest.ELF(fatbintest.Section{Name: ".hipFatBinSegment", Data: make([]byte, 24)}),
		"zeros":          section(make([]byte, 9000)),
	} {
		if l, err := readBytes(b); err != nil || l.Holds() || l.Bundles != 0 || l.Elsewhere {
			t.Errorf("%s: got %s, %+v, %v, want nothing", name, l, l, err)
		}
	}
	l, err := readBytes(fatbintest.ELF(fatbintest.Section{Name: ".hip_fatbin", Data: make([]byte, 4096)}, fatbintest.Section{Name: ".rocm_kpack_ref", Data: []byte("x")}))
	if err != nil || l.Holds() || !l.Elsewhere {
		t.Errorf("emptied: got %s, %+v, %v, want code that lies elsewhere", l, l, err)
	}
	for _, text := range []string{"", "x", "CCO", "__CLANG_OFFLOAD", "/* GNU ld script */"} {
		if _, err := readBytes([]byte(text)); !errors.Is(err, elf.ErrNotELF) {
			t.Errorf("%q: got %v, want ErrNotELF", text, err)
		}
	}
}

// A sound section with one field changed. The table of the plain bundle begins at 32; its
// first entry is the host's, whose ID has 30 bytes, the second begins at 86.
func TestHostile(t *testing.T) {
	t.Parallel()
	le := binary.LittleEndian
	const second = 32 + 24 + 30
	plain := func() []byte { return bundle("gfx90a", "gfx942") }
	packed := func() []byte { return offloadtest.Compressed(3, offloadtest.Zstd, plain()) }
	v2 := func() []byte { return offloadtest.Compressed(2, offloadtest.Zstd, plain()) }
	for _, c := range []struct {
		name   string
		make   func() []byte
		change func(b []byte) []byte
		want   string
	}{
		{"endless entries", plain, func(b []byte) []byte { le.PutUint64(b[24:], 1<<63); return b }, "9223372036854775808 entries"},
		{"one entry too many", plain, func(b []byte) []byte { le.PutUint64(b[24:], 4); return b }, "entry 4 has an ID of 0 bytes"},
		{"an ID without end", plain, func(b []byte) []byte { le.PutUint64(b[second+16:], 1<<62); return b }, "an ID of 4611686018427387904 bytes"},
		{"past the section", plain, func(b []byte) []byte { le.PutUint64(b[second:], 1<<40); return b }, "bytes at 1099511627776"},
		{"a size past the section", plain, func(b []byte) []byte { le.PutUint64(b[second+8:], 1<<40); return b }, "has 1099511627776 bytes"},
		{"a sum that overflows", plain, func(b []byte) []byte { le.PutUint64(b[second+8:], 1<<64-8); return b }, "of a bundle of"},
		{"inside its own table", plain, func(b []byte) []byte { le.PutUint64(b[second:], 8); return b }, "inside the table"},
		{"entries that share bytes", plain, func(b []byte) []byte { le.PutUint64(b[second+8:], 4097); return b }, "share bytes"},
		{"cut inside its table", plain, func(b []byte) []byte { return b[:100] }, "cut short"},
		{"other bytes behind", plain, func(b []byte) []byte { return append(b, "tail"...) }, `no bundle begins with "tail"`},
		{"half a magic behind", plain, func(b []byte) []byte { return append(b, "__CLANG"...) }, "cut short after 7 bytes"},
		{"version 0", packed, func(b []byte) []byte { b[4] = 0; return b }, "version 0"},
		{"version 4", packed, func(b []byte) []byte { b[4] = 4; return b }, "version 4"},
		{"a method unknown", packed, func(b []byte) []byte { b[6] = 2; return b }, "method 2"},
		{"zstd that is called zlib", packed, func(b []byte) []byte { b[6] = 0; return b }, "compressed: "},
		{"longer than the section", packed, func(b []byte) []byte { le.PutUint64(b[8:], uint64(len(b)+1)); return b }, "where"},
		{"a length that overflows", packed, func(b []byte) []byte { le.PutUint64(b[8:], 1<<64-1); return b }, "18446744073709551615 bytes where"},
		{"shorter than its header", packed, func(b []byte) []byte { le.PutUint64(b[8:], 31); return b }, "of 31 bytes"},
		{"no length", v2, func(b []byte) []byte { le.PutUint32(b[8:], 0); return b }, "of 0 bytes"},
		{"a length that leaves no frame", packed, func(b []byte) []byte { le.PutUint64(b[8:], 32); return b }, "frame is cut short"},
		{"less inside than its table says", packed, func(b []byte) []byte { le.PutUint64(b[16:], 5000); return b }, "of a bundle of 5000"},
		{"another frame", packed, func(b []byte) []byte { b[32]++; return b }, "want a zstd frame"},
		{"a dictionary", packed, func(b []byte) []byte { b[36] |= 1; return b }, "dictionary"},
		{"a reserved bit", packed, func(b []byte) []byte { b[36] |= 8; return b }, "reserved"},
		{"a header cut short", packed, func(b []byte) []byte { return b[:31] }, "cut short after 31 bytes"},
		{"a block of nothing", packed, func(b []byte) []byte {
			return offloadtest.Wrap(3, 1, 100, []byte("\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00"))
		}, "cut short"},
		{"something else inside", packed, func([]byte) []byte {
			return offloadtest.Compressed(3, offloadtest.Zstd, offloadtest.Compressed(3, offloadtest.Zlib, plain()))
		}, `begins with "CCOB", want a bundle`},
	} {
		b := c.change(c.make())
		l, err := readBytes(section(b))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%s: got %s, %v, want an error with %q", c.name, l, err, c.want)
		}
	}
	twice := fatbintest.ELF(fatbintest.Section{Name: ".hip_fatbin", Data: plain()}, fatbintest.Section{Name: ".rocm_kpack_ref", Data: plain()})
	headers := twice[le.Uint64(twice[0x28:]):]
	copy(headers[2*64+24:2*64+40], headers[64+24:64+40])
	if l, err := readBytes(twice); err == nil || !strings.Contains(err.Error(), "overlaps") {
		t.Errorf("sections that share bytes: got %s, %v, want a refusal", l, err)
	}
}

// Two entries may be the same bytes.
func TestSharedObject(t *testing.T) {
	t.Parallel()
	b := bundle("gfx90a", "gfx942")
	const second, third = 32 + 24 + 30, 32 + 24 + 30 + 24 + 31
	copy(b[third:third+16], b[second:second+16])
	b = b[:offloadtest.Page+len("code for gfx90a")]
	if l, err := readBytes(b); err != nil || l.String() != "gfx90a, gfx942" {
		t.Errorf("got %s, %v, want both", l, err)
	}
}

// Every prefix of a bundle is refused, or is a sound one of its own, however it was cut.
func TestTruncated(t *testing.T) {
	t.Parallel()
	for name, b := range map[string][]byte{
		"plain":      bundle("gfx942"),
		"compressed": offloadtest.Compressed(2, offloadtest.Zstd, bundle("gfx942")),
		"version 3":  offloadtest.Compressed(3, offloadtest.Zlib, bundle("gfx942")),
		"library":    library(t, "compressed:\ngfx942\n\ngfx90a"),
		"object":     offloadtest.Object(2, 0x54c),
	} {
		if l, err := readBytes(b); err != nil || !l.Holds() {
			t.Fatalf("%s: got %s, %v, want code", name, l, err)
		}
		for n := range b {
			if l, err := readBytes(b[:n]); err == nil {
				t.Fatalf("%s cut to %d of %d bytes: got %s, want an error", name, n, len(b), l)
			}
			// A file that shrinks after its size was asked.
			if n%97 == 0 && n < 200 {
				if l, err := offload.ReadAt(bytes.NewReader(b[:n]), int64(len(b))); err == nil {
					t.Fatalf("%s shrunk to %d of %d bytes: got %s, want an error", name, n, len(b), l)
				}
			}
		}
	}
}

// A frame that claims a content of eight exbibytes, or is one of endless repetition, costs
// no more than a table.
func TestBomb(t *testing.T) {
	le := binary.LittleEndian
	frame := func(size uint64, blocks ...byte) []byte {
		return append(le.AppendUint64([]byte("\x28\xb5\x2f\xfd\xe0"), size), blocks...) // one segment, a size of 8 bytes
	}
	// 128 KiB of one byte in four, over and over: a gigabyte of zeros.
	zeros := bytes.Repeat([]byte{0x02, 0x00, 0x10, 0x00}, 8192)
	table := bundle("gfx942")[:200]
	raw := append(le.AppendUint32(nil, uint32(len(table))<<3)[:3], table...)
	claims := offloadtest.Wrap(3, offloadtest.Zstd, math.MaxInt64, frame(math.MaxInt64, append(raw, zeros...)...))
	bomb := offloadtest.Wrap(3, offloadtest.Zstd, math.MaxInt64, frame(1<<30, zeros...))
	packed := offloadtest.Compressed(2, offloadtest.Zlib, offloadtest.Bundle(offloadtest.Entry{ID: "hip-amdgcn-amd-amdhsa--gfx942", Data: make([]byte, 4<<20)}))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	l, err := readBytes(section(claims))
	if err != nil || l.String() != "gfx942" {
		t.Errorf("a content of eight exbibytes: got %s, %v, want gfx942", l, err)
	}
	if l, err := readBytes(section(bomb)); err == nil {
		t.Errorf("zeros: got %s, want an error", l)
	}
	if l, err := readBytes(packed); err != nil || l.String() != "gfx942" {
		t.Errorf("4 MiB of zeros in zlib: got %s, %v, want gfx942", l, err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
		t.Errorf("allocated %d bytes for three tables", used)
	}
}

func TestEndlessBundles(t *testing.T) {
	t.Parallel()
	b := bytes.Repeat(offloadtest.Bundle(), 1<<16+1)
	if l, err := readBytes(b); err == nil || !strings.Contains(err.Error(), "more than 65536 bundles") {
		t.Errorf("got %s, %v, want a refusal", l, err)
	}
	entries := make([]offloadtest.Entry, 2048)
	for i := range entries {
		entries[i].ID = "x"
	}
	b = bytes.Repeat(offloadtest.Compressed(3, offloadtest.Zstd, offloadtest.Bundle(entries...)), 513)
	if l, err := readBytes(b); err == nil || !strings.Contains(err.Error(), "more than 1048576 entries") {
		t.Errorf("%d bytes: got %s, %v, want a refusal", len(b), l, err)
	}
}

// Flags as LLVM's llc 14 and 19 wrote them for the target and version, printed by
// llvm-readobj; the last three by hand from AMDGPUUsage.
func TestObject(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		abi   byte
		flags uint32
		want  string
	}{
		{2, 0x53f, "gfx90a"},
		{2, 0x73f, "gfx90a:xnack+"},
		{2, 0x63f, "gfx90a:xnack-"},
		{2, 0xd3f, "gfx90a:sramecc+"},
		{2, 0x93f, "gfx90a:sramecc-"},
		{2, 0xb3f, "gfx90a:sramecc-:xnack+"},
		{3, 0x52f, "gfx906"},
		{4, 0x52f, "gfx906"},
		{3, 0x41, "gfx1100"},
		{4, 0x1000151, "gfx9-generic"},
		{4, 0x1000152, "gfx10-1-generic"},
		{4, 0x1000053, "gfx10-3-generic"},
		{4, 0x1000054, "gfx11-generic"},
		{4, 0x1000059, "gfx12-generic"},
		{4, 0x100055f, "gfx9-4-generic"},
		{4, 0x549, "gfx1250"},
		{4, 0x749, "gfx1250"},
	} {
		l, err := readBytes(offloadtest.Object(c.abi, c.flags))
		if err != nil || l.String() != c.want || l.Entries != 1 || l.Bundles != 0 {
			t.Errorf("ABI %d, flags %#x: got %s, %+v, %v, want %s", c.abi, c.flags, l, l, err, c.want)
		}
	}
	for _, c := range []struct {
		change func(b []byte)
		want   string
	}{
		{func(b []byte) { b[7] = 65 }, "for the system 65"},
		{func(b []byte) { b[8] = 0 }, "version 2"},
		{func(b []byte) { b[8] = 255 }, "version 257"},
		{func(b []byte) { b[48] = 0 }, "processor 0x00"},
		{func(b []byte) { b[48] = 0xff }, "processor 0xff"},
		{func(b []byte) { b[48], b[51] = 0x54, 0 }, "without its version"},
	} {
		b := offloadtest.Object(4, 0x53f)
		c.change(b)
		if l, err := readBytes(b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %s, %v, want an error with %q", l, err, c.want)
		}
	}
}

// counting counts what is read.
type counting struct {
	r io.ReaderAt
	n int64
}

func (c *counting) ReadAt(b []byte, off int64) (int, error) {
	c.n += int64(len(b))
	return c.r.ReadAt(b, off)
}

// seeds are small, so that the fuzzer gets somewhere.
func seeds(f *testing.F) {
	f.Helper()
	small := func(targets ...string) []byte {
		entries := []offloadtest.Entry{offloadtest.Host()}
		for _, s := range targets {
			entries = append(entries, offloadtest.Of(s))
		}
		return offloadtest.Aligned(256, entries...)
	}
	f.Add(section(nil))
	f.Add(section(append(small("gfx90a:xnack+"), small("gfx942", "gfx9-4-generic")...)))
	f.Add(section(offloadtest.Compressed(3, offloadtest.Zstd, small("gfx942"))))
	for version := 1; version <= 3; version++ {
		f.Add(append(offloadtest.Compressed(version, version%2, small("gfx942", "amdgcnspirv")), small("gfx90a")...))
	}
	f.Add(small("gfx942:sramecc+:xnack-"))
	f.Add(offloadtest.Object(2, 0x73f))
	f.Add(offloadtest.Object(1, 0x32f))
}

// Whatever the bytes: no panic, an error or a sorted list but not both, each target
// readable again, and no more read than a bounded multiple of the file.
func FuzzReadAt(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		c := &counting{r: bytes.NewReader(b)}
		l, err := offload.ReadAt(c, int64(len(b)))
		// A bundle has 32 bytes at least, and up to a page and a block are read for it.
		if limit := 1<<20 + 1024*int64(len(b)); c.n > limit {
			t.Fatalf("read %d bytes of a file of %d", c.n, len(b))
		}
		if err != nil {
			if l.Holds() || l.Entries != 0 || l.Bundles != 0 {
				t.Fatalf("an error and targets at once: %s, %v", l, err)
			}
			return
		}
		sound(t, l.Targets)
		if l.Entries < len(l.Targets) || l.Compressed > l.Bundles || l.Bundles*20 > len(b) {
			t.Fatalf("%+v in %d bytes", l, len(b))
		}
	})
}

func FuzzHead(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		ts, n, err := offload.Head(b)
		switch {
		case err != nil && (ts != nil || n != 0):
			t.Fatalf("an error and targets at once: %v, %d, %v", ts, n, err)
		case n < 0:
			t.Fatalf("a length of %d", n)
		}
		sound(t, ts)
		// What the file reader takes, the head's reader takes too.
		if l, err2 := readBytes(b); err2 == nil && l.Bundles == 1 && (bytes.HasPrefix(b, []byte(offload.Magic)) || bytes.HasPrefix(b, []byte(offload.CompressedMagic))) {
			if err != nil || arch.Join(ts) != l.String() {
				t.Fatalf("head says %s, %v, the file %s", arch.Join(ts), err, l)
			}
		}
	})
}

func sound(t *testing.T, ts []arch.AMD) {
	t.Helper()
	for i, target := range ts {
		again, err := arch.ParseAMD(target.String())
		if err != nil || again != target {
			t.Fatalf("%+v is written as %q, which is read as %+v, %v", target, target, again, err)
		}
		if i > 0 && ts[i-1] == target {
			t.Fatalf("%s twice", target)
		}
	}
}
