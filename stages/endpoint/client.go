package endpoint

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"
)

// client is the one way to the server: a connection pool sized to the load, and
// the limits on what one request may take. It follows no redirect, since a POST
// would turn into a GET and a key could leave its host.
type client struct {
	target Target
	http   http.RoundTripper
	// again opens a connection for each request: see [client.roundTrip].
	again  http.RoundTripper
	limits Limits
	close  func()
}

// newClient returns a client that keeps up to inFlight connections open. The
// standard library keeps two a host, so that beyond two streams the handshake
// would land in the time to the first token.
func newClient(t Target, l Limits, inFlight int) *client {
	dialer := &net.Dialer{Timeout: l.Connect, KeepAlive: 30 * time.Second}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // HTTP/2 puts all streams on one connection: head-of-line blocking
	tr := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		TLSHandshakeTimeout: l.Connect,
		MaxIdleConns:        0,
		MaxIdleConnsPerHost: max(256, inFlight),
		IdleConnTimeout:     4 * time.Second, // servers close after 5 s and more; ours first
		DisableCompression:  true,            // a gzip layer holds the stream back
		Protocols:           protocols,
		ReadBufferSize:      16 << 10,
	}
	once := tr.Clone()
	once.DisableKeepAlives = true
	return &client{target: t, http: tr, again: once, limits: l, close: tr.CloseIdleConnections}
}

// roundTrip sends a request. Some servers close a connection just as it is used again, with
// requests on their way; where the request's own connection was closed under it and no byte
// of an answer has come, it is sent once more on a new connection. A request that broke on
// one of its own, or that was reset, is what it is.
func (c *client) roundTrip(r *http.Request) (*http.Response, error) {
	var used, answered atomic.Bool
	traced := r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn:              func(i httptrace.GotConnInfo) { used.Store(i.Reused) },
		GotFirstResponseByte: func() { answered.Store(true) },
	}))
	resp, err := c.http.RoundTrip(traced)
	if err == nil || c.again == nil || !errors.Is(err, net.ErrClosed) || !used.Load() || answered.Load() || r.Context().Err() != nil || r.GetBody == nil {
		return resp, err
	}
	body, bodyErr := r.GetBody()
	if bodyErr != nil {
		return resp, err
	}
	r = r.Clone(r.Context())
	r.Body = body
	return c.again.RoundTrip(r)
}

// maxPlainBody bounds a body that is no stream.
const maxPlainBody = 16 << 20

// get reads a path below the target. The body is bounded.
func (c *client) get(ctx context.Context, path string) (status int, body []byte, err error) {
	return c.plain(ctx, http.MethodGet, path, nil)
}

// plain sends one request and reads the whole body within the total limit.
func (c *client) plain(ctx context.Context, method, path string, payload []byte) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.limits.Total, tooSlow("the whole answer", c.limits.Total))
	defer cancel()
	r, err := c.request(ctx, method, path, payload)
	if err != nil {
		return 0, nil, err
	}
	resp, err := c.roundTrip(r)
	if err != nil {
		return 0, nil, explain(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxPlainBody+1))
	switch {
	case err != nil:
		return resp.StatusCode, nil, explain(ctx, err)
	case len(body) > maxPlainBody:
		return resp.StatusCode, nil, &Failure{Kind: TooLarge, Status: resp.StatusCode, What: "the answer is larger than any answer", Hint: "is this an OpenAI-compatible endpoint?"}
	case resp.StatusCode != http.StatusOK:
		return resp.StatusCode, body, judgeStatus(resp, path, c.target.hide(body))
	}
	return resp.StatusCode, body, nil
}

func (c *client) request(ctx context.Context, method, path string, payload []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.target.url(path), bytes.NewReader(payload))
	if err != nil {
		return nil, errors.New("the target's address makes no request")
	}
	c.target.authorise(r)
	if payload != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("User-Agent", "infbench")
	// A server that closes an idle connection just as it is used again has not seen the
	// request: the transport may then send it once more on a new connection. The empty
	// key says so to the library and is not sent. A request that any byte of an answer
	// came for is never sent twice.
	r.Header["Idempotency-Key"] = nil
	return r, nil
}

func tooSlow(what string, limit time.Duration) *Failure {
	return &Failure{Kind: TooSlow, What: what + " did not come within " + limit.String(), Hint: "is the server loaded or hung? --timeout sets the limit"}
}

// watch cancels a request whose current phase lasts too long. One timer serves all
// phases; it is moved at most once in a while, since a stream has thousands of reads.
type watch struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer
	phase  string
	limit  time.Duration
	moved  time.Time
}

func newWatch(cancel context.CancelCauseFunc, phase string, limit time.Duration) *watch {
	w := &watch{cancel: cancel, phase: phase, limit: limit, moved: time.Now()}
	failure := tooSlow(phase, limit)
	w.timer = time.AfterFunc(limit, func() { cancel(failure) })
	return w
}

// enter begins another phase.
func (w *watch) enter(phase string, limit time.Duration) {
	w.timer.Stop()
	*w = *newWatch(w.cancel, phase, limit)
}

// alive says that bytes came at the given instant, in a phase that bounds silence.
func (w *watch) alive(now time.Time) {
	if now.Sub(w.moved) > w.limit/16 {
		w.timer.Reset(w.limit)
		w.moved = now
	}
}

func (w *watch) stop() { w.timer.Stop() }

// phases are the times of a request before its body. The transport's goroutines
// write them, and may do so after the answer has begun: a server can answer before it
// has read the request. Hence the lock, and hence no pointer into the Answer.
type phases struct {
	mu             sync.Mutex
	began, asked   time.Time
	wrote, dialled time.Duration
	fresh          bool
	written        int
}

// begin says that the request is handed to the transport now.
func (p *phases) begin() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.began = time.Now()
	return p.began
}

// trace notes the phases of a request.
func trace(ctx context.Context) (context.Context, *phases) {
	p := &phases{}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.asked = time.Now()
		},
		GotConn: func(i httptrace.GotConnInfo) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.fresh = !i.Reused; p.fresh {
				p.dialled = time.Since(p.asked)
			}
		},
		WroteRequest: func(httptrace.WroteRequestInfo) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.written++
			p.wrote = time.Since(p.began)
		},
	}), p
}

// into copies what is known so far.
func (p *phases) into(t *Timing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.Wrote, t.Fresh, t.Dialled, t.Resent = p.wrote, p.fresh, p.dialled, p.written > 1
}
