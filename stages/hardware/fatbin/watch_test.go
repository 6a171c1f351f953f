package fatbin_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"infbench/stages/hardware/arch"
	"infbench/stages/hardware/elf"
	"infbench/stages/hardware/fatbin"
	"infbench/stages/hardware/fatbin/fatbintest"
)

// said is all that a library says, as text.
func said(l fatbin.Library) string {
	var objects []string
	for _, o := range l.Objects() {
		objects = append(objects, arch.Join(o))
	}
	slices.Sort(objects)
	return fmt.Sprintf("%s; relocatable: %s in %q; %d entries, %d others", arch.Join(l.Targets), arch.Join(l.Relocatable), objects, l.Entries, l.Other)
}

// chunked reads in pieces of random sizes.
type chunked struct {
	r   io.Reader
	rnd *rand.Rand
	max int
}

func (c chunked) Read(b []byte) (int, error) {
	return c.r.Read(b[:min(len(b), 1+c.rnd.IntN(c.max))])
}

func captured(b []byte, r io.Reader) (fatbin.Library, *elf.Captured, error) {
	c, err := elf.Capture(r, int64(len(b)), fatbin.Watch())
	if err != nil {
		return fatbin.Library{}, c, err
	}
	l, err := fatbin.ReadAt(c, c.Size())
	return l, c, err
}

// randomLibrary makes a library of several sections, with variants, relocatable code,
// modules that must be looked into, longer headers, zeros between regions and around them,
// and false magics in payloads and elsewhere.
func randomLibrary(rnd *rand.Rand) []byte {
	junk := func(n int) []byte {
		b := make([]byte, rnd.IntN(n+1))
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		for range rnd.IntN(3) { // a false magic, and one with a header that looks sound
			m := binary.LittleEndian.AppendUint32(nil, 0xBA55ED50)
			if rnd.IntN(2) == 0 {
				m = fatbintest.Region(fatbintest.Entry{Kind: 2, SM: 90, Payload: make([]byte, rnd.IntN(100))})
				binary.LittleEndian.PutUint64(m[8:], uint64(rnd.IntN(1<<20)))
			}
			if len(b) > len(m) {
				copy(b[rnd.IntN(len(b)-len(m)):], m)
			}
		}
		return b
	}
	zeros := func() []byte {
		if rnd.IntN(2) == 0 {
			return nil
		}
		return make([]byte, rnd.IntN([]int{8, 600, 100_000}[rnd.IntN(3)]))
	}
	regions := func() []byte {
		data := zeros()
		for range 1 + rnd.IntN(4) {
			var entries []fatbintest.Entry
			for range rnd.IntN(6) {
				e := fatbintest.Of(arch.CUDA{SM: 70 + rnd.IntN(60), PTX: rnd.IntN(4) == 0, Variant: []string{arch.Plain, arch.ArchSpecific, arch.Family}[rnd.IntN(3)]})
				e.Header = []int{0, 48, 72, 200}[rnd.IntN(4)]
				switch e.Payload = junk([]int{20, 3000, 400_000}[rnd.IntN(3)]); rnd.IntN(4) {
				case 0:
					if len(e.Payload) >= 64 {
						copy(e.Payload, "\x7fELF\x02\x01\x013\x07")
						binary.LittleEndian.PutUint32(e.Payload[48:], 0x800)
					}
				case 1:
					e.Flags |= 0x2000
				case 2:
					e.Kind = []uint16{1, 2, 8}[rnd.IntN(3)]
				}
				entries = append(entries, e)
			}
			data = append(append(data, fatbintest.Region(entries...)...), zeros()...)
		}
		return data
	}
	sections := []fatbintest.Section{{Name: ".text", Data: junk(200_000)}}
	for range rnd.IntN(4) {
		name := []string{fatbintest.Loadable, fatbintest.Relocatable, ".rodata"}[rnd.IntN(3)]
		sections = append(sections, fatbintest.Section{Name: name, Data: regions()}, fatbintest.Section{Name: ".data", Data: junk(10_000)})
	}
	return fatbintest.ELF(sections...)
}

// A library that came as a stream says what it says as a file, however the stream was cut.
func TestCapturedLibraries(t *testing.T) {
	t.Parallel()
	with := 0
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		b := randomLibrary(rnd)
		want, err := readBytes(b)
		if err != nil {
			t.Fatalf("seed %d: the library is not sound: %v", seed, err)
		}
		if want.Holds() {
			with++
		}
		for _, most := range []int{1 << 30, 1 << 16, 700} {
			got, c, err := captured(b, chunked{bytes.NewReader(b), rnd, most})
			if err != nil || said(got) != said(want) {
				t.Fatalf("seed %d, %d bytes in pieces of %d: %v\n%s", seed, len(b), most, err, cmp.Diff(said(want), said(got)))
			}
			if c.Kept() > 2<<20 {
				t.Errorf("seed %d: %d bytes kept of %d", seed, c.Kept(), len(b))
			}
		}
	}
	if with < 30 {
		t.Errorf("only %d libraries held code", with)
	}
}

func TestCapturedByteByByte(t *testing.T) {
	t.Parallel()
	b := library(t, "sm_80\nsm_90a\n\ncompute_100f\nrelocatable:\nsm_90\n")
	want, err := readBytes(b)
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]io.Reader{
		"one byte": iotest.OneByteReader(bytes.NewReader(b)),
		"half":     iotest.HalfReader(bytes.NewReader(b)),
		"with EOF": iotest.DataErrReader(bytes.NewReader(b)),
	} {
		if got, _, err := captured(b, r); err != nil || said(got) != said(want) {
			t.Errorf("%s: got %s, %v, want %s", name, said(got), err, said(want))
		}
	}
	for n := range b {
		if got, _, err := captured(b, bytes.NewReader(b[:n])); err == nil {
			t.Fatalf("cut to %d of %d bytes: got %s, want an error", n, len(b), got)
		}
	}
	if _, _, err := captured(b, iotest.ErrReader(io.ErrClosedPipe)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, want the reader's own error", err)
	}
}

