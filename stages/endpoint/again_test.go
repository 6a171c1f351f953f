package endpoint

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"syscall"
	"testing"
)

type trip func(*http.Request) (*http.Response, error)

func (t trip) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// A server that closes a connection as it is used again has not seen the request; one that
// resets it, or closes a new one, has something to say.
func TestAConnectionThatIsClosedUnderARequestIsNoFault(t *testing.T) {
	t.Parallel()
	closed := fmt.Errorf("write tcp: %w", net.ErrClosed)
	for name, c := range map[string]struct {
		err              error
		reused, answered bool
		again            bool
	}{
		"closed as it was used again":     {closed, true, false, true},
		"a new connection that is closed": {closed, false, false, false},
		"a byte of an answer had come":    {closed, true, true, false},
		"reset":                           {syscall.ECONNRESET, true, false, false},
		"an end too early":                {io.ErrUnexpectedEOF, true, false, false},
	} {
		body := ""
		cl := &client{
			http: trip(func(r *http.Request) (*http.Response, error) {
				tr := httptrace.ContextClientTrace(r.Context())
				tr.GotConn(httptrace.GotConnInfo{Reused: c.reused})
				if c.answered {
					tr.GotFirstResponseByte()
				}
				_, _ = io.Copy(io.Discard, r.Body)
				return nil, c.err
			}),
			again: trip(func(r *http.Request) (*http.Response, error) {
				b, err := io.ReadAll(r.Body)
				body = string(b)
				return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(""))}, err
			}),
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:1/", strings.NewReader("the question"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := cl.roundTrip(r)
		if c.again {
			if err != nil || resp.StatusCode != http.StatusOK || body != "the question" {
				t.Errorf("%s: %v, sent again %q", name, err, body)
			} else {
				_ = resp.Body.Close()
			}
			continue
		}
		if !errors.Is(err, c.err) || body != "" {
			t.Errorf("%s: %v, sent again %q", name, err, body)
		}
	}
}
