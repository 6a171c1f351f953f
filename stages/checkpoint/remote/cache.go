package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"infbench/stages/checkpoint"
)

// A cache keeps what was read of files that are fixed to a commit, so that the same
// question is answered again without the network. Names are hashes: no host or
// repository can be read off the folder. A cache that cannot be written or read is
// no cache; nothing fails for it.
type cache struct{ dir string }

// maxCached is the largest entry that is kept, in bytes.
const maxCached = 32 << 20

// A cached is what is known of one file: its size and pieces of it.
type cached struct {
	size   int64
	pieces []piece
}

type piece struct {
	at   int64
	data []byte
}

func (c cache) path(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:]))
}

// load returns what is known of a file. An entry holds a SHA-256 of the rest, the
// file's size, and pieces: offset, length, bytes; all numbers are 64 bits,
// little-endian. A damaged entry is none.
func (c cache) load(key string) (cached, bool) {
	if c.dir == "" || key == "" {
		return cached{}, false
	}
	if info, err := os.Lstat(c.path(key)); err != nil || !info.Mode().IsRegular() { // a pipe would block
		return cached{}, false
	}
	f, err := os.Open(c.path(key))
	if err != nil {
		return cached{}, false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 2*maxCached))
	if err != nil || len(b) < sha256.Size+8 {
		return cached{}, false
	}
	sum, b := b[:sha256.Size], b[sha256.Size:]
	if got := sha256.Sum256(b); !bytes.Equal(sum, got[:]) {
		return cached{}, false
	}
	le := binary.LittleEndian
	out := cached{size: int64(le.Uint64(b))}
	for b = b[8:]; len(b) >= 16; {
		at, n := int64(le.Uint64(b)), le.Uint64(b[8:])
		if b = b[16:]; n > uint64(len(b)) {
			return cached{}, false
		}
		out.pieces = append(out.pieces, piece{at, b[:n]})
		b = b[n:]
	}
	return out, true
}

func (c cache) store(key string, e cached) {
	if c.dir == "" || key == "" || os.MkdirAll(c.dir, 0o700) != nil {
		return
	}
	le := binary.LittleEndian
	b := le.AppendUint64(make([]byte, sha256.Size), uint64(e.size))
	for _, p := range e.pieces {
		b = le.AppendUint64(le.AppendUint64(b, uint64(p.at)), uint64(len(p.data)))
		b = append(b, p.data...)
		if len(b) > maxCached {
			return
		}
	}
	sum := sha256.Sum256(b[sha256.Size:])
	copy(b, sum[:])
	f, err := os.CreateTemp(c.dir, "new-*") // readable by its owner alone
	if err != nil {
		return
	}
	_, err = f.Write(b)
	if err2 := f.Close(); err == nil && err2 == nil && os.Rename(f.Name(), c.path(key)) == nil {
		return
	}
	_ = os.Remove(f.Name()) // half an entry is none
}

// readCached returns a whole file, from the cache if it is there.
func (c *client) readCached(ctx context.Context, key string, u *url.URL, name string, limit int64) ([]byte, error) {
	if e, ok := c.cache.load(key + " whole"); ok && key != "" && len(e.pieces) == 1 && int64(len(e.pieces[0].data)) <= limit {
		return e.pieces[0].data, nil
	}
	body, header, err := c.whole(ctx, asked{url: u, what: name}, limit)
	if err != nil {
		return nil, err
	}
	if isPage(header) {
		return nil, errPage
	}
	if key != "" {
		c.cache.store(key+" whole", cached{int64(len(body)), []piece{{0, body}}})
	}
	return body, nil
}

// openCached opens a file; what the cache knows of it is not asked for.
func (c *client) openCached(ctx context.Context, key string, u *url.URL, name string, ahead int64) (checkpoint.File, checkpoint.ReaderAtCloser, error) {
	k := &keeper{c: c, key: key, open: func() (*remoteFile, error) { return c.openFile(ctx, u, name, ahead) }}
	if e, ok := c.cache.load(key); ok {
		k.known = e
		return checkpoint.HeldFile(name, e.size), k, nil
	}
	if err := k.connect(); err != nil {
		return checkpoint.File{}, nil, err
	}
	if k.known.size = k.file.size; k.known.size < 0 {
		return checkpoint.File{}, nil, fmt.Errorf("the server does not tell how long %s is", name)
	}
	return checkpoint.HeldFile(name, k.file.size), k, nil
}

// A keeper reads what it knows from memory and the rest from the server, and keeps it.
type keeper struct {
	c     *client
	key   string
	open  func() (*remoteFile, error)
	file  *remoteFile
	known cached
	grown bool
}

func (k *keeper) connect() (err error) {
	if k.file == nil {
		k.file, err = k.open()
	}
	return err
}

func (k *keeper) ReadAt(p []byte, off int64) (int, error) {
	for _, q := range k.known.pieces {
		if off >= q.at && off+int64(len(p)) <= q.at+int64(len(q.data)) {
			return copy(p, q.data[off-q.at:]), nil
		}
	}
	if err := k.connect(); err != nil {
		return 0, err
	}
	n, err := k.file.ReadAt(p, off)
	if err == nil && k.key != "" {
		k.known.pieces = append(k.known.pieces, piece{off, slices.Clone(p)})
		k.grown = true
	}
	return n, err
}

func (k *keeper) Close() error {
	if k.grown {
		k.c.cache.store(k.key, k.known)
	}
	return nil
}
