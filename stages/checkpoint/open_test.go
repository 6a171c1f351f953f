package checkpoint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"infbench/stages/checkpoint"
)

// put writes a file below dir.
func put(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, path string) checkpoint.Inventory {
	t.Helper()
	inv, err := checkpoint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "folders/x/y", nil)
	put(t, dir, "cache/blobs/aa", nil)
	put(t, dir, "cache/snapshots/x/y", nil)
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "readme/README.md", []byte("# hello"))
	put(t, dir, "ggufs/a-q4.gguf", []byte("GGUF\x03\x00\x00\x00"))
	put(t, dir, "ggufs/a-q8.gguf", []byte("GGUF\x03\x00\x00\x00"))
	put(t, dir, "text/notes.txt", []byte("notes"))
	for _, c := range []struct{ path, want string }{
		{"nowhere", "no such file or folder"},
		{"folders/x/y", "neither an index nor a file of weights"},
		{"empty", "the folder is empty"},
		{"folders", "it holds only folders"},
		{"cache", "give one of the folders below its snapshots"},
		{"readme", "no config.json, index, .safetensors or .gguf file among its 1 files"},
		{"ggufs", "it holds 2 GGUF models (a-q4.gguf …): name one of the files"},
		{"text/notes.txt", "neither an index nor a file of weights"},
	} {
		_, err := checkpoint.Open(filepath.Join(dir, c.path))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Open(%s) says %v, want one line with %q", c.path, err, c.want)
		}
	}
	if _, err := checkpoint.Open("https://example.com/org/model"); err == nil || !strings.Contains(err.Error(), "a URL is no path") {
		t.Errorf("a URL says %v", err)
	}
}

func TestOpenUnreadable(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("the superuser can read everything")
	}
	dir := t.TempDir()
	put(t, dir, "config.json", []byte(`{}`))
	if err := os.Chmod(dir, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	if _, err := checkpoint.Open(dir); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("got %v, want permission denied", err)
	}
}

