package tokens

import (
	"strings"
	"sync"
)

// merger is the BPE model proper: it turns one word (raw bytes) into ids.
type merger struct {
	merges map[uint64]merge // by pair of ids
	bytes  [256]byteToken
	// words holds the vocabulary by raw bytes; it is nil unless the file says
	// ignore_merges, where a whole word is looked up before anything is merged.
	words   map[string]uint32
	unk     uint32
	hasUnk  bool
	fuseUnk bool

	cache   wordCache
	scratch sync.Pool // of *scratch
}

type byteToken struct {
	id    uint32
	known bool
}

type merge struct{ rank, id uint32 }

func pair(a, b uint32) uint64 { return uint64(a)<<32 | uint64(b) }

// symbol is a node of the word's linked list. A removed one has id gone.
type symbol struct {
	id         uint32
	prev, next int32
	gone       bool
}

const none = int32(-1)

type scratch struct {
	symbols []symbol
	heap    candidates
}

// append adds the ids of one word to dst.
func (m *merger) append(dst []uint32, word string) []uint32 {
	if id, ok := m.words[word]; ok {
		return append(dst, id)
	}
	if ids, ok := m.cache.get(word); ok {
		return append(dst, ids...)
	}
	s, _ := m.scratch.Get().(*scratch)
	if s == nil {
		s = new(scratch)
	}
	defer m.scratch.Put(s)

	m.fill(s, word)
	m.mergeAll(s)
	from := len(dst)
	for i := range s.symbols {
		if !s.symbols[i].gone {
			dst = append(dst, s.symbols[i].id)
		}
	}
	m.cache.put(word, dst[from:])
	return dst
}

// fill makes one symbol per byte. A byte that the vocabulary lacks is the
// unknown token, or nothing where the file names none: so does the reference.
func (m *merger) fill(s *scratch, word string) {
	s.symbols, s.heap = s.symbols[:0], s.heap[:0]
	afterUnk := false
	for i := range len(word) {
		b := m.bytes[word[i]]
		switch {
		case b.known:
			s.push(b.id)
			afterUnk = false
		case m.hasUnk && !(afterUnk && m.fuseUnk):
			s.push(m.unk)
			afterUnk = true
		}
	}
	if n := len(s.symbols); n > 0 {
		s.symbols[n-1].next = none
	}
}

func (s *scratch) push(id uint32) {
	n := int32(len(s.symbols))
	s.symbols = append(s.symbols, symbol{id: id, prev: n - 1, next: n + 1})
}

// mergeAll joins pairs, the lowest rank first and the leftmost of equals, until
// no merge applies. The heap keeps one letter repeated a hundred thousand times
// at n log n; entries are not updated but checked when they come up.
func (m *merger) mergeAll(s *scratch) {
	for i := range s.symbols {
		m.offer(s, int32(i))
	}
	for len(s.heap) > 0 {
		top := s.heap.pop()
		left := &s.symbols[top.pos()]
		if left.gone || left.next == none {
			continue
		}
		right := &s.symbols[left.next]
		if now, ok := m.merges[pair(left.id, right.id)]; !ok || now.id != top.id {
			continue // the neighbours are no longer those of the entry
		}
		left.id, left.next, right.gone = top.id, right.next, true
		if right.next != none {
			s.symbols[right.next].prev = top.pos()
		}
		if left.prev != none {
			m.offer(s, left.prev)
		}
		m.offer(s, top.pos())
	}
}

// offer queues the merge of the symbol at pos with its right neighbour.
func (m *merger) offer(s *scratch, pos int32) {
	left := s.symbols[pos]
	if left.next == none {
		return
	}
	if to, ok := m.merges[pair(left.id, s.symbols[left.next].id)]; ok {
		s.heap.push(candidate{key: uint64(to.rank)<<32 | uint64(uint32(pos)), id: to.id})
	}
}

// candidate is a possible merge; key orders by rank, then by position.
type candidate struct {
	key uint64
	id  uint32
}

func (c candidate) pos() int32 { return int32(uint32(c.key)) }

// candidates is a binary heap, lowest key first. container/heap would box each entry.
type candidates []candidate

func (h *candidates) push(c candidate) {
	q := append(*h, c)
	i := len(q) - 1
	for i > 0 {
		up := (i - 1) / 2
		if q[up].key <= c.key {
			break
		}
		q[i] = q[up]
		i = up
	}
	q[i] = c
	*h = q
}

func (h *candidates) pop() candidate {
	q := *h
	top, last := q[0], q[len(q)-1]
	q = q[:len(q)-1]
	i := 0
	for {
		down := 2*i + 1
		if down >= len(q) {
			break
		}
		if down+1 < len(q) && q[down+1].key < q[down].key {
			down++
		}
		if last.key <= q[down].key {
			break
		}
		q[i] = q[down]
		i = down
	}
	if len(q) > 0 {
		q[i] = last
	}
	*h = q
	return top
}

// wordCache remembers the ids of short words. It is bounded: a soak over random
// text must not grow the process that measures.
type wordCache struct {
	mu  sync.RWMutex
	ids map[string][]uint32
}

const (
	cacheWords   = 1 << 15
	cacheWordLen = 64 // longer words seldom come twice
)

func (c *wordCache) get(word string) ([]uint32, bool) {
	if len(word) > cacheWordLen {
		return nil, false
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	ids, ok := c.ids[word]
	return ids, ok
}

func (c *wordCache) put(word string, ids []uint32) {
	if len(word) > cacheWordLen {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ids == nil || len(c.ids) >= cacheWords {
		c.ids = make(map[string][]uint32) // start anew: the common words are back at once
	}
	// Cloned, or each entry would keep the whole text it was cut from.
	c.ids[strings.Clone(word)] = append([]uint32(nil), ids...)
}
