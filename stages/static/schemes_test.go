package static_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"infbench/gates"
	"infbench/stages/checkpoint"
	"infbench/stages/static"
)

// A stored is one line of testdata/schemes.txt: a part of a layer.
type stored struct {
	name, dtype          string
	shape                []int64
	anyType, anyShape    bool
	required, onlyListed bool
}

// A facts is one block of it: what a variant stores under a declaration.
type facts struct {
	scheme, variant, declaration string
	modules                      []string
	parts                        []stored
}

func readFacts(t *testing.T) []facts {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "schemes.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var out []facts
	for block := range strings.SplitSeq(string(text), "\n\n") {
		var f facts
		for line := range strings.Lines(block) {
			w := strings.Fields(line)
			switch {
			case line[0] == '#':
			case f.scheme == "":
				declaration := line[strings.IndexByte(line, '{'):]
				f = facts{w[0], strings.ReplaceAll(w[1], "_experts", " experts"), declaration, []string{"self_attn.o_proj", "mlp.down_proj"}, nil}
				f.variant = strings.ReplaceAll(f.variant, "per_tensor", "per tensor")
			case w[0] == "at":
				f.modules = w[1:]
			default:
				p := stored{name: w[0], required: w[3] != "opt", onlyListed: w[3] == "listed"}
				p.dtype, p.anyType = strings.CutSuffix(w[1], "?")
				shape, anyShape := strings.CutSuffix(w[2], "?")
				p.anyShape = anyShape
				for axis := range strings.SplitSeq(strings.Trim(shape, "-"), ",") {
					if n, err := strconv.ParseInt(axis, 10, 64); err == nil {
						p.shape = append(p.shape, n)
					}
				}
				f.parts = append(f.parts, p)
			}
		}
		if f.scheme != "" {
			out = append(out, f)
		}
	}
	return out
}

// A tensor of a checkpoint that is made for one test.
type tensor struct {
	name, dtype string
	shape       []int64
}

func (f facts) tensors() []tensor {
	var out []tensor
	for layer := range 2 {
		for _, m := range f.modules {
			for _, p := range f.parts {
				name := fmt.Sprintf("model.layers.%d.%s.%s", layer, m, p.name)
				if p.name[0] == '_' {
					name = strings.Replace(name, "._", "_", 1)
				}
				out = append(out, tensor{name, p.dtype, p.shape})
			}
		}
		out = append(out, tensor{fmt.Sprintf("model.layers.%d.input_layernorm.weight", layer), "BF16", []int64{128}})
	}
	return append(out, tensor{"model.norm.weight", "BF16", []int64{128}}, tensor{"lm_head.weight", "BF16", []int64{64, 128}})
}

