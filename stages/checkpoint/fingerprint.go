package checkpoint

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
)

// fingerprint hashes what identifies the checkpoint. Every text goes in with its
// length before it, so that two different contents cannot run together.
func (c *contents) fingerprint() string {
	sum := sha256.New()
	h := bufio.NewWriterSize(sum, 1<<16) // the hash costs less in large pieces
	putText(h, "infbench.checkpoint/1")
	putText(h, c.config.text)
	putText(h, c.index.total.Text)
	for _, e := range c.index.Entries() {
		putText(h, e.Tensor)
		putText(h, e.Shard)
	}
	for _, n := range c.order {
		head, ok := c.headers[n]
		if !ok {
			continue
		}
		putText(h, n)
		tensors := make([]*Tensor, len(head.tensors))
		for i := range tensors {
			tensors[i] = &head.tensors[i]
		}
		slices.SortFunc(tensors, func(a, b *Tensor) int { return strings.Compare(a.Name, b.Name) })
		for _, t := range tensors {
			putText(h, t.Name)
			putText(h, string(t.DType))
			putNumber(h, int64(len(t.Shape)))
			for _, s := range t.Shape {
				putNumber(h, s)
			}
		}
	}
	_ = h.Flush() // a hash never fails
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

func putText(h *bufio.Writer, s string) {
	putNumber(h, int64(len(s)))
	_, _ = h.WriteString(s)
}

func putNumber(h *bufio.Writer, n int64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	_, _ = h.Write(b[:])
}
