package endpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode"
)

// serve starts a real server for the test.
func serve(t *testing.T, h http.HandlerFunc, tls bool) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if tls {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

// quick are limits for a real clock.
func quick() Limits {
	l := testLimits()
	l.First, l.Gap, l.Settle, l.Total = 10*time.Second, 10*time.Second, time.Second, 20*time.Second
	return l
}

// fails opens the address and returns the one-line failure.
func fails(t *testing.T, address string, o TargetOptions) *Failure {
	t.Helper()
	target, err := ParseTarget(address, o)
	if err != nil {
		t.Fatal(err)
	}
	ep, err := Open(t.Context(), target, Options{Limits: quick()})
	if err == nil {
		ep.Close()
		t.Fatal("it opened")
	}
	var f *Failure
	if !errors.As(err, &f) {
		t.Fatalf("no Failure: %v", err)
	}
	oneLine(t, err.Error())
	return f
}

// oneLine checks what every failure's text must be.
func oneLine(t *testing.T, line string) {
	t.Helper()
	if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) || len(line) > 600 || strings.Contains(line, "127.0.0.1") || strings.Contains(line, "infbench.invalid") {
		t.Errorf("not one safe line: %q", line)
	}
}

func served(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestNoConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + l.Addr().String()
	_ = l.Close()
	f := fails(t, address, TargetOptions{})
	equal(t, "refused", f.Error(), "nothing listens at the target: connection refused (is the server up, and on this port?)")
	equal(t, "kind", f.Kind, Unreachable)

	f = fails(t, "http://infbench.invalid:8000", TargetOptions{})
	equal(t, "unknown host", f.Error(), "the host name of the target is not known (check the address)")
	equal(t, "kind", f.Kind, Unreachable)
}

func TestTLSThatDoesNotFit(t *testing.T) {
	nothing := served(200, "application/json", "{}")
	f := fails(t, serve(t, nothing, true).URL, TargetOptions{})
	equal(t, "unknown certificate", f.Error(), "the target's certificate is not trusted (check the address, or add the authority to the system's certificates (SSL_CERT_FILE))")
	equal(t, "kind", f.Kind, BadTLS)

	f = fails(t, strings.Replace(serve(t, nothing, false).URL, "http://", "https://", 1), TargetOptions{})
	equal(t, "https to http", f.Error(), "no TLS connection: the target does not speak it, or refuses ours (is it http:// rather than https://?)")
	equal(t, "kind", f.Kind, BadTLS)

	f = fails(t, strings.Replace(serve(t, nothing, true).URL, "https://", "http://", 1), TargetOptions{})
	equal(t, "http to https", f.Error(), "the server answered 400: Client sent an HTTP request to an HTTPS server. (is it https:// rather than http://?)")
	equal(t, "kind", f.Kind, BadTLS)

	// Servers that answer plain HTTP with a TLS alert, as OpenSSL does.
	f = fails(t, raw(t, "\x15\x03\x01\x00\x02\x02\x46"), TargetOptions{})
	equal(t, "a TLS alert", f.Error(), "the target answered in TLS (is it https:// rather than http://?)")
	f = fails(t, raw(t, "SSH-2.0-OpenSSH_9.6\r\n"), TargetOptions{})
	equal(t, "no HTTP", f.Error(), "the answer did not follow HTTP: malformed HTTP response (is this an OpenAI-compatible endpoint?)")
	f = fails(t, raw(t, ""), TargetOptions{})
	equal(t, "closes", f.Error(), "the connection was closed before the answer was complete (look at the server's log: did a worker die?)")
}

// raw answers each connection with the bytes, once something was sent.
func raw(t *testing.T, answer string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096))
			_, _ = io.WriteString(c, answer)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-ended })
	return "http://" + l.Addr().String()
}

