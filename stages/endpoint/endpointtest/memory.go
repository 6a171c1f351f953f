package endpointtest

import (
	"context"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Network is a place to listen without sockets, for tests on the clock of testing/synctest:
// that one stands still while anybody waits for a real socket. A server on it can be killed,
// and another one started in its place.
type Network struct {
	t  *testing.T
	mu sync.Mutex
	up *process
}

// process is one server that listens.
type process struct {
	dialled chan net.Conn
	closed  chan struct{}
	once    sync.Once
	server  *http.Server
}

// NewNetwork returns a network on which nobody listens yet; everything on it ends with the test.
func NewNetwork(t *testing.T) *Network {
	n := &Network{t: t}
	t.Cleanup(n.Kill)
	return n
}

// Start lets a handler listen.
func (n *Network) Start(h http.Handler) {
	n.Kill()
	p := &process{dialled: make(chan net.Conn), closed: make(chan struct{}), server: &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}}
	n.mu.Lock()
	n.up = p
	n.mu.Unlock()
	go func() { _ = p.server.Serve(p) }() // ends with Kill
}

// Kill ends the server that listens, with all its connections: from now on they are refused.
func (n *Network) Kill() {
	n.mu.Lock()
	p := n.up
	n.up = nil
	n.mu.Unlock()
	if p != nil {
		_ = p.server.Close()
	}
}

// Transport returns the way to the network, whatever the address; idle connections end with
// the test.
func (n *Network) Transport() http.RoundTripper {
	tr := &http.Transport{DialContext: n.dial, IdleConnTimeout: 4 * time.Second, DisableCompression: true}
	n.t.Cleanup(tr.CloseIdleConnections)
	return tr
}

func (n *Network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	n.mu.Lock()
	p := n.up
	n.mu.Unlock()
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	if p == nil {
		return nil, refused
	}
	here, there := net.Pipe()
	select {
	case p.dialled <- there:
		return here, nil
	case <-p.closed:
		return nil, refused
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Accept implements net.Listener.
func (p *process) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialled:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *process) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (p *process) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
