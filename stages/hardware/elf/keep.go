package elf

// Keep returns a watcher that keeps the first n bytes wherever the pattern is and accept,
// when there is one, takes the first 16 bytes there; limit bounds what is kept in one file.
func Keep(pattern string, n, limit int64, accept func(first []byte) bool) Watcher {
	return keeper{[]byte(pattern), n, limit, accept}
}

type keeper struct {
	pattern  []byte
	n, limit int64
	accept   func([]byte) bool
}

// Pattern implements [Watcher].
func (k keeper) Pattern() []byte { return k.pattern }

// Limit implements [Watcher].
func (k keeper) Limit() int64 { return k.limit }

// Follow implements [Watcher]. What is short of n bytes because the file ends is kept too.
func (k keeper) Follow(off int64) Trail {
	const first = 16
	at, end := off, off+k.n
	return func(got []byte) (Span, bool) {
		if at == off+first && k.accept != nil && !k.accept(got) {
			return Span{}, false
		}
		n := min(end-at, maxPart)
		if at == off {
			n = first
		}
		next := Span{at, at + n}
		at += n
		return next, n > 0
	}
}
