package endpoint

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// tripper is a server made of a function.
type tripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func eventStream(body io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: 200, Proto: "HTTP/1.1", Header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}}, Body: body}
}

func jsonReply(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}
}

func mustTarget(t testing.TB, address string) Target {
	t.Helper()
	target, err := ParseTarget(address, TargetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// step is one move of a scripted body: wait, then one read that brings text or an
// error. A step without either keeps the connection open until it is closed.
type step struct {
	wait time.Duration
	text string
	err  error
}

// script is a body that plays its steps, one a read, and ends cleanly after them. It
// breaks off with the context of its request, as a connection does.
type script struct {
	r     *http.Request
	steps []step
	rest  string
}

func newScript(r *http.Request, steps []step) *script {
	return &script{r: r, steps: steps}
}

// Read plays the next step.
func (s *script) Read(p []byte) (int, error) {
	if s.rest == "" {
		if len(s.steps) == 0 {
			return 0, io.EOF
		}
		next := s.steps[0]
		if next.text == "" && next.err == nil {
			<-s.r.Context().Done()
			return 0, s.r.Context().Err()
		}
		timer := time.NewTimer(next.wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.r.Context().Done():
			return 0, s.r.Context().Err()
		}
		s.steps = s.steps[1:]
		if next.err != nil {
			return 0, next.err
		}
		s.rest = next.text
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Close does nothing: a read that waits ends with the request's context.
func (s *script) Close() error { return nil }
