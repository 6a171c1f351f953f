package tree

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const sniffed = 512 // bytes, by which all kinds are told

func isTar(head []byte) bool {
	return len(head) >= 262 && string(head[257:262]) == "ustar"
}

func isGzip(head []byte) bool { return bytes.HasPrefix(head, []byte("\x1f\x8b")) }
func isZstd(head []byte) bool { return bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")) }

func isPacked(head []byte) bool { return isGzip(head) || isZstd(head) }

// unpack returns what a stream holds, whether it is compressed or not, and a function that
// ends the work.
func unpack(r *bufio.Reader) (io.Reader, func(), error) {
	head, err := r.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	switch {
	case isGzip(head):
		z, err := gzip.NewReader(r)
		return z, func() {}, err
	case isZstd(head):
		// One goroutine: what runs ahead would hold more memory than it saves time here.
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return r, func() {}, nil
}

// peek returns how the content of something compressed begins.
func (v *visitor) peek(r io.Reader) ([]byte, error) {
	z, done, err := unpack(bufio.NewReader(r))
	if err != nil {
		return nil, err
	}
	defer done()
	head := make([]byte, sniffed)
	n, err := io.ReadFull(metered{z, &v.budget}, head)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return head[:n], err
}
