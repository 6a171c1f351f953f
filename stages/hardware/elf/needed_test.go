package elf_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	ours "infbench/stages/hardware/elf"
)

// dynamic returns a library that asks for the names, its strings before or behind the table.
func dynamic(names []string, pad int, behind bool) []byte {
	le := binary.LittleEndian
	file := make([]byte, 64+2*56)
	copy(file, elf.ELFMAG)
	file[elf.EI_CLASS], file[elf.EI_DATA], file[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1
	le.PutUint16(file[0x10:], uint16(elf.ET_DYN))
	le.PutUint64(file[0x20:], 64)
	le.PutUint16(file[0x34:], 64)
	le.PutUint16(file[0x36:], 56)
	le.PutUint16(file[0x38:], 2)
	file = append(file, make([]byte, pad)...)
	text := "\x00" + strings.Join(names, "\x00") + "\x00"
	const base = 0x10000 // segments are loaded elsewhere than they lie
	var table []byte
	entry := func(tag elf.DynTag, v int) {
		table = le.AppendUint64(le.AppendUint64(table, uint64(tag)), uint64(v))
	}
	at := 1
	for _, n := range names {
		entry(elf.DT_NEEDED, at)
		at += len(n) + 1
	}
	size := (len(names) + 2) * 16
	strings, dyn := len(file), len(file)+len(text)
	if behind {
		dyn = len(file)
		strings = dyn + size
	}
	entry(elf.DT_STRTAB, base+strings)
	entry(elf.DT_NULL, 0)
	if behind {
		file = append(append(file, table...), text...)
	} else {
		file = append(append(file, text...), table...)
	}
	file = append(file, make([]byte, pad/2)...)
	header := func(i int, kind elf.ProgType, off, size int) {
		h := file[64+56*i:]
		le.PutUint32(h, uint32(kind))
		le.PutUint64(h[8:], uint64(off))
		le.PutUint64(h[16:], uint64(base+off))
		le.PutUint64(h[32:], uint64(size))
	}
	header(0, elf.PT_LOAD, 0, len(file))
	header(1, elf.PT_DYNAMIC, dyn, size)
	return file
}

func runtimeName(s string) bool { return strings.HasPrefix(s, "libcu") }

// chunks writes b in pieces of random sizes.
func chunks(w io.Writer, b []byte, r *rand.Rand) {
	for len(b) > 0 {
		n := min(len(b), 1+r.IntN(100_000))
		_, _ = w.Write(b[:n])
		b = b[n:]
	}
}

// A stream tells what a file tells, however it comes, and a name that is merely mentioned is
// asked for by nobody.
func TestNeeded(t *testing.T) {
	t.Parallel()
	names := []string{"libcudart.so.12", "libc.so.6", "libcublas.so.12"}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		file := dynamic(names, []int{0, 1000, 70_000, 300_000}[seed%4], seed%8 < 4)
		file = append(file, "\x00libcurand.so.10\x00"...)
		got, err := ours.Needed(bytes.NewReader(file), int64(len(file)))
		if err != nil || !slices.Equal(got, names) {
			t.Fatalf("seed %d: got %v, %v, want %v", seed, got, err, names)
		}
		a := ours.NewAsked(runtimeName)
		chunks(a, file, r)
		if got := a.Needed(); !slices.Equal(got, []string{"libcudart.so.12", "libcublas.so.12"}) {
			t.Fatalf("seed %d: from a stream: %v", seed, got)
		}
	}
}

// The system's own libraries are judged by Go's reader.
func TestNeededOfTheSystem(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob("/lib/x86_64-linux-gnu/lib[a-m]*.so.*")
	compared := 0
	for _, path := range files {
		f, err := elf.Open(path)
		if err != nil {
			continue
		}
		want, err := f.ImportedLibraries()
		_ = f.Close()
		b, readErr := os.ReadFile(path)
		if err != nil || readErr != nil {
			continue
		}
		got, err := ours.Needed(bytes.NewReader(b), int64(len(b)))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v, want %v", filepath.Base(path), got, err, want)
		}
		a := ours.NewAsked(func(string) bool { return true })
		chunks(a, b, rand.New(rand.NewPCG(1, uint64(len(b)))))
		named := slices.DeleteFunc(slices.Clone(want), func(s string) bool { return !strings.HasPrefix(s, "lib") })
		if got := a.Needed(); !slices.Equal(got, named) {
			t.Errorf("%s: from a stream %v, want %v", filepath.Base(path), got, named)
		}
		compared++
	}
	t.Logf("%d libraries compared", compared)
}

func FuzzNeeded(f *testing.F) {
	f.Add(dynamic([]string{"libcudart.so.12"}, 10, false))
	f.Add(dynamic([]string{"libcudart.so.12", "libx.so"}, 0, true))
	f.Fuzz(func(t *testing.T, b []byte) {
		whole, err := ours.Needed(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err) // in memory nothing fails
		}
		a := ours.NewAsked(runtimeName)
		chunks(a, b, rand.New(rand.NewPCG(uint64(len(b)), 0)))
		for _, name := range a.Needed() {
			if !slices.Contains(whole, name) {
				t.Errorf("a stream asks for %q, the file for %q", name, whole)
			}
		}
	})
}
