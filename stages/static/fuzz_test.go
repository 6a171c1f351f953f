package static_test

import (
	"encoding/binary"
	"path/filepath"
	"strings"
	"testing"

	"infbench/gates"
	"infbench/stages/checkpoint"
	"infbench/stages/static"

	"github.com/rogpeppe/go-internal/txtar"
)

// Whatever a folder holds, every check answers by itself: none breaks, and none
// is without an outcome.
func FuzzChecks(f *testing.F) {
	files, _ := filepath.Glob("testdata/*/*.txtar")
	for i, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		text := map[string]string{}
		for _, e := range a.Files {
			text[e.Name] = string(e.Data)
		}
		if i%7 == 0 { // a few of each kind; the engine varies them
			f.Add(text["config.json"], text["model.safetensors.index.json"], text["model.safetensors.header"], text["tokenizer_config.json"])
		}
	}
	f.Fuzz(func(t *testing.T, config, index, header, tokenizer string) {
		dir := t.TempDir()
		write(t, dir, "config.json", config)
		if index != "" {
			write(t, dir, "model.safetensors.index.json", index)
		}
		if header != "" {
			raw := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
			write(t, dir, "model.safetensors", string(raw)+header+strings.Repeat("\x00", 64))
		}
		write(t, dir, "tokenizer_config.json", tokenizer)
		inv, err := checkpoint.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range static.Checks() {
			v := gates.Run(t.Context(), c, inv)
			if strings.Contains(v.Summary(), "the check itself broke") || v.Status() == 0 {
				t.Fatalf("%s: %s\n%s", c.ID, v.Summary(), strings.Join(v.Evidence(), "\n"))
			}
		}
	})
}
