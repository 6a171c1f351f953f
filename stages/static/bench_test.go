package static_test

import (
	"strings"
	"testing"

	"infbench/gates"
	"infbench/stages/checkpoint"
	"infbench/stages/checkpoint/sparse"
	"infbench/stages/static"
)

// BenchmarkStage100k opens the checkpoint, reads all headers and asks every check.
func BenchmarkStage100k(b *testing.B) {
	dir := b.TempDir()
	if err := sparse.Write(dir); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		inv, err := checkpoint.Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range static.Checks() {
			if v := gates.Run(b.Context(), c, inv); v.Status() == gates.Failed && strings.HasPrefix(c.ID, "static/q.") {
				b.Fatal(c.ID, v.Summary())
			}
		}
	}
}
