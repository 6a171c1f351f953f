package demo_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"infbench/stages/checkpoint"
	"infbench/stages/checkpoint/demo"
)

// want is the hash over all files; it changes only when the demo is changed on
// purpose.
const want = "7741ac3d339a4096eff38549a6380f309b1605f56b0430e1b35862b3d3d13bbf"

func TestWriteIsDeterministicAndSmall(t *testing.T) {
	dir := t.TempDir()
	if err := demo.Write(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	var size int
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		size += len(data)
		h.Write([]byte(e.Name()))
		h.Write(data)
	}
	if size >= 1_500_000 {
		t.Errorf("the demo takes %d bytes, want less than 1.5 MB", size)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("the bytes hash to %s, want %s", got, want)
	}
}

func TestWriteTwiceAndAfresh(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	for range 2 {
		if err := demo.Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	inv, err := checkpoint.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if p := inv.Weights().Presence(); p != checkpoint.Complete {
		t.Errorf("the demo is %s, want complete", p)
	}
	for _, h := range inv.Headers() {
		if !h.Sound() {
			t.Errorf("%s is not sound", h.Shard())
		}
	}
	if len(inv.Headers()) != 2 || len(inv.Names()) != 34 {
		t.Errorf("got %d headers and %d tensors, want 2 and 34", len(inv.Headers()), len(inv.Names()))
	}
}

func TestWriteNowhere(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := demo.Write(blocked); err == nil {
		t.Error("writing into a file succeeded")
	}
}
