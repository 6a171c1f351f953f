package static_test

import (
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"infbench/gates"
	"infbench/gates/gatetest"
	"infbench/stages/checkpoint"
	"infbench/stages/checkpoint/demo"
	"infbench/stages/checkpoint/gguftest"
	"infbench/stages/static"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/tidwall/gjson"
)

// TestFixtures runs each check over its fixtures: a checkpoint folder as a txtar
// archive. "X.safetensors.header" holds the text of a header, from which a file of
// the right size is made; "X.safetensors.values" puts
// values into its tensors; "X.gguf.json" describes a GGUF file; "X.safetensors.raw" holds a whole file as hex. In the
// comment "open: NAME" opens one file instead of the folder, "serving: yes" asks
// about serving, "resize: NAME DELTA" cuts or lengthens a file, "listed: NAME"
// lists a file that is not here, "filled: yes" puts a plausible number into every
// value, and "mutation:" says what was done to a sound one.
func TestFixtures(t *testing.T) {
	gatetest.Run(t, static.Checks(), subject)
}

func subject(t *testing.T, fixture *txtar.Archive) checkpoint.Inventory {
	dir := t.TempDir()
	for _, f := range fixture.Files {
		name, data := f.Name, f.Data
		switch {
		case strings.HasSuffix(name, ".values"):
			continue // goes into the shard of its name
		case strings.HasSuffix(name, ".header"):
			name, data = strings.TrimSuffix(name, ".header"), shard(t, f.Data)
			if gatetest.Field(fixture, "filled") == "yes" {
				plausible(data)
			}
			fill(t, data, fixture, name)
		case strings.HasSuffix(name, ".gguf.json"):
			raw, err := gguftest.Parse(f.Data)
			if err != nil {
				t.Fatal(err)
			}
			name, data = strings.TrimSuffix(name, ".json"), raw
		case strings.HasSuffix(name, ".raw"):
			raw, err := hex.DecodeString(strings.Join(strings.Fields(string(f.Data)), ""))
			if err != nil {
				t.Fatal(err)
			}
			name, data = strings.TrimSuffix(name, ".raw"), raw
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if name, delta, ok := strings.Cut(gatetest.Field(fixture, "resize"), " "); ok {
		resize(t, filepath.Join(dir, name), delta)
	}
	inv, err := checkpoint.Open(filepath.Join(dir, gatetest.Field(fixture, "open")))
	if err != nil {
		t.Fatal(err)
	}
	if name := gatetest.Field(fixture, "listed"); name != "" {
		inv = inv.WithListed(checkpoint.ListedFile(name, -1))
	}
	if gatetest.Field(fixture, "serving") == "yes" {
		inv = inv.ForServing()
	}
	return inv
}

// fill puts values into the tensors of a shard: lines of a tensor's name and hex
// digits, which are repeated to its end.
func fill(t *testing.T, file []byte, fixture *txtar.Archive, name string) {
	t.Helper()
	n := binary.LittleEndian.Uint64(file)
	for _, f := range fixture.Files {
		if f.Name != name+".values" {
			continue
		}
		for line := range strings.Lines(string(f.Data)) {
			tensor, digits, _ := strings.Cut(strings.TrimSpace(line), " ")
			value, err := hex.DecodeString(digits)
			at := gjson.GetBytes(file[8:8+n], strings.ReplaceAll(tensor, ".", `\.`)+".data_offsets").Array()
			if err != nil || len(at) != 2 || len(value) == 0 {
				t.Fatalf("%q names no tensor, or no bytes", line)
			}
			for i := at[0].Int(); i < at[1].Int(); i++ {
				file[8+int64(n)+i] = value[(i-at[0].Int())%int64(len(value))]
			}
		}
	}
}

var offsets = regexp.MustCompile(`"data_offsets":\s*\[(\d+),\s*(\d+)\]`)

// shard returns a file with the header and room for its tensors.
func shard(t *testing.T, header []byte) []byte {
	t.Helper()
	header = []byte(strings.TrimSpace(string(header)))
	end := 0
	for _, m := range offsets.FindAllSubmatch(header, -1) {
		if n, err := strconv.Atoi(string(m[2])); err == nil && n < 1<<21 {
			end = max(end, n)
		}
	}
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(out, header...), make([]byte, end)...)
}

// plausible fills the tensors of a shard with bytes that are a small number other
// than zero in every dtype.
func plausible(file []byte) {
	for i := 8 + int(binary.LittleEndian.Uint64(file)); i < len(file); i++ {
		file[i] = 0x3c
	}
}

func resize(t *testing.T, path, delta string) {
	t.Helper()
	d, err := strconv.ParseInt(delta, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()+d); err != nil {
		t.Fatal(err)
	}
}

// TestDemo runs all checks over the demo checkpoint: nothing may be found, and
// what can be asked of a complete FP8 checkpoint must have been asked.
func TestDemo(t *testing.T) {
	dir := t.TempDir()
	if err := demo.Write(dir); err != nil {
		t.Fatal(err)
	}
	inv, err := checkpoint.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	passed := map[string]bool{}
	for id, v := range judge(t, inv.ForServing()) {
		if s := v.Status(); s != gates.Passed && s != gates.NotApplicable {
			t.Errorf("%s says %s (%s)", id, s, v.Summary())
		}
		passed[id] = v.Status() == gates.Passed
	}
	for _, id := range []string{"q.missing_part", "q.dtype", "q.shape", "hdr.hole", "idx.tensor_not_in_shard", "arch.layers", "arch.embed_rows", "tok.eos_mismatch", "tok.no_template"} {
		if !passed[id] {
			t.Errorf("%s was not asked of the demo", id)
		}
	}
}

// TestEvidenceIsGrouped holds the founding case: scales lost in many layers are
// one line with their range, not a line each.
func TestEvidenceIsGrouped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var index strings.Builder
	index.WriteString(`{"metadata":{},"weight_map":{`)
	for layer := range 61 {
		base := `"model.layers.` + strconv.Itoa(layer) + `.mlp.down_proj.`
		index.WriteString(base + `weight":"a.safetensors",`)
		if layer < 3 || layer > 45 {
			index.WriteString(base + `weight_scale_inv":"a.safetensors",`)
		}
	}
	index.WriteString(`"model.norm.weight":"a.safetensors"}}`)
	write(t, dir, "model.safetensors.index.json", index.String())
	write(t, dir, "config.json", `{"model_type":"deepseek_v3","num_hidden_layers":61,"quantization_config":{"quant_method":"fp8","weight_block_size":[128,128]}}`)
	inv, err := checkpoint.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	v := judge(t, inv)["q.missing_part"]
	const want = "43 modules in 43 of 61 layers lack weight_scale_inv: model.layers.3.mlp.down_proj"
	if v.Status() != gates.Failed || !strings.HasPrefix(v.Summary(), want) {
		t.Errorf("got %s %q, want prefix %q", v.Status(), v.Summary(), want)
	}
	if e := v.Evidence(); len(e) != 1 || e[0] != "model.layers.*.mlp.down_proj, layers 3-45 (43)" {
		t.Errorf("evidence %q, want one line with the range", e)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
