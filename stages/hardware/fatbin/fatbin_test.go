package fatbin_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"infbench/stages/hardware/arch"
	"infbench/stages/hardware/elf"
	"infbench/stages/hardware/fatbin"
	"infbench/stages/hardware/fatbin/fatbintest"
)

func readBytes(b []byte) (fatbin.Library, error) {
	return fatbin.ReadAt(bytes.NewReader(b), int64(len(b)))
}

func library(t testing.TB, text string) []byte {
	t.Helper()
	b, err := fatbintest.Library(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestReadAt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, targets, relocatable string }{
		{"none", "", "none", "none"},
		{"sorted, each once", "compute_80\nsm_90\nsm_80\n\nsm_90\nsm_120\nsm_100\n", "sm_80, sm_90, sm_100, sm_120, compute_80 (PTX)", "none"},
		{"variants", "sm_90a\nsm_90\nsm_100f\ncompute_90a\ncompute_100f\n", "sm_90, sm_90a, sm_100f, compute_90a (PTX), compute_100f (PTX)", "none"},
		{"relocatable", "sm_90\nrelocatable:\nsm_90\ncompute_90\n", "sm_90", "sm_90, compute_90 (PTX)"},
		{"relocatable alone", "relocatable:\nsm_90\n", "none", "sm_90"},
	} {
		l, err := readBytes(library(t, c.text))
		if got := arch.Join(l.Targets); err != nil || got != c.targets {
			t.Errorf("%s: got %s, %v, want %s", c.name, got, err, c.targets)
		}
		if got := arch.Join(l.Relocatable); got != c.relocatable {
			t.Errorf("%s: relocatable: got %s, want %s", c.name, got, c.relocatable)
		}
	}
}

// Longer headers, zeros between fat binaries, other kinds of entries, and a module of
// CUDA 12 whose own flags alone say that it is for one architecture.
func TestShapesSeenInLibraries(t *testing.T) {
	t.Parallel()
	cubin := make([]byte, 64)
	copy(cubin, "\x7fELF\x02\x01\x013\x07")
	binary.LittleEndian.PutUint32(cubin[48:], 0x5a0d5a)
	newer := bytes.Clone(cubin)
	newer[8] = 8
	data := bytes.Join([][]byte{
		fatbintest.Region(fatbintest.Entry{Kind: 2, SM: 90, Flags: 0x11, Header: 72, Payload: cubin}),
		fatbintest.Region(), make([]byte, 1000),
		fatbintest.Region(fatbintest.Entry{Kind: 8, SM: 80}, fatbintest.Entry{Kind: 2, SM: 80, Flags: 0x11, Payload: newer}),
		fatbintest.Region(fatbintest.Entry{Kind: 2, SM: 120, Flags: 0x1208011, Header: 120, Payload: cubin}), make([]byte, 3),
	}, nil)
	l, err := readBytes(fatbintest.ELF(fatbintest.Section{Name: ".nv_fatbin", Data: data}))
	if got, want := l.String(), "sm_80, sm_90a, sm_120f"; err != nil || got != want || l.Entries != 3 || l.Other != 1 {
		t.Errorf("got %s, %d entries, %d others, %v, want %s, 3, 1", got, l.Entries, l.Other, err, want)
	}
}

func TestWithoutCUDA(t *testing.T) {
	t.Parallel()
	sound := library(t, "sm_90")
	for name, change := range map[string]func(b []byte){
		"32 bits":          func(b []byte) { b[4] = 1 },
		"big endian":       func(b []byte) { b[5] = 2 },
		"no section table": func(b []byte) { binary.LittleEndian.PutUint64(b[0x28:], 0) },
		"debug information without the section": func(b []byte) {
			shoff := binary.LittleEndian.Uint64(b[0x28:])
			binary.LittleEndian.PutUint32(b[shoff+2*64+4:], 8)
		},
	} {
		b := bytes.Clone(sound)
		change(b)
		if l, err := readBytes(b); err != nil || l.Holds() {
			t.Errorf("%s: got %s, %v, want no code", name, l, err)
		}
	}
	for _, text := range []string{"", "x", "\x7fEL", "/* GNU ld script */", "version https://git-lfs.github.com/spec/v1\n"} {
		if _, err := readBytes([]byte(text)); !errors.Is(err, elf.ErrNotELF) {
			t.Errorf("%q: got %v, want ErrNotELF", text, err)
		}
	}
}