func TestStatusesOfTheModelList(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		kind   string
		body   string
		want   Kind
		line   string
	}{
		{"401", 401, "application/json", `{"error":"Unauthorized"}`, Unauthorized, "the server answered 401: Unauthorized (set the key in the environment variable that --api-key-env names (default OPENAI_API_KEY))"},
		{"403 without a body", 403, "", "", Unauthorized, "the server answered 403 (set the key in the environment variable that --api-key-env names (default OPENAI_API_KEY))"},
		{"404 path", 404, "application/json", `{"detail":"Not Found"}`, Refused, "the server answered 404: Not Found (is the path of the target right? it stands before /v1/chat/completions)"},
		{"404 that names the route", 404, "application/json", `{"detail":"no route /v1/models"}`, Refused, "the server answered 404: no route /v1/models (is the path of the target right? it stands before /v1/chat/completions)"},
		{"500 object", 500, "application/json", `{"error":{"message":"CUDA out of memory","code":500}}`, ServerFault, "the server answered 500 to /v1/models: CUDA out of memory (look at the server's log; if it serves all the same, name a model with --model)"},
		{"500 string", 500, "application/json", `{"error":"CUDA out of memory"}`, ServerFault, "the server answered 500 to /v1/models: CUDA out of memory (look at the server's log; if it serves all the same, name a model with --model)"},
		{"422 detail list", 422, "application/json", `{"detail":[{"loc":["body","top_k"],"msg":"Extra inputs are not permitted"},{"loc":["body",0],"msg":"bad"}]}`, Refused, "the server answered 422: body.top_k: Extra inputs are not permitted; body.0: bad (the server does not take this request: see its words, or its log)"},
		{"400 detail text", 400, "application/json", `{"detail":"no"}`, Refused, "the server answered 400: no (the server does not take this request: see its words, or its log)"},
		{"400 message", 400, "application/json", `{"object":"error","message":"no","code":400}`, Refused, "the server answered 400: no (the server does not take this request: see its words, or its log)"},
		{"500 text with escapes", 500, "text/plain", "a\x1b[31mred\x1b[0m\r\nb\u202e", ServerFault, `the server answered 500 to /v1/models: a\u{1b}[31mred\u{1b}[0m\r\nb\u{202e} (look at the server's log; if it serves all the same, name a model with --model)`},
		{"502 HTML", 502, "text/html", "<html>Bad Gateway</html>", ServerFault, "the server answered 502 to /v1/models: an HTML page (look at the server's log; if it serves all the same, name a model with --model)"},
		{"200 HTML", 200, "text/html", "<html>Welcome</html>", NotTheAPI, "an HTML page came in place of the model list (is the target the API itself, and not a web page before it?)"},
		{"200 text", 200, "text/plain", "ok", NotTheAPI, "the model list is not one (is the target an OpenAI-compatible endpoint? Its address stands before /v1)"},
		{"no models", 200, "application/json", `{"object":"list","data":[]}`, NotTheAPI, "the server lists no model (name one with --model)"},
		{"nests without end", 200, "application/json", strings.Repeat("[", 100_000), Malformed, "the model list nests without end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := fails(t, serve(t, served(c.status, c.kind, c.body), false).URL, TargetOptions{})
			equal(t, "kind", f.Kind, c.want)
			equal(t, "line", f.Error(), c.line)
		})
	}
}