// judgeTensors makes a checkpoint of the tensors and returns which q checks neither
// passed nor had nothing to ask.
func judgeTensors(t *testing.T, f facts, sound, list []tensor) []string {
	t.Helper()
	dir := t.TempDir()
	key := "quantization_config"
	if f.scheme == "mlx" {
		key = "quantization"
	}
	write(t, dir, "config.json", `{"model_type":"llama","num_hidden_layers":2,"`+key+`":`+f.declaration+`}`)
	if side := sideFiles[f.scheme]; side.name != "" {
		write(t, dir, side.name, side.text(sound))
	}
	header := map[string]any{}
	var end int64
	for _, x := range list {
		size := map[byte]int64{'4': 4, '2': 4, '6': 2, '8': 1, 'M': 1}[x.dtype[len(x.dtype)-1]]
		switch x.dtype {
		case "I64", "F64":
			size = 8
		case "F8_E4M3", "F8_E8M0":
			size = 1
		}
		for _, n := range x.shape {
			size *= n
		}
		header[x.name] = map[string]any{"dtype": x.dtype, "shape": append([]int64{}, x.shape...), "data_offsets": []int64{end, end + size}}
		end += size
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	file := shard(t, text)
	plausible(file)
	write(t, dir, "model.safetensors", string(file))
	inv, err := checkpoint.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for id, v := range judge(t, inv) {
		if s := v.Status(); strings.HasPrefix(id, "q.") && s != gates.Passed && s != gates.NotApplicable {
			got = append(got, id)
			t.Logf("%s: %s", id, v.Summary())
		}
	}
	slices.Sort(got)
	return got
}

// sideFiles are the files that some schemes write beside config.json, made from the
// tensors of the sound checkpoint.
var sideFiles = map[string]struct {
	name string
	text func([]tensor) string
}{
	"modelslim": {"quant_model_description.json", func(list []tensor) string {
		var lines []string
		for _, x := range list {
			kind := "W8A8"
			if strings.Contains(x.name, "norm") || strings.Contains(x.name, "lm_head") {
				kind = "FLOAT"
			}
			lines = append(lines, fmt.Sprintf("%q: %q", x.name, kind))
		}
		return `{"model_quant_type": "W8A8",` + strings.Join(lines, ",") + `}`
	}},
	"exl3": {"quantization_config.json", func(list []tensor) string {
		var lines []string
		for _, x := range list {
			lines = append(lines, fmt.Sprintf("%q: {}", x.name))
		}
		return `{"quant_method":"exl3","tensor_storage":{"all":{"stored_tensors":{` + strings.Join(lines, ",") + `}}}}`
	}},
}

// unseen are the schemes whose lost weight leaves nothing that would show its layer
// was quantised, with the reason.
var unseen = map[string]string{
	"vptq": "what is left stands in modules of its own",
}

// TestSchemes makes a checkpoint of each block of the facts: nothing may be found in
// it, and each single defect must be found by exactly its check.
func TestSchemes(t *testing.T) {
	covered := map[string]bool{"compressed-tensors dense": true, "bitnet online": true} // store nothing of their own
	for i, f := range readFacts(t) {
		covered[f.scheme+" "+f.variant] = true
		t.Run(fmt.Sprintf("%s-%s-%d", f.scheme, f.variant, i), func(t *testing.T) {
			t.Parallel()
			all := f.tensors()
			if got := judgeTensors(t, f, all, all); got != nil {
				t.Fatalf("sound, and %v is found", got)
			}
			last := "model.layers.1." + f.modules[len(f.modules)-1]
			for n, p := range f.parts {
				at := slices.IndexFunc(all, func(x tensor) bool { return x.name == last+"."+p.name || x.name == last+p.name })
				expect := func(what string, changed []tensor, want ...string) {
					t.Helper()
					if got := judgeTensors(t, f, all, changed); !slices.Equal(got, want) {
						t.Errorf("%s %s: found %v, want %v", p.name, what, got, want)
					}
				}
				switch lost := slices.Delete(slices.Clone(all), at, at+1); {
				case unseen[f.scheme] != "" && n == 0:
					expect("lost", lost) // see the reason there
				case n == 0:
					expect("lost", lost, "q.orphan_part")
				case p.required:
					expect("lost", lost, "q.missing_part")
				default:
					expect("lost", lost)
				}
				if changed := slices.Clone(all); !p.anyType && (unseen[f.scheme] == "" || n == 0) {
					changed[at].dtype = "F64"
					expect("of another dtype", changed, "q.dtype")
				}
				if changed := slices.Clone(all); !p.anyShape && n > 0 && unseen[f.scheme] == "" {
					changed[at].shape = append([]int64{3}, p.shape...)
					if len(p.shape) > 0 {
						changed[at].shape = slices.Clone(p.shape)
						changed[at].shape[0]++
					}
					expect("of another shape", changed, "q.shape")
				}
			}
		})
	}
	for _, s := range static.Schemes() {
		for _, v := range s.Variants {
			if !covered[s.Methods[0]+" "+v.Name] {
				t.Errorf("testdata/schemes.txt has no block for %s %s", s.Methods[0], v.Name)
			}
		}
	}
}
