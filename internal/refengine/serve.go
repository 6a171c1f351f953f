package refengine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// A Server is an engine that listens. Made by Serve.
type Server struct {
	addr string
	http *http.Server
	wg   sync.WaitGroup
	err  error
}

// grace is how long requests in flight may finish once the context ended.
const grace = 2 * time.Second

// Serve listens on addr and serves the engine until ctx ends. An empty addr, or one
// without a host, means the loopback interface; port 0 a free port. Wait returns
// when all is over; the engine itself stays open.
func Serve(ctx context.Context, addr string, e *Engine) (*Server, error) {
	host, port, err := net.SplitHostPort(addr)
	switch {
	case addr == "":
		host, port = "127.0.0.1", "0"
	case err != nil:
		return nil, fmt.Errorf("listen address %q: %w", addr, err)
	case host == "":
		host = "127.0.0.1" // reachable from outside only when asked for
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("reference engine: %w", err)
	}
	s := &Server{
		addr: ln.Addr().String(),
		http: &http.Server{Handler: e, ReadHeaderTimeout: 10 * time.Second},
	}
	ended := make(chan struct{})
	s.wg.Go(func() {
		defer close(ended)
		if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			s.err = fmt.Errorf("serve %s: %w", s.addr, err)
		}
	})
	s.wg.Go(func() {
		select {
		case <-ctx.Done():
			s.shutdown(context.WithoutCancel(ctx))
		case <-ended:
		}
	})
	return s, nil
}

// shutdown lets requests finish for a while, then cuts them.
func (s *Server) shutdown(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close() // the listener is closed already; the rest has no use for an error
	}
}

// Addr is the address that is listened on, host and port.
func (s *Server) Addr() string { return s.addr }

// URL is the base of the API, without /v1.
func (s *Server) URL() string { return "http://" + s.addr }

// Wait returns when the server has stopped, with the reason unless it was the
// context.
func (s *Server) Wait() error {
	s.wg.Wait()
	return s.err
}
