package elf

import (
	"bytes"
	"container/heap"
)

// scan looks for the patterns in what passes and keeps what their trails ask for. Trails
// are taken in the order of the bytes that they wait for, so that what is kept lies in the
// order of the file and bytes that two of them want are kept once.
type scan struct {
	captured *Captured
	hunts    []*hunt
	waiting  queue
	zeros    int64 // that end what has passed
	scratch  []byte
}

// hunt is a watcher at work.
type hunt struct {
	Watcher
	pattern []byte
	spent   int64 // of its limit
	trails  int   // that wait
	parts   int   // asked for
}

// wanted is a part that a trail waits for.
type wanted struct {
	Span
	at    int64 // what was kept of it ends here
	zeros int64 // that come before it
	trail Trail
	hunt  *hunt
}

// pass takes the first done bytes of b, which lie at base; what follows them is seen again.
func (s *scan) pass(base int64, b []byte, done int) {
	for _, h := range s.hunts {
		s.find(h, base, b, done)
	}
	end := base + int64(done)
	for len(s.waiting) > 0 && s.waiting[0].at < end {
		w := s.waiting[0]
		if s.keep(w, base, b[:done]) {
			heap.Fix(&s.waiting, 0)
		} else {
			w.hunt.trails--
			heap.Pop(&s.waiting)
		}
	}
	s.zeros = s.zerosBefore(b[:done])
}

// zerosBefore counts the zeros that end what has passed and b.
func (s *scan) zerosBefore(b []byte) int64 {
	n := len(b) - len(bytes.TrimRight(b, "\x00"))
	if n == len(b) {
		return s.zeros + int64(n)
	}
	return int64(n)
}

// find begins a trail at each pattern.
func (s *scan) find(h *hunt, base int64, b []byte, done int) {
	for from := 0; from < done; {
		i := bytes.Index(b[from:], h.pattern)
		if i < 0 || from+i >= done {
			return
		}
		at := from + i
		from = at + 1
		if h.trails >= maxTrails {
			continue
		}
		off := base + int64(at)
		trail := h.Follow(off)
		next, ok := trail(nil)
		if !ok || !h.may(next, off) {
			continue
		}
		w := &wanted{Span: next, at: next.Off, trail: trail, hunt: h}
		if next.Off == off {
			w.zeros = s.zerosBefore(b[:at])
		}
		h.trails++
		heap.Push(&s.waiting, w)
	}
}

// may reports whether the next part of a trail can be kept; least is the first place where
// it may begin.
func (h *hunt) may(next Span, least int64) bool {
	h.parts++
	return h.parts <= maxParts && next.Off >= least && next.End > next.Off && next.End-next.Off <= maxPart
}

// keep keeps what has passed of a part, and goes on to the next when it is whole. It
// reports whether the trail goes on.
func (s *scan) keep(w *wanted, base int64, b []byte) bool {
	k := &s.captured.parts
	end := min(w.End, base+int64(len(b)))
	if w.hunt.spent+max(0, end-max(w.at, k.end))+2*partSize > w.hunt.Limit() {
		return false
	}
	before := k.memory
	k.zeros(Span{w.at - w.zeros, w.at})
	w.zeros = 0
	k.add(w.at, b[w.at-base:end-base])
	w.hunt.spent += k.memory - before
	w.at = end
	if end < w.End {
		return true
	}
	got := s.bytes(w.Span, base, b)
	if got == nil {
		return false
	}
	next, ok := w.trail(got)
	if !ok || !w.hunt.may(next, w.End) {
		return false
	}
	w.Span, w.at = next, next.Off
	return true
}

// bytes returns a part that has passed whole, nil when not all of it was kept.
func (s *scan) bytes(in Span, base int64, b []byte) []byte {
	if in.Off >= base {
		return b[in.Off-base : in.End-base]
	}
	if s.scratch == nil {
		s.scratch = make([]byte, maxPart)
	}
	got := s.scratch[:in.End-in.Off]
	for n := 0; n < len(got); {
		more := s.captured.parts.copyAt(got[n:], in.Off+int64(n))
		if more == 0 {
			return nil
		}
		n += more
	}
	return got
}

// queue orders what trails wait for by the next byte of it.
type queue []*wanted

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].at < q[j].at }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

// Push implements [heap.Interface].
func (q *queue) Push(x any) { *q = append(*q, x.(*wanted)) }

// Pop implements [heap.Interface].
func (q *queue) Pop() any {
	old := *q
	w := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return w
}
