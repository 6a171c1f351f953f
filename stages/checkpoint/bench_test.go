package checkpoint_test

import (
	"os"
	"path/filepath"
	"testing"

	"infbench/stages/checkpoint"
)

// BenchmarkHeaders reads the headers of a folder named by INFBENCH_BENCH_CHECKPOINT.
func BenchmarkHeaders(b *testing.B) {
	dir := os.Getenv("INFBENCH_BENCH_CHECKPOINT")
	if dir == "" {
		b.Skip("no folder named")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.safetensors"))
	b.ReportAllocs()
	for b.Loop() {
		for _, f := range files {
			r, err := os.Open(f)
			if err != nil {
				b.Fatal(err)
			}
			info, _ := r.Stat()
			if h := checkpoint.ReadHeader(f, r, info.Size()); !h.Sound() {
				b.Fatal(f)
			}
			r.Close()
		}
	}
}
