package checkpoint

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"io"
	"slices"
	"strings"
)

// fingerprint hashes what identifies the checkpoint. Every text goes in with its
// length before it, so that two different contents cannot run together.
func (c *contents) fingerprint() string {
	h := sha256.New()
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
		tensors := slices.Clone(head.tensors)
		slices.SortFunc(tensors, func(a, b Tensor) int { return strings.Compare(a.Name, b.Name) })
		for _, t := range tensors {
			putText(h, t.Name)
			putText(h, string(t.DType))
			putNumber(h, int64(len(t.Shape)))
			for _, s := range t.Shape {
				putNumber(h, s)
			}
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

func putText(h hash.Hash, s string) {
	putNumber(h, int64(len(s)))
	_, _ = io.WriteString(h, s) // a hash never fails
}

func putNumber(h hash.Hash, n int64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	_, _ = h.Write(b[:])
}
