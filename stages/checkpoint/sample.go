package checkpoint

import (
	"errors"
	"io"
)

// Bounds of what is read of values: the first bytes of small tensors that a loader
// multiplies with, never of a weight.
const (
	sampleBytes  = 64
	samplesFile  = 1 << 16 // of one file
	sampleHeader = 8       // where values begin, behind the header's length
)

// sampledParts are the tensors of which a few bytes are read: scales, and what GPTQ
// packs its zero points and its order into.
var sampledParts = map[string]bool{
	"weight_scale": true, "weight_scale_2": true, "weight_scale_inv": true, "weight_global_scale": true, "input_scale": true, "input_global_scale": true,
	"activation_scale": true, "output_scale": true, "k_scale": true, "v_scale": true, "q_scale": true, "prob_output_scale": true, "scale": true,
	"scales": true, "qzeros": true, "g_idx": true, "SCB": true, "pre_quant_scale": true, "_scales": true, "weight.absmax": true,
}

func isSampled(name string) bool {
	_, part := splitName(name)
	return sampledParts[part]
}

// A Sample is a few bytes of a tensor's values.
type Sample struct {
	// Head are the first bytes, at most 64.
	Head []byte
	// Tail are the last bytes, at most 64, nil where Head holds all.
	Tail []byte
}

// sample reads a few bytes of each tensor that decides how others are read.
func sample(r io.ReaderAt, h Header) map[string]Sample {
	var out map[string]Sample
	if !h.Sound() {
		return nil
	}
	r = &nearby{r: r, size: h.size}
	for _, t := range h.tensors {
		n := t.Bytes()
		if n == 0 || !isSampled(t.Name) {
			continue
		}
		if len(out) == samplesFile {
			break
		}
		begin := sampleHeader + h.length + t.Begin
		s := Sample{Head: make([]byte, min(n, sampleBytes))}
		if _, err := r.ReadAt(s.Head, begin); err != nil {
			break
		}
		if n > sampleBytes {
			s.Tail = make([]byte, sampleBytes)
			if _, err := r.ReadAt(s.Tail, begin+n-sampleBytes); err != nil {
				break
			}
		}
		if out == nil {
			out = map[string]Sample{}
		}
		out[t.Name] = s
	}
	return out
}

// A nearby reads ahead where one small tensor follows another: writers put them side by
// side, and thousands of scales are then a few reads.
type nearby struct {
	r    io.ReaderAt
	size int64
	at   int64
	buf  []byte
	next int64 // where the last read ended
}

const nearbyBytes = 4096

func (b *nearby) ReadAt(p []byte, off int64) (int, error) {
	follows := off == b.next
	b.next = off + int64(len(p))
	if off < b.at || off+int64(len(p)) > b.at+int64(len(b.buf)) {
		if !follows {
			return b.r.ReadAt(p, off)
		}
		buf := b.buf[:0]
		if cap(buf) == 0 {
			buf = make([]byte, 0, nearbyBytes)
		}
		n, err := b.r.ReadAt(buf[:min(max(b.size-off, 0), nearbyBytes)], off)
		if b.at, b.buf = off, buf[:n]; n < len(p) {
			return 0, errors.Join(err, io.ErrUnexpectedEOF)
		}
	}
	return copy(p, b.buf[off-b.at:]), nil
}

// Sample returns a few bytes of a tensor's values: of scales, zero points and orders
// of a checkpoint that lies on this machine. ok is false for everything else.
func (inv Inventory) Sample(name string) (s Sample, ok bool) {
	s, ok = inv.get().samples[name]
	return s, ok
}

// Sampled reports whether any values were read.
func (inv Inventory) Sampled() bool { return len(inv.get().samples) > 0 }
