package cpucode

import (
	"regexp"
	"strings"

	"infbench/stages/hardware/arch"
)

// llama.cpp's images hold its processor backend in variants, one library each, and load the
// one with the highest score on the machine: a bit for each instruction set, none where one
// is missing. The variants stand in ggml/src/CMakeLists.txt (ggml_add_cpu_backend_variant),
// what each set is tested for and scores in ggml/src/ggml-cpu/arch/{x86,arm}/cpu-feats.cpp.

// A feature is an instruction set by ggml's name.
type feature struct {
	sets  string // as Linux names it
	score int
}

var x86 = map[string]feature{
	"FMA": {"fma", 1}, "F16C": {"f16c", 1 << 1}, "SSE42": {"sse4_2", 1 << 2}, "BMI2": {"bmi2", 1 << 3}, "AVX": {"avx", 1 << 4}, "AVX2": {"avx2", 1 << 5}, "AVX_VNNI": {"avx_vnni", 1 << 6},
	"AVX512": {"avx512f avx512cd avx512vl avx512dq avx512bw", 1 << 7}, "AVX512_VBMI": {"avx512vbmi", 1 << 8}, "AVX512_BF16": {"avx512_bf16", 1 << 9}, "AVX512_VNNI": {"avx512_vnni", 1 << 10},
	"AMX_TILE": {"amx_tile", 0}, "AMX_INT8": {"amx_int8", 1 << 11},
}

var arm = map[string]feature{
	"DOTPROD": {"asimddp", 1 << 1}, "FP16_VECTOR_ARITHMETIC": {"fphp", 1 << 2}, "SVE": {"sve", 1 << 3}, "MATMUL_INT8": {"i8mm", 1 << 4}, "SVE2": {"sve2", 1 << 5}, "SME": {"sme", 1 << 6},
}

const (
	avx2   = "SSE42 AVX F16C FMA AVX2 BMI2"
	avx512 = avx2 + " AVX512"
	arm86  = "DOTPROD FP16_VECTOR_ARITHMETIC SVE MATMUL_INT8"
)

// x86Variants and armVariants are the variants for Linux, by the name of the library.
var x86Variants = map[string]string{
	"x64": "", "sse42": "SSE42", "sandybridge": "SSE42 AVX", "ivybridge": "SSE42 AVX F16C", "piledriver": "SSE42 AVX F16C FMA", "haswell": avx2, "alderlake": avx2 + " AVX_VNNI",
	"skylakex": avx512, "cannonlake": avx512 + " AVX512_VBMI", "cascadelake": avx512 + " AVX512_VNNI", "icelake": avx512 + " AVX512_VBMI AVX512_VNNI",
	"cooperlake": avx512 + " AVX512_VNNI AVX512_BF16", "zen4": avx512 + " AVX512_VBMI AVX512_VNNI AVX512_BF16",
	"sapphirerapids": avx512 + " AVX512_VBMI AVX512_VNNI AVX512_BF16 AMX_TILE AMX_INT8",
}

var armVariants = map[string]string{
	"armv8.0_1": "", "armv8.2_1": "DOTPROD", "armv8.2_2": "DOTPROD FP16_VECTOR_ARITHMETIC", "armv8.2_3": "DOTPROD FP16_VECTOR_ARITHMETIC SVE", "armv8.6_1": arm86,
	"armv8.6_2": arm86 + " SVE2", "armv9.2_1": arm86 + " SME", "armv9.2_2": arm86 + " SVE2 SME",
}

var ggmlName = regexp.MustCompile(`^(?:lib)?(ggml-cpu)-([a-z0-9][a-z0-9._]{0,30}?)\.(?:so(?:\.\d+){0,3}|dll|dylib)$`)

// ByName returns what a library's file name says that it needs; ok is false where it says
// nothing, as most do.
func ByName(name string) (l Library, ok bool) {
	m := ggmlName.FindStringSubmatch(name)
	if m == nil {
		return Library{}, false
	}
	for _, kind := range []struct {
		machine  string
		variants map[string]string
		features map[string]feature
	}{{"x86_64", x86Variants, x86}, {"aarch64", armVariants, arm}} {
		needs, ok := kind.variants[m[2]]
		if !ok {
			continue
		}
		l := Library{Stated: true, Family: m[1], Variant: m[2], score: 1}
		var sets []string
		for name := range strings.FieldsSeq(needs) {
			f := kind.features[name]
			sets, l.score = append(sets, strings.Fields(f.sets)...), l.score+f.score
		}
		l.Target = arch.NewCPU(kind.machine, sets...)
		return l, true
	}
	return Library{}, false
}