// A sound library with one field changed. at is relative to the section .nv_fatbin,
// or for the table of sections to the file.
func TestHostile(t *testing.T) {
	t.Parallel()
	le := binary.LittleEndian
	fat := func(b []byte) []byte { return b[65:] } // behind the header and one byte of .text
	table := func(b []byte) []byte { return b[le.Uint64(b[0x28:]):] }
	for _, c := range []struct {
		name   string
		change func(b []byte)
		want   string
	}{
		{"magic", func(b []byte) { fat(b)[0]++ }, "magic"},
		{"version", func(b []byte) { fat(b)[4] = 2 }, "version 2"},
		{"region header of no bytes", func(b []byte) { le.PutUint16(fat(b)[6:], 0) }, "a header of 0 bytes"},
		{"region header past the section", func(b []byte) { le.PutUint16(fat(b)[6:], 0xfff0) }, "where 208 are left"},
		{"region past the section", func(b []byte) { le.PutUint64(fat(b)[8:], 193) }, "a payload of 193 bytes where 192 are left"},
		{"region size that overflows", func(b []byte) { le.PutUint64(fat(b)[8:], 1<<64-8) }, "where 192 are left"},
		{"region that ends inside an entry", func(b []byte) { le.PutUint64(fat(b)[8:], 150) }, "entry at 104"},
		{"entry header of no bytes", func(b []byte) { le.PutUint32(fat(b)[16+4:], 0) }, "a header of 0 bytes"},
		{"entry header past the region", func(b []byte) { le.PutUint32(fat(b)[16+4:], 1<<32-1) }, "a header of 4294967295 bytes"},
		{"payload past the region", func(b []byte) { le.PutUint64(fat(b)[16+8:], 1<<20) }, "a payload of 1048576 bytes"},
		{"payload that overflows", func(b []byte) { le.PutUint64(fat(b)[16+8:], 1<<64-88) }, "a payload of"},
		{"payload that ends inside the next header", func(b []byte) { le.PutUint64(fat(b)[16+8:], 100) }, "too few"},
		{"no architecture", func(b []byte) { le.PutUint32(fat(b)[16+28:], 0) }, "architecture 0"},
		{"an absurd architecture", func(b []byte) { le.PutUint32(fat(b)[16+28:], 1<<31) }, "architecture 2147483648"},
		{"section past the file", func(b []byte) { le.PutUint64(table(b)[2*64+32:], 1<<40) }, "section .nv_fatbin ends past the file"},
		{"section offset that overflows", func(b []byte) { le.PutUint64(table(b)[2*64+24:], 1<<64-8) }, "section .nv_fatbin ends past the file"},
		{"compressed section", func(b []byte) { table(b)[2*64+9] = 8 }, "is compressed"},
		{"sections that share bytes", func(b []byte) { copy(table(b)[64:], table(b)[2*64:3*64]) }, "overlaps"},
		{"names outside the file", func(b []byte) { le.PutUint64(table(b)[3*64+24:], 1<<40) }, "names end past the file"},
		{"no such section of names", func(b []byte) { le.PutUint16(b[0x3e:], 9) }, "section 9 of 4"},
		{"section table outside the file", func(b []byte) { le.PutUint64(b[0x28:], 1<<63) }, "outside the file"},
		{"section table past the file", func(b []byte) { le.PutUint16(b[0x3c:], 5) }, "5 section headers end past the file"},
		{"section headers of another size", func(b []byte) { le.PutUint16(b[0x3a:], 40) }, "40 bytes"},
		{"endless sections", func(b []byte) { le.PutUint16(b[0x3c:], 0); le.PutUint64(table(b)[32:], 1<<60) }, "at most 65536"},
	} {
		b := library(t, "sm_90\ncompute_90")
		c.change(b)
		if l, err := readBytes(b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %s, %v, want an error with %q", c.name, l, err, c.want)
		}
	}
}

// Every prefix of a library is refused or has no code, however it was cut.
func TestTruncated(t *testing.T) {
	t.Parallel()
	b := library(t, "sm_90\nrelocatable:\nsm_90\ncompute_90\n")
	for n := range b {
		if l, err := readBytes(b[:n]); err == nil {
			t.Fatalf("cut to %d of %d bytes: got %s, want an error", n, len(b), l)
		}
		// A file that shrinks after its size was asked.
		if l, err := fatbin.ReadAt(bytes.NewReader(b[:n]), int64(len(b))); err == nil {
			t.Fatalf("shrunk to %d of %d bytes: got %s, want an error", n, len(b), l)
		}
	}
}

// Memory and work follow the file, not its claims: two million entries are refused.
func TestEndlessEntries(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat(fatbintest.Region(), 1<<20+1)
	if l, err := readBytes(fatbintest.ELF(fatbintest.Section{Name: ".nv_fatbin", Data: data})); err == nil || !strings.Contains(err.Error(), "more than 1048576 headers") {
		t.Errorf("got %s, %v, want a refusal", l, err)
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

// Whatever the bytes: no panic, an error or a sorted list but not both, each target
// readable again, and no more read than a bounded multiple of the file.
func FuzzReadAt(f *testing.F) {
	for _, text := range []string{"", "sm_90", "sm_80\nsm_90a\ncompute_80\n\nsm_100f", "sm_90\nrelocatable:\nsm_90\n\ncompute_90a"} {
		f.Add(library(f, text))
	}
	f.Add(fatbintest.ELF(fatbintest.Section{Name: ".nv_fatbin", Data: append(make([]byte, 40), fatbintest.Region(fatbintest.Entry{Kind: 8, SM: 80})...)}))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := &counting{r: bytes.NewReader(b)}
		l, err := fatbin.ReadAt(c, int64(len(b)))
		if limit := 4096 + 64*int64(len(b)); c.n > limit {
			t.Fatalf("read %d bytes of a file of %d", c.n, len(b))
		}
		if err != nil {
			if l.Holds() || l.Entries != 0 {
				t.Fatalf("an error and targets at once: %s, %v", l, err)
			}
			return
		}
		for _, list := range [][]arch.CUDA{l.Targets, l.Relocatable} {
			for i, target := range list {
				again, err := arch.ParseCUDA(target.String())
				if err != nil || again != target {
					t.Fatalf("%+v is written as %q, which is read as %+v, %v", target, target, again, err)
				}
				if i > 0 && list[i-1] == target {
					t.Fatalf("%s twice", target)
				}
			}
		}
		if l.Entries*48 > len(b) {
			t.Fatalf("%d entries in %d bytes", l.Entries, len(b))
		}
	})
}