// In a hub cache the snapshot is links to blobs, and its folder names the commit.
func TestHubCache(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	const commit = "0123456789abcdef0123456789abcdef01234567"
	put(t, root, "models--org--tiny-llm/blobs/aa", []byte(`{"model_type": "llama"}`))
	put(t, root, "models--org--tiny-llm/blobs/bb", shardOf(`{"w": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}}`, 4))
	snapshot := filepath.Join(root, "models--org--tiny-llm", "snapshots", commit)
	if err := os.MkdirAll(snapshot, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, blob := range map[string]string{"config.json": "aa", "model.safetensors": "bb", "tokenizer.json": "gone"} {
		if err := os.Symlink(filepath.Join("..", "..", "blobs", blob), filepath.Join(snapshot, name)); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
	}
	inv := open(t, snapshot)
	if inv.Name() != "tiny-llm" || inv.Revision() != commit {
		t.Errorf("got name %q at %q, want tiny-llm at the commit", inv.Name(), inv.Revision())
	}
	if got := inv.Config().ModelType(); got != "llama" {
		t.Errorf("model_type %q through the link, want llama", got)
	}
	if len(inv.Names()) != 1 || inv.Weights().Presence() != checkpoint.Complete {
		t.Errorf("got tensors %v, %s", inv.Names(), inv.Weights().Presence())
	}
	if b := inv.Broken(); len(b) != 1 || b[0] != "tokenizer.json" {
		t.Errorf("broken links %v, want tokenizer.json", b)
	}
	if _, ok := inv.File("tokenizer.json"); ok {
		t.Error("a broken link counts as a file")
	}
}

// A shard whose name leaves the folder is never opened, readable or not.
func TestShardOutside(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put(t, root, "secret.safetensors", shardOf(`{"w": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}}`, 4))
	put(t, root, "model/model.safetensors.index.json", []byte(`{"weight_map": {"w": "../secret.safetensors"}}`))
	inv := open(t, filepath.Join(root, "model"))
	if len(inv.Headers()) != 0 {
		t.Errorf("read %s from outside the folder", inv.Headers()[0].Shard())
	}
	if w := inv.Weights(); len(w.Absent) != 1 {
		t.Errorf("the shard outside counts as %+v", w)
	}
}

func TestPlainName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"model-00001-of-00002.safetensors": true, "a..b.safetensors": true, "..": false, ".": false, "": false,
		"../x": false, "a/b": false, `a\b`: false, "C:x": false, "a\x00b": false, strings.Repeat("a", 256): false,
	} {
		if got := checkpoint.PlainName(name); got != want {
			t.Errorf("PlainName(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestPresence(t *testing.T) {
	t.Parallel()
	index := []byte(`{"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}`)
	sound := shardOf(`{"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}`, 1)
	pointer := []byte("version https://git-lfs.github.com/spec/v1\noid sha256:0011\nsize 17\n")
	for _, c := range []struct {
		what string
		one  []byte
		want checkpoint.Presence
	}{{"no shard", nil, checkpoint.NoWeights}, {"a pointer", pointer, checkpoint.NoWeights}, {"a shard", sound, checkpoint.PartlyPresent}} {
		dir := t.TempDir()
		put(t, dir, "model.safetensors.index.json", index)
		if c.one != nil {
			put(t, dir, "1.safetensors", c.one)
		}
		inv := open(t, dir)
		if got := inv.Weights().Presence(); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
		whole := inv.WithListed(checkpoint.ListedFile("1.safetensors", 9), checkpoint.ListedFile("2.safetensors", -1))
		if got := len(whole.Weights().Absent); got != 0 {
			t.Errorf("%s: %d absent after the listing, want none", c.what, got)
		}
		if got := inv.Weights().Presence(); got != c.want {
			t.Errorf("%s: WithListed changed the inventory that it was called on", c.what)
		}
	}
}

func TestPointer(t *testing.T) {
	t.Parallel()
	p, ok := checkpoint.ParsePointer([]byte("version https://git-lfs.github.com/spec/v1\noid sha256:00ff\nsize 4945242264\n"))
	if !ok || p.OID != "sha256:00ff" || p.Size != 4945242264 {
		t.Errorf("got %+v %v", p, ok)
	}
	if _, ok := checkpoint.ParsePointer([]byte(`{"version": "https://git-lfs"}`)); ok {
		t.Error("JSON was taken for a pointer")
	}
}

func TestSingleFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "config.json", []byte(`{"model_type": "llama"}`))
	put(t, dir, "x.safetensors.index.json", []byte(`{"weight_map": {"a": "1.safetensors"}}`))
	put(t, dir, "1.safetensors", shardOf(`{"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}`, 1))
	index := open(t, filepath.Join(dir, "x.safetensors.index.json"))
	if index.Kind() != checkpoint.IndexOnly || len(index.Files()) != 2 || !index.Config().Listed() || len(index.Names()) != 1 {
		t.Errorf("the index and what lies beside it: %s, %d files, names %v", index.Kind(), len(index.Files()), index.Names())
	}
	shard := open(t, filepath.Join(dir, "1.safetensors"))
	if shard.Kind() != checkpoint.SingleShard || len(shard.Headers()) != 1 || len(shard.Names()) != 1 {
		t.Errorf("the shard alone: %s, %d headers", shard.Kind(), len(shard.Headers()))
	}
	if shard.Name() != "1.safetensors" {
		t.Errorf("name %q, want the base name", shard.Name())
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	make := func(config, header string) string {
		dir := t.TempDir()
		put(t, dir, "config.json", []byte(config))
		put(t, dir, "model.safetensors", shardOf(header, 8))
		return open(t, dir).Fingerprint()
	}
	const config = `{"model_type": "llama"}`
	one := make(config, `{"a": {"dtype": "U8", "shape": [8], "data_offsets": [0, 8]}}`)
	if got := make(config, `{ "a": {"shape": [8], "dtype": "U8", "data_offsets": [0, 8]} }`); got != one {
		t.Error("the fingerprint depends on the layout of the header's text")
	}
	seen := map[string]string{one: "the first"}
	for what, fp := range map[string]string{
		"another name":   make(config, `{"b": {"dtype": "U8", "shape": [8], "data_offsets": [0, 8]}}`),
		"another dtype":  make(config, `{"a": {"dtype": "I8", "shape": [8], "data_offsets": [0, 8]}}`),
		"another shape":  make(config, `{"a": {"dtype": "U8", "shape": [2, 4], "data_offsets": [0, 8]}}`),
		"another config": make(`{"model_type": "qwen2"}`, `{"a": {"dtype": "U8", "shape": [8], "data_offsets": [0, 8]}}`),
	} {
		if seen[fp] != "" {
			t.Errorf("%s has the fingerprint of %s", what, seen[fp])
		}
		seen[fp] = what
	}
}

func TestZeroInventory(t *testing.T) {
	t.Parallel()
	var inv checkpoint.Inventory
	if len(inv.Files()) != 0 || len(inv.Names()) != 0 || inv.Config().Readable() || inv.Index().Listed() || len(inv.Modules()) != 0 {
		t.Error("the zero inventory holds something")
	}
	if inv.Weights().Presence() != checkpoint.NoWeights {
		t.Error("the zero inventory has weights")
	}
}