func TestAnEndlessModelList(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"list","data":[`)
		chunk := bytes.Repeat([]byte(`{"id":"m"},`), 1000)
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}, false)
	f := fails(t, s.URL, TargetOptions{})
	equal(t, "kind", f.Kind, TooLarge)
}

func TestABusyServerSaysWhen(t *testing.T) {
	for header, want := range map[string]time.Duration{"7": 7 * time.Second, "0.5": 500 * ms, "": 0, "soon": 0, "-3": 0, "99999": 0, "Thu, 01 Jan 1970 00:00:00 GMT": 0} {
		for _, status := range []int{429, 503} {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", header)
				http.Error(w, `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`, status)
			}, false)
			f := fails(t, s.URL, TargetOptions{})
			if f.Kind != Busy || f.RetryAfter != want || f.Said != "Loading model" {
				t.Errorf("%d with Retry-After %q: %s after %v, said %q", status, header, f.Kind, f.RetryAfter, f.Said)
			}
		}
	}
	if d := retryAfter(time.Now().Add(20 * time.Minute).UTC().Format(http.TimeFormat)); d < 19*time.Minute || d > 20*time.Minute {
		t.Errorf("a date 20 minutes on: %v", d)
	}
}

func TestARedirectIsNotFollowedAndTheKeyStays(t *testing.T) {
	var elsewhere atomic.Int64
	other := serve(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }, false)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusFound)
	}, false)
	f := fails(t, s.URL, TargetOptions{Key: "sk-secret"})
	equal(t, "kind", f.Kind, Refused)
	equal(t, "hint", f.Hint, "it redirects: use the address that it redirects to as the target")
	target := mustTarget(t, s.URL)
	c := newClient(target, quick(), 1)
	defer c.close()
	if a := c.stream(t.Context(), Prepared{body: []byte("{}"), stream: true}); a.Failure == nil || a.Failure.Status != 302 {
		t.Errorf("a stream: %v", a.Failure)
	}
	equal(t, "requests elsewhere", elsewhere.Load(), 0)
}

func TestAnUnknownModel(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/models":
			served(200, "application/json", `{"object":"list","data":[{"id":"a"},{"id":"b\u001b[31m"}]}`)(w, r)
		case chatPath:
			served(404, "application/json", `{"error":{"message":"The model 'x' does not exist.","type":"NotFoundError","code":404}}`)(w, r)
		default:
			http.NotFound(w, r)
		}
	}
	s := serve(t, h, false)
	_, err := Open(t.Context(), mustTarget(t, s.URL), Options{Model: "x\x1b", Limits: quick()})
	var f *Failure
	if !errors.As(err, &f) || f.Kind != UnknownModel {
		t.Fatalf("got %v", err)
	}
	equal(t, "line", err.Error(), `the model "x\u{1b}" is not served: The model 'x' does not exist. (served: a, b\u{1b}[31m)`)
	ep, err := Open(t.Context(), mustTarget(t, s.URL), Options{Limits: quick()})
	if err != nil {
		t.Fatal(err)
	}
	defer ep.Close()
	a := ep.Complete(t.Context(), Chat("Hi"))
	if a.Failure == nil || a.Failure.Kind != UnknownModel || a.Failure.Hint != "name a served model with --model" {
		t.Errorf("asked: %v", a.Failure)
	}
}

// A server that cannot list its models and serves all the same can be used by name.
func TestAServerThatCannotList(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == chatPath {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, text("ok")+finish("stop")+done)
			return
		}
		http.NotFound(w, r)
	}
	s := serve(t, h, false)
	ep, err := Open(t.Context(), mustTarget(t, s.URL), Options{Model: "m", Limits: quick()})
	if err != nil {
		t.Fatal(err)
	}
	defer ep.Close()
	equal(t, "engine", ep.Engine().Name(), "generic")
	if a, err := ep.Ask(t.Context(), Chat("Hi")); err != nil || a.Content != "ok" {
		t.Errorf("%q, %v", a.Content, err)
	}
	if changed, err := ep.Changed(t.Context()); changed != "" || err != nil {
		t.Errorf("changed: %q, %v", changed, err)
	}
	s.CloseClientConnections()
	s.Close()
	if _, err := ep.Changed(t.Context()); err == nil {
		t.Error("a server that is gone identifies")
	}
}

func TestEveryDeadlineOfTheLibraryHasItsLine(t *testing.T) {
	for want, err := range map[string]error{
		"no connection to the target in time (check the address and any firewall)":                               timeoutError{},
		"no answer within the time allowed (is the server loaded or hung? --timeout sets the limit)":             fmt.Errorf("x: %w", context.DeadlineExceeded),
		"no route to the target (check the address)":                                                             &net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH},
		"the connection was closed before the answer was complete (look at the server's log: did a worker die?)": io.ErrUnexpectedEOF,
	} {
		equal(t, "line", explain(t.Context(), err).Error(), want)
	}
}

type timeoutError struct{}

func (timeoutError) Error() string   { return "dial tcp 192.0.2.1:80: i/o timeout" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

// The transport calls its trace from its own goroutines, and may do so after the answer
// has begun: a server can answer before it has read the request. Run with -race.
func TestATraceThatFiresLate(t *testing.T) {
	fired := make(chan struct{})
	c := &client{target: mustTarget(t, "http://127.0.0.1:1"), limits: testLimits(), http: tripper(func(r *http.Request) (*http.Response, error) {
		tr := httptrace.ContextClientTrace(r.Context())
		go func() {
			defer close(fired)
			for range 1000 {
				tr.GetConn("")
				tr.GotConn(httptrace.GotConnInfo{})
				tr.WroteRequest(httptrace.WroteRequestInfo{})
			}
		}()
		return streamReply(text("a"), finish("stop"), done), nil
	})}
	a := c.stream(t.Context(), Prepared{body: []byte("{}"), stream: true})
	healthy(t, a)
	was := a.Timing.Wrote
	<-fired
	equal(t, "the answer's time", a.Timing.Wrote, was)
}

// A real server that answers before it has read the whole request.
func TestAnAnswerBeforeTheRequestIsRead(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, text("a")+finish("stop")+done)
	}, false)
	c := newClient(mustTarget(t, s.URL), quick(), 1)
	defer c.close()
	for range 10 {
		a := c.stream(t.Context(), Prepared{body: bytes.Repeat([]byte(" "), 8<<20), stream: true})
		if a.Failure != nil && a.Failure.Kind != BrokenOff {
			t.Error(a.Failure)
		}
		if a.Timing.Resent {
			t.Error("the request was sent twice")
		}
	}
}

// Every body is read to its end, so that a connection serves request after request.
func TestConnectionsAreReused(t *testing.T) {
	n := 0
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch n++; n % 4 {
		case 0:
			served(404, "application/json", `{"error":{"message":"model"}}`)(w, r)
		case 1:
			served(200, "application/json", `{"choices":[]}`)(w, r)
		case 2:
			served(200, "text/html", strings.Repeat("<p>", 1000))(w, r)
		default:
			served(200, "text/event-stream", text("a")+finish("stop")+usage(1, 1)+done)(w, r)
		}
	}, false)
	c := newClient(mustTarget(t, s.URL), quick(), 1)
	defer c.close()
	fresh, dialled := 0, time.Duration(0)
	for i := range 24 {
		send := c.stream
		if i%3 == 0 {
			send = c.complete
		}
		a := send(t.Context(), Prepared{body: []byte("{}"), stream: i%3 != 0})
		if a.Timing.Fresh {
			fresh++
			dialled += a.Timing.Dialled
		}
		if a.Timing.Resent || a.Timing.Wrote <= 0 || a.Timing.Wrote > a.Timing.Ended {
			t.Errorf("request %d: resent %t, written at %v of %v", i, a.Timing.Resent, a.Timing.Wrote, a.Timing.Ended)
		}
	}
	equal(t, "fresh connections", fresh, 1)
	if dialled <= 0 {
		t.Error("the connection took no time")
	}
}

// As many connections stay open as streams run at once.
func TestThePoolFitsTheLoad(t *testing.T) {
	const n = 24
	var conns atomic.Int64
	s := httptest.NewUnstartedServer(served(200, "text/event-stream", text("a")+finish("stop")+done))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	c := newClient(mustTarget(t, s.URL), quick(), n)
	defer c.close()
	for range 4 {
		answers := make(chan Answer, n)
		for range n {
			go func() { answers <- c.stream(t.Context(), Prepared{body: []byte("{}"), stream: true}) }()
		}
		for range n {
			healthy(t, <-answers)
		}
	}
	if got := conns.Load(); got > 2*n { // with the two that the library keeps it would be four times as many
		t.Errorf("%d connections for %d streams at once", got, n)
	}
}
