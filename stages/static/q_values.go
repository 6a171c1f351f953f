package static

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/q.values",
	Doc: "the scales that were looked at are numbers that can be multiplied with\n\nA few bytes of each scale, zero point and order are read, where the weights are on this " +
		"machine. Zero, NaN and infinity make answers empty; cache scales that are all 1.0 were never calibrated (Model-Optimizer 20); GPTQ zero points of the other " +
		"version shift every weight by one (vLLM 26343), and an order of zeros is a broken act-order export.",
	Since: since, Cost: deep,
	Modes:   []string{"q.values"},
	Faults:  []string{"all-cache-scales-one", "gptq-v1-says-v2", "gptq-v2-says-v1", "infinite-scale", "nan-in-blocks", "order-of-zeros", "zero-scale"},
	Engines: []string{"vllm", "sglang", "exllama"},
	Causes: []string{
		"calibration never reached these modules", "an export that divides by a scale of zero",
		"a tool that writes GPTQ v2 and declares v1, or the other way round: set checkpoint_format", "the order was dropped on saving",
	},
	Next: []string{"export again, or calibrate these modules", again},
	Run:  quantValues,
})

func quantValues(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
	switch {
	case !inv.Sampled():
		return gates.NotApply("no value of a scale is on this machine"), nil
	case len(inv.Declarations()) == 0: // other models have learnt scales, which may be zero
		return gates.NotApply("nothing declares a quantisation"), nil
	}
	v := values{inv: inv}
	for _, m := range inv.Modules() {
		for _, part := range m.Parts {
			if s, ok := inv.Sample(m.Tensor(part)); ok {
				v.look(m, part, s)
			}
		}
	}
	if n := len(v.cacheScales); n > 1 && v.ones == n {
		v.bad = append(v.bad, v.cacheScales...)
		v.say("all %d scales of the key and value cache are exactly 1.0: they were not calibrated", n)
	}
	v.gptq()
	if len(v.lines) > 0 {
		f := with(gates.Warn("%s", v.lines[0]), v.bad)
		for _, l := range v.lines[1:] {
			f = f.With("%s", l)
		}
		return f, nil
	}
	return gates.Pass("%s: none is zero, infinite or no number", plural(v.looked, "scale")), nil
}

// values gathers what is wrong with sampled values.
type values struct {
	inv         checkpoint.Inventory
	looked      int
	bad         []string
	lines       []string
	cacheScales []string
	ones        int
	zeros       map[uint32]string // the words of zero points, and where they were seen
	order       []string          // orders of zeros
}

func (v *values) say(format string, a ...any) { v.lines = append(v.lines, fmt.Sprintf(format, a...)) }

func (v *values) look(m checkpoint.Module, part string, s checkpoint.Sample) {
	name := m.Tensor(part)
	t, _ := v.inv.Tensor(name)
	switch {
	case part == "qzeros" && t.DType == "I32" && len(s.Head) >= 4:
		if v.zeros == nil {
			v.zeros = map[uint32]string{}
		}
		if word, uniform := oneWord(s); uniform {
			v.zeros[word] = cmp.Or(v.zeros[word], name)
		}
	case part == "g_idx":
		if t.DType == "I32" && allZero(s.Head) && allZero(s.Tail) && s.Tail != nil {
			v.order = append(v.order, name)
		}
	case strings.HasSuffix(part, "qzeros"):
	default:
		v.scale(name, part, t, append(append([]byte{}, s.Head...), s.Tail...))
	}
}

// scale judges a scale by its sampled numbers. A single zero of many is a channel
// without weights; a scalar of zero, or only zeros, is none.
func (v *values) scale(name, part string, t checkpoint.Tensor, raw []byte) {
	numbers := decode(t.DType, raw)
	if len(numbers) == 0 {
		return
	}
	v.looked++
	if product(t.Shape) == 1 && (strings.HasSuffix(part, "k_scale") || strings.HasSuffix(part, "v_scale")) {
		v.cacheScales = append(v.cacheScales, name)
		if numbers[0] == 1 {
			v.ones++
		}
	}
	zeros := 0
	for _, n := range numbers {
		switch {
		case math.IsNaN(n), math.IsInf(n, 0):
			v.bad = append(v.bad, name)
			v.say("%s holds %v", name, n)
			return
		case n == 0:
			zeros++
		}
	}
	if zeros == len(numbers) && (product(t.Shape) == 1 || zeros > 8) {
		v.bad = append(v.bad, name)
		v.say("%s is zero", name)
	}
}