// A million entries are more than is kept: memory stays, and the reader says why it gave up.
func TestCapturedEndless(t *testing.T) {
	t.Parallel()
	e := fatbintest.Entry{Kind: 2, SM: 90, Header: 48, Flags: 0x2000}
	for name, data := range map[string][]byte{
		"entries": fatbintest.Region(times(e, 1<<17)...),
		"regions": bytes.Repeat(fatbintest.Region(e), 1<<15),
		"nested":  nested(1 << 14),
	} {
		b := fatbintest.ELF(fatbintest.Section{Name: ".nv_fatbin", Data: data})
		want, wantErr := readBytes(b)
		got, c, err := captured(b, bytes.NewReader(b))
		if !errors.Is(err, elf.ErrNotKept) && (said(got) != said(want) || fmt.Sprint(err) != fmt.Sprint(wantErr)) {
			t.Errorf("%s: got %s, %v, want %s, %v, or ErrNotKept", name, got, err, want, wantErr)
		}
		if c.Kept() > 8<<20 {
			t.Errorf("%s: %d bytes kept", name, c.Kept())
		}
	}
}

func times(e fatbintest.Entry, n int) []fatbintest.Entry {
	es := make([]fatbintest.Entry, n)
	for i := range es {
		es[i] = e
	}
	return es
}

// nested returns regions that each claim to hold all that follow.
func nested(n int) []byte {
	one := fatbintest.Region(fatbintest.Entry{Kind: 1, SM: 90, Header: 48})
	b := bytes.Repeat(one, n)
	for i := range n {
		binary.LittleEndian.PutUint64(b[i*len(one)+8:], uint64((n-i)*len(one)-16))
	}
	return b
}

// Both readers agree on any bytes, or the one of the stream says that it kept too little.
func FuzzCaptured(f *testing.F) {
	for _, text := range []string{"", "sm_90", "sm_80\nsm_90a\ncompute_80\n\nsm_100f", "sm_90\nrelocatable:\nsm_90\n\ncompute_90a"} {
		f.Add(library(f, text), uint16(100))
	}
	f.Add(randomLibrary(rand.New(rand.NewPCG(3, 3)))[:2_000], uint16(3))
	f.Fuzz(func(t *testing.T, b []byte, most uint16) {
		want, wantErr := readBytes(b)
		got, c, err := captured(b, chunked{bytes.NewReader(b), rand.New(rand.NewPCG(1, 1)), int(most) + 1})
		switch {
		case errors.Is(err, elf.ErrNotKept):
		case fmt.Sprint(err) != fmt.Sprint(wantErr):
			t.Fatalf("got %v, want %v", err, wantErr)
		case said(got) != said(want):
			t.Fatalf("got %s, want %s", said(got), said(want))
		}
		if c != nil && c.Kept() > 80<<10+4*int64(len(b)) {
			t.Fatalf("%d bytes kept of %d", c.Kept(), len(b))
		}
	})
}

// TestCapturedWheels reads the libraries of the wheels below the folder that
// INFBENCH_KERNEL_WHEELS names, as streams out of the wheel and unpacked.
func TestCapturedWheels(t *testing.T) {
	root := os.Getenv("INFBENCH_KERNEL_WHEELS")
	if root == "" {
		t.Skip("INFBENCH_KERNEL_WHEELS names no folder with wheels")
	}
	wheels, err := filepath.Glob(filepath.Join(root, "*.whl"))
	if err != nil || len(wheels) == 0 {
		t.Fatal("no wheels there: ", err)
	}
	for _, path := range wheels {
		z, err := zip.OpenReader(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range z.File {
			if strings.Contains(filepath.Base(f.Name), ".so") {
				oneCaptured(t, f)
			}
		}
		z.Close()
	}
}

func oneCaptured(t *testing.T, f *zip.File) {
	path := filepath.Join(t.TempDir(), "lib.so")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if _, err := io.Copy(out, r); err != nil {
		t.Fatal(err)
	}
	unpack := time.Since(start)
	out.Close()
	want, wantErr := fatbin.Read(path)
	if r, err = f.Open(); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start = time.Now()
	c, err := elf.Capture(r, int64(f.UncompressedSize64), fatbin.Watch())
	stream := time.Since(start)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	got, err := fatbin.ReadAt(c, c.Size())
	if fmt.Sprint(err) != fmt.Sprint(wantErr) || said(got) != said(want) {
		t.Errorf("%s: as a stream %v\n%s", f.Name, err, cmp.Diff(said(want), said(got)))
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	start = time.Now()
	if _, err := elf.Capture(bytes.NewReader(b), int64(len(b)), fatbin.Watch()); err != nil {
		t.Fatal(err)
	}
	scan := time.Since(start)
	mb := func(d time.Duration) string { return fmt.Sprintf("%.0f MB/s", float64(len(b))/1e6/d.Seconds()) }
	t.Logf("%s: %d MB, %d entries, kept %d KB, allocated %d KB; as a stream %s, unpacking alone and writing %s, scanning from memory %s",
		filepath.Base(f.Name), len(b)>>20, got.Entries, c.Kept()>>10, (after.TotalAlloc-before.TotalAlloc)>>10, mb(stream), mb(unpack), mb(scan))
}
