package elf_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"infbench/stages/hardware/elf"
	"infbench/stages/hardware/fatbin/fatbintest"
)

// noise is what holds no pattern: bytes below 0x80.
func noise(rnd *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = 1 + byte(rnd.Uint32N(0x7e))
	}
	return b
}

// Wherever a pattern lies, beside the edges of what is searched at a time too, the bytes
// behind it are kept and those elsewhere are not.
func TestKeep(t *testing.T) {
	t.Parallel()
	const pattern = "\xff\xfe\xfd\xfc\xfb"
	rnd := rand.New(rand.NewPCG(1, 2))
	text := noise(rnd, 1<<20)
	for _, at := range []int{1 << 17, 256<<10 - 3, 256 << 10, 256<<10 + 30, 700_001, 1<<20 - 5} {
		b := bytes.Clone(text)
		copy(b[at:], pattern)
		file := fatbintest.ELF(fatbintest.Section{Name: ".data", Data: b})
		at += bytes.Index(file, b[:100])
		for _, n := range []int64{16, 1000, 300_000} {
			c, err := elf.Capture(bytes.NewReader(file), int64(len(file)), elf.Keep(pattern, n, 1<<20, nil))
			if err != nil {
				t.Fatal(err)
			}
			want := file[at:min(len(file), at+int(n))]
			got := make([]byte, len(want))
			if _, err := c.ReadAt(got, int64(at)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes at %d: %v", n, at, err)
			}
			if _, err := c.ReadAt(got[:1], int64(at)-1); !errors.Is(err, elf.ErrNotKept) {
				t.Errorf("before %d: %v, want ErrNotKept", at, err)
			}
			// What the file's own headers need is kept: 64 KiB, the headers, the names.
			if most := n + 64<<10 + 2000; c.Kept() > most {
				t.Errorf("%d bytes kept, want %d at most", c.Kept(), most)
			}
		}
	}
}

// Candidates that lie in one another are kept once, refused ones cost their first bytes,
// and what is over the limit is not kept.
func TestKeepBounds(t *testing.T) {
	t.Parallel()
	const pattern = "\xff\xfe\xfd\xfc"
	rnd := rand.New(rand.NewPCG(1, 2))
	b := noise(rnd, 8<<20)
	for i := 100_000; i < len(b); i += 1000 {
		copy(b[i:], pattern)
	}
	file := fatbintest.ELF(fatbintest.Section{Name: ".data", Data: b})
	for name, c := range map[string]struct {
		w    elf.Watcher
		most int64
	}{
		"overlapping": {elf.Keep(pattern, 256<<10, 64<<20, nil), 9 << 20},
		"limited":     {elf.Keep(pattern, 256<<10, 1<<20, nil), 1<<20 + 70<<10},
		"refused":     {elf.Keep(pattern, 256<<10, 64<<20, func(first []byte) bool { return string(first[:4]) != pattern || len(first) != 16 }), 600 << 10},
	} {
		got, err := elf.Capture(bytes.NewReader(file), int64(len(file)), c.w)
		if err != nil || got.Kept() > c.most {
			t.Errorf("%s: %d bytes kept, want %d at most, %v", name, got.Kept(), c.most, err)
		}
	}
}

// Section names far before their headers, or behind them, or nowhere: the readers agree, or
// the one of the stream says that it did not keep them.
func TestNamesElsewhere(t *testing.T) {
	t.Parallel()
	le := binary.LittleEndian
	sound := fatbintest.ELF(fatbintest.Section{Name: ".nv_fatbin", Data: make([]byte, 100)})
	shoff := le.Uint64(sound[0x28:])
	names := sound[164:shoff] // behind the data
	// move puts the headers at one place and the names at another of a file of that size.
	move := func(size, headers, text int) []byte {
		b := append(bytes.Clone(sound[:164]), make([]byte, size-164)...)
		for i := 164; i < size; i++ {
			b[i] = 7
		}
		copy(b[headers:], sound[shoff:])
		copy(b[text:], names)
		le.PutUint64(b[0x28:], uint64(headers))
		le.PutUint64(b[headers+2*64+24:], uint64(text))
		return b
	}
	for _, c := range []struct {
		name                string
		size, headers, text int
		kept                bool
	}{
		{"headers first", 20 << 20, 1000, 200, true},
		{"names behind", 20 << 20, 10 << 20, 15 << 20, true},
		{"names behind at once", 20 << 20, 300_000, 300_000 + 192, true},
		{"names a way before", 20 << 20, 19 << 20, 12 << 20, true},
		{"names far before", 20 << 20, 19 << 20, 1 << 20, false},
		{"names in the beginning", 20 << 20, 19 << 20, 60_000, true},
	} {
		b := move(c.size, c.headers, c.text)
		want, err := elf.Sections(bytes.NewReader(b), int64(len(b)), ".nv_fatbin")
		if err != nil || len(want) != 1 {
			t.Fatalf("%s: %v, %v", c.name, want, err)
		}
		kept, err := elf.Capture(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := elf.Sections(kept, kept.Size(), ".nv_fatbin")
		if c.kept && (err != nil || fmt.Sprint(got) != fmt.Sprint(want)) || !c.kept && !errors.Is(err, elf.ErrNotKept) {
			t.Errorf("%s: got %v, %v, want %v", c.name, got, err, want)
		}
		if kept.Kept() > 70<<10 {
			t.Errorf("%s: %d bytes kept", c.name, kept.Kept())
		}
	}
}

func TestCaptureOfOthers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "x", "/* GNU ld script */" + strings.Repeat(" ", 1<<20)} {
		r := strings.NewReader(text)
		if _, err := elf.Capture(r, int64(len(text))); !errors.Is(err, elf.ErrNotELF) || r.Len() < len(text)/2 {
			t.Errorf("%.10q: %v, %d bytes left of %d", text, err, r.Len(), len(text))
		}
	}
	// A bundle that is a file of its own.
	bundle := "CCOB" + strings.Repeat("x", 1000)
	c, err := elf.Capture(strings.NewReader(bundle), int64(len(bundle)), elf.Keep("CCOB", 500, 1<<20, nil))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(io.NewSectionReader(c, 0, 500))
	if err != nil || string(got) != bundle[:500] {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}
