package parity

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A Precision is what the numbers of a serving are said to be: what it keeps of the
// reference's weights. The zero Precision is not declared.
type Precision struct{ at int } // 1 + its place in precisions

// limits are what a serving of one precision may differ from a finer reference by. None
// of them is a law: they are what the source measured, with room above it.
type limits struct {
	// divergence is the largest mean of the KL divergence in nats, deviation the largest
	// mean absolute error of the chosen token's log probability, agreement the least share
	// of positions with the same likeliest token.
	divergence, deviation, agreement float64
	// gross is the share of prompts that may part over tokens which each side holds for
	// implausible of the other; 0 is none but one.
	gross float64
	// source says where the limits come from.
	source string
}

// small is the model that the measured figures are of; docs/PARITY.md has the commands.
const small = "SmolLM2-135M here: "

var precisions = []struct {
	name    string
	aliases []string
	limits
}{
	{"fp32", []string{"f32", "float32"}, limits{
		2e-5, 3e-3, 0.99, 0,
		small + "llama.cpp F32 against vLLM float32 2.0e-6",
	}},
	{"fp16", []string{"f16", "float16", "half"}, limits{
		1.6e-3, 0.03, 0.94, 0,
		"as bf16; " + small + "llama.cpp F16 5.0e-6. llama.cpp's table (LLaMA 3 8B): FP16 against BF16 2.5e-5",
	}},
	{"bf16", []string{"bfloat16"}, limits{
		1.6e-3, 0.03, 0.94, 0,
		small + "llama.cpp BF16 1.4e-4, vLLM bfloat16 8.8e-4 (activations and logits of 8 bits, too)",
	}},
	{"int8", []string{"i8", "q8_0", "w8a8", "w8a16"}, limits{
		1e-2, 0.07, 0.92, 0,
		small + "llama.cpp Q8_0 3.3e-3, of which 2.9e-3 are activations of 8 bits. llama.cpp's table: q8_0 1.4e-3 (LLaMA 3 8B), 3.7e-4 (LLaMA 2 7B)",
	}},
	{"fp8", []string{"f8", "e4m3", "float8"}, limits{
		6e-2, 0.2, 0.85, 0.25,
		small + "weights of E4M3 with a scale a tensor 2.9e-2. By size of error between int8 and int4; llama.cpp's table: q5_0 2.2e-2 (LLaMA 3 8B)",
	}},
	{"int4", []string{"i4", "fp4", "q4_0", "q4_1", "q4_k_m", "mxfp4", "nvfp4"}, limits{
		0.6, 1, 0.6, 0.25,
		small + "Q4_0 0.19, MXFP4 0.32. llama.cpp's table (LLaMA 3 8B): q4_K_M 3.1e-2, q4_0 7.2e-2, q2_K 0.45",
	}},
}

// ParsePrecision reads a name such as "bf16", "q8_0" or "float32".
func ParsePrecision(text string) (Precision, error) {
	name := strings.ToLower(strings.TrimSpace(text))
	for i, p := range precisions {
		if p.name == name {
			return Precision{i + 1}, nil
		}
		for _, a := range p.aliases {
			if a == name {
				return Precision{i + 1}, nil
			}
		}
	}
	return Precision{}, fmt.Errorf("no precision %.40q: want one of %s", text, strings.Join(PrecisionNames(), ", "))
}

// PrecisionNames returns the names, finest first.
func PrecisionNames() []string {
	var out []string
	for _, p := range precisions {
		out = append(out, p.name)
	}
	return out
}

// IsZero reports whether no precision is declared.
func (p Precision) IsZero() bool { return p.at == 0 }

// String returns the name, "undeclared" for the zero Precision.
func (p Precision) String() string {
	if p.at == 0 {
		return "undeclared"
	}
	return precisions[p.at-1].name
}

// MarshalJSON writes the name, null where none is declared.
func (p Precision) MarshalJSON() ([]byte, error) {
	if p.at == 0 {
		return []byte("null"), nil
	}
	return json.Marshal(p.String())
}

func (p Precision) limits() limits { return precisions[p.at-1].limits }

// finerThan reports whether p keeps more than q does.
func (p Precision) finerThan(q Precision) bool { return p.limits().divergence < q.limits().divergence }

// names are those of the precision and of all that cannot be told from it.
func (p Precision) names() []string {
	var same []string
	for _, q := range precisions {
		if q.divergence == p.limits().divergence {
			same = append(same, q.name)
		}
	}
	return same
}

func (p Precision) words() string { return strings.Join(p.names(), " or ") }