// gptq compares the words of zero points with the version that is declared. With
// symmetric weights all zero points are the middle: stored as they are (version 2), or
// less one (version 1).
func (v *values) gptq() {
	decls := v.inv.Declarations()
	if len(decls) == 0 || decls[0].Method != "gptq" {
		return
	}
	f := decls[0].Fields
	group := f.Get("group_size").Int()
	if len(v.order) > 0 && f.Get("desc_act").Bool() && group > 0 {
		v.bad = append(v.bad, v.order...)
		v.say("%s of zeros: the order of act-order was lost", plural(len(v.order), "g_idx"))
	}
	middle := map[int64][2]uint32{4: {0x77777777, 0x88888888}, 8: {0x7f7f7f7f, 0x80808080}, 2: {0x55555555, 0xaaaaaaaa}}[f.Get("bits").Int()]
	if !f.Get("sym").Bool() || middle == [2]uint32{} {
		return
	}
	declared := 0
	if cmp.Or(f.Get("checkpoint_format").Str, f.Get("format").Str) == "gptq_v2" {
		declared = 1
	}
	if name, other := v.zeros[middle[1-declared]]; other && v.zeros[middle[declared]] == "" {
		v.bad = append(v.bad, name)
		v.say("zero points are 0x%08x, as version %d stores them, and version %d is declared: every weight is off by one", middle[1-declared], 2-declared, declared+1)
	}
}

// oneWord returns the word that a sample consists of.
func oneWord(s checkpoint.Sample) (word uint32, uniform bool) {
	raw := append(append([]byte{}, s.Head...), s.Tail...)
	word = binary.LittleEndian.Uint32(raw)
	for ; len(raw) >= 4; raw = raw[4:] {
		if binary.LittleEndian.Uint32(raw) != word {
			return 0, false
		}
	}
	return word, true
}

func allZero(raw []byte) bool {
	for _, b := range raw {
		if b != 0 {
			return false
		}
	}
	return true
}

// decode returns the numbers of a sample, nil for types that are no scales.
func decode(d checkpoint.DType, raw []byte) []float64 {
	le := binary.LittleEndian
	var out []float64
	switch d {
	case "F32":
		for ; len(raw) >= 4; raw = raw[4:] {
			out = append(out, float64(math.Float32frombits(le.Uint32(raw))))
		}
	case "BF16":
		for ; len(raw) >= 2; raw = raw[2:] {
			out = append(out, float64(math.Float32frombits(uint32(le.Uint16(raw))<<16)))
		}
	case "F16":
		for ; len(raw) >= 2; raw = raw[2:] {
			out = append(out, half(le.Uint16(raw)))
		}
	case "F8_E4M3": // no infinity; all bits but the sign are NaN
		for _, b := range raw {
			out = append(out, e4m3(b))
		}
	case "F8_E8M0": // a power of two; all bits are NaN
		for _, b := range raw {
			n := math.Ldexp(1, int(b)-127)
			if b == 0xff {
				n = math.NaN()
			}
			out = append(out, n)
		}
	}
	return out
}

// half decodes IEEE 754 binary16.
func half(bits uint16) float64 {
	sign, exponent, fraction := 1.0, int(bits>>10&31), float64(bits&1023)
	if bits>>15 == 1 {
		sign = -1
	}
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		if fraction != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1+fraction/1024, exponent-15)
}

// e4m3 decodes an 8-bit float of the OCP specification: bias 7, no infinity.
func e4m3(b byte) float64 {
	sign, exponent, fraction := 1.0, int(b>>3&15), float64(b&7)
	if b>>7 == 1 {
		sign = -1
	}
	switch {
	case b&0x7f == 0x7f:
		return math.NaN()
	case exponent == 0:
		return sign * math.Ldexp(fraction/8, -6)
	}
	return sign * math.Ldexp(1+fraction/8, exponent-7)
}
