package batching

// A pool holds the KV blocks. A block nobody holds stays in the free list, and if
// it was published its content can still be found by hash until it is taken:
//
//	head ── next to be taken (unpublished first, then least recently used) … tail
type pool struct {
	refs  []int32
	hash  []uint64 // 0: content not published
	prev  []int32
	next  []int32
	head  int32
	tail  int32
	free  int
	index map[uint64]int32
}

const none = int32(-1)

func newPool(blocks int) *pool {
	p := &pool{
		refs: make([]int32, blocks), hash: make([]uint64, blocks),
		prev: make([]int32, blocks), next: make([]int32, blocks),
		head: none, tail: none, index: make(map[uint64]int32),
	}
	for b := range blocks {
		p.pushTail(int32(b))
	}
	return p
}

func (p *pool) pushTail(b int32) {
	p.prev[b], p.next[b] = p.tail, none
	if p.tail == none {
		p.head = b
	} else {
		p.next[p.tail] = b
	}
	p.tail = b
	p.free++
}

func (p *pool) pushHead(b int32) {
	p.prev[b], p.next[b] = none, p.head
	if p.head == none {
		p.tail = b
	} else {
		p.prev[p.head] = b
	}
	p.head = b
	p.free++
}

func (p *pool) unlink(b int32) {
	if p.prev[b] == none {
		p.head = p.next[b]
	} else {
		p.next[p.prev[b]] = p.next[b]
	}
	if p.next[b] == none {
		p.tail = p.prev[b]
	} else {
		p.prev[p.next[b]] = p.prev[b]
	}
	p.free--
}

// take hands out a block and forgets what it held. The caller knows that one is free.
func (p *pool) take() int32 {
	b := p.head
	if b == none {
		panic("batching: take from an empty pool")
	}
	p.unlink(b)
	p.forget(b)
	p.refs[b] = 1
	return b
}

// retain adds a holder to a published block.
func (p *pool) retain(b int32) {
	if p.refs[b] == 0 {
		p.unlink(b)
	}
	p.refs[b]++
}

// release drops one holder. A published block goes to the end of the queue for
// reuse, an unpublished one to the front: nobody can ever ask for it again.
func (p *pool) release(b int32) {
	p.refs[b]--
	switch {
	case p.refs[b] < 0:
		panic("batching: block released twice")
	case p.refs[b] > 0:
	case p.hash[b] != 0:
		p.pushTail(b)
	default:
		p.pushHead(b)
	}
}

// publish makes the content of a full block findable. When another block holds
// the same content already, that one stays the known copy.
func (p *pool) publish(b int32, hash uint64) {
	if p.hash[b] != 0 {
		return
	}
	if _, dup := p.index[hash]; dup {
		return
	}
	p.hash[b], p.index[hash] = hash, b
}

func (p *pool) forget(b int32) {
	if h := p.hash[b]; h != 0 {
		delete(p.index, h)
		p.hash[b] = 0
	}
}

func (p *pool) forgetAll() {
	clear(p.index)
	clear(p.hash)
}
