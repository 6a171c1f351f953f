package faultproxy

import (
	"net/http"
	"sync"
	"sync/atomic"
)

// Servers that do not get over a client that hangs up.

var _ = register(fault{
	Info: Info{
		ID: "abort-kills", Stage: 3, Modes: []string{"CON-08"},
		Doc: "once a client has left a stream before its end, every later request gets 500",
	},
	build: func(options) acts {
		var dead atomic.Bool
		return acts{
			scope:   func(x *exchange) bool { return x.generates && dead.Load() },
			respond: fail,
			over: func(x *exchange) {
				if x.dropped {
					dead.Store(true)
				}
			},
		}
	},
})

var _ = register(fault{
	Info: Info{
		ID: "abort-leaks", Stage: 3, Modes: []string{"CON-09"},
		Doc: "each stream that a client leaves takes room for ever: others wait for what is left, and get 503 when that is nothing",
		Params: []Param{
			number("each", "1", "slots that one such stream takes"),
			number("slots", "8", "requests that run at once in the beginning"),
		},
	},
	build: func(o options) acts {
		s := &slots{left: o.number("slots"), busy: map[*exchange]bool{}, moved: make(chan struct{})}
		return acts{
			admit: func(x *exchange) respondFunc {
				if s.take(x) {
					return nil
				}
				return full
			},
			over: func(x *exchange) { s.free(x, o.number("each")) },
		}
	},
})

func full(_ *exchange, w http.ResponseWriter) {
	refuse(w, http.StatusServiceUnavailable, "ServiceUnavailableError", "no slot is free", nil)
}

// slots are what requests run in. Safe for concurrent use.
type slots struct {
	mu    sync.Mutex
	left  int // busy or free, not lost
	busy  map[*exchange]bool
	moved chan struct{} // closed when a request has ended
}

// take waits for a slot. It gets none when all are lost, or the client has left.
func (s *slots) take(x *exchange) bool {
	for {
		s.mu.Lock()
		left, moved, free := s.left, s.moved, s.left > len(s.busy)
		if free {
			s.busy[x] = true
		}
		s.mu.Unlock()
		switch {
		case free:
			return true
		case left <= 0:
			return false
		}
		select {
		case <-moved:
		case <-x.r.Context().Done():
			return false
		}
	}
}

// free gives the slot of x back, or loses it, and more.
func (s *slots) free(x *exchange, each int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.busy[x] {
		return
	}
	delete(s.busy, x)
	if x.dropped {
		s.left -= each
	}
	close(s.moved)
	s.moved = make(chan struct{})
}
