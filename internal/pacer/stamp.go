package pacer

import (
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

type connKey struct{}

func connOf(r *http.Request) *stampedConn { return r.Context().Value(connKey{}).(*stampedConn) }

// forgetting ends each request by making the next read of its connection the beginning of
// another.
func forgetting(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer connOf(r).forget()
		h.ServeHTTP(w, r)
	})
}

// stampedListener hands out connections that know when a request began to arrive.
type stampedListener struct {
	net.Listener
	origin time.Time
}

// Accept implements [net.Listener].
func (l stampedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &stampedConn{Conn: c, origin: l.origin}, nil
}

// stampedConn notes the first read since the answer before: the library's own server
// hands a request over only after all of its head was parsed.
type stampedConn struct {
	net.Conn
	origin time.Time
	first  atomic.Int64 // 0: nothing came yet
}

// Read implements [net.Conn].
func (c *stampedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.first.CompareAndSwap(0, int64(time.Since(c.origin)))
	}
	return n, err
}

func (c *stampedConn) arrival() time.Duration { return time.Duration(c.first.Load()) }

func (c *stampedConn) forget() { c.first.Store(0) }
