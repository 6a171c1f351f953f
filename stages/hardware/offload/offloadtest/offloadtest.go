// Package offloadtest makes small bundles, code objects and libraries for AMD's devices
// for tests: sound ones, and by changing a field ones that are not.
package offloadtest

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/klauspost/compress/zstd"

	"infbench/stages/hardware/arch"
	"infbench/stages/hardware/fatbin/fatbintest"
)

// Fatbin is the name of the section that holds bundles.
const Fatbin = ".hip_fatbin"

// Page is what bundles in a section, and the code objects in a bundle, are aligned to.
const Page = 4096

// Methods of compression.
const (
	Zlib = 0
	Zstd = 1
)

// Entry is one entry of a bundle.
type Entry struct {
	ID   string
	Data []byte
}

// Host is the entry that every bundle begins with.
func Host() Entry { return Entry{ID: "host-x86_64-unknown-linux-gnu-"} }

// Of returns an entry with code for the target.
func Of(target string) Entry {
	triple := "amdgcn"
	if target == arch.SPIRV {
		triple = "spirv64"
	}
	return Entry{ID: "hipv4-" + triple + "-amd-amdhsa--" + target, Data: []byte("code for " + target)}
}

// Bundle returns the entries as one bundle, each code object at a page of its own.
func Bundle(entries ...Entry) []byte { return Aligned(Page, entries...) }

// Aligned returns the entries as one bundle, each code object at a multiple of align,
// none before align itself: give 1024 for a small one.
func Aligned(align int, entries ...Entry) []byte {
	le := binary.LittleEndian
	out := le.AppendUint64([]byte("__CLANG_OFFLOAD_BUNDLE__"), uint64(len(entries)))
	at := uint64(align)
	for _, e := range entries {
		out = le.AppendUint64(out, at)
		out = le.AppendUint64(out, uint64(len(e.Data)))
		out = le.AppendUint64(out, uint64(len(e.ID)))
		out = append(out, e.ID...)
		at = round(at+uint64(len(e.Data)), align)
	}
	for _, e := range entries {
		if len(e.Data) > 0 {
			out = append(pad(out, align), e.Data...)
		}
	}
	return out
}

// Compressed returns a bundle compressed, in the version 1, 2 or 3 of the layout.
func Compressed(version, method int, bundle []byte) []byte {
	var body []byte
	if method == Zlib {
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		z.Write(bundle)
		z.Close()
		body = b.Bytes()
	} else {
		// As one segment, like LLVM's: without a window of its own.
		z, err := zstd.NewWriter(nil, zstd.WithSingleSegment(true), zstd.WithEncoderConcurrency(1))
		if err != nil {
			panic(err)
		}
		body = z.EncodeAll(bundle, nil)
	}
	return Wrap(version, method, len(bundle), body)
}

// Wrap returns what was compressed behind a header.
func Wrap(version, method, size int, body []byte) []byte {
	le := binary.LittleEndian
	out := le.AppendUint16(le.AppendUint16([]byte("CCOB"), uint16(version)), uint16(method))
	switch version {
	case 1:
		out = le.AppendUint32(out, uint32(size))
	case 2:
		out = le.AppendUint32(out, uint32(24+len(body)))
		out = le.AppendUint32(out, uint32(size))
	default:
		out = le.AppendUint64(out, uint64(32+len(body)))
		out = le.AppendUint64(out, uint64(size))
	}
	return append(append(out, "any hash"...), body...)
}

func round(n uint64, align int) uint64 {
	return (n + uint64(align) - 1) / uint64(align) * uint64(align)
}

func pad(b []byte, align int) []byte {
	return append(b, make([]byte, round(uint64(len(b)), align)-uint64(len(b)))...)
}

// Section returns the bundles as a section, each at a page of its own.
func Section(bundles ...[]byte) []byte {
	var out []byte
	for _, b := range bundles {
		out = append(pad(out, Page), b...)
	}
	return out
}

// Object returns a code object: the version of its ABI, 1 for the third version of its
// format, and the flags.
func Object(abi byte, flags uint32) []byte {
	b := fatbintest.ELF(fatbintest.Section{Name: ".text", Data: []byte("code")})
	b[7], b[8] = 64, abi
	binary.LittleEndian.PutUint16(b[18:], 224)
	binary.LittleEndian.PutUint32(b[48:], flags)
	return b
}

// Library returns a library described in text: one target a line, an empty line before
// the next bundle, and the line "compressed:" before those that are so. A text without a
// target gives a library without device code.
func Library(text string) ([]byte, error) {
	var bundles [][]byte
	var entries []Entry
	compressed := false
	flush := func() {
		if len(entries) > 0 {
			b := Bundle(append([]Entry{Host()}, entries...)...)
			if compressed {
				b = Compressed(3, Zstd, b)
			}
			bundles = append(bundles, b)
		}
		entries = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		switch line = strings.TrimSpace(line); line {
		case "":
			flush()
		case "compressed:":
			flush()
			compressed = true
		default:
			if _, err := arch.ParseAMD(line); err != nil {
				return nil, fmt.Errorf("library described in text: %w", err)
			}
			entries = append(entries, Of(line))
		}
	}
	flush()
	sections := []fatbintest.Section{{Name: ".text", Data: []byte{0xc3}}}
	if len(bundles) > 0 {
		sections = append(sections, fatbintest.Section{Name: Fatbin, Data: Section(bundles...)})
	}
	return fatbintest.ELF(sections...), nil
}
