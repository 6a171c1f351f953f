package endpoint

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/tidwall/gjson"

	"infbench/gates"
	"infbench/internal/shallow"
)

// Kind is the class of a [Failure].
type Kind string

// The classes.
const (
	Unreachable  Kind = "unreachable"   // no connection
	BadTLS       Kind = "tls"           // the certificate or the handshake
	Unauthorized Kind = "unauthorized"  // 401, 403
	UnknownModel Kind = "unknown_model" // 404 for the model
	Refused      Kind = "refused"       // another 4xx
	Busy         Kind = "busy"          // 429, 503
	ServerFault  Kind = "server_fault"  // another 5xx
	NotTheAPI    Kind = "not_the_api"   // HTML or other text in place of JSON
	TooSlow      Kind = "too_slow"      // a deadline
	TooLarge     Kind = "too_large"     // more than any answer
	BrokenOff    Kind = "broken_off"    // the connection ended inside the answer
	SaidError    Kind = "said_error"    // an error object inside a 200 answer
	Malformed    Kind = "malformed"     // JSON that is no answer
	Stopped      Kind = "stopped"       // by the person
)

// A Failure is a request that did not lead to an answer. Its text is one line: what
// happened, in the server's own words where there are any, and what to do. It holds
// no header and no host name of ours. A key that the server echoes is taken out of its
// words before they are cut; whatever else they hold (host names, paths) is for the
// redactor of whoever writes them down.
type Failure struct { //nolint:errname // it is how a request ended first, and an error second
	Kind Kind
	// Status is the HTTP status, 0 when there was none.
	Status int
	// Said is the server's message, safe to print and cut.
	Said string
	// What says what happened, Hint what to do next.
	What, Hint string
	// RetryAfter is what a busy server asked for.
	RetryAfter time.Duration
}

// Error returns the failure in one line.
func (f *Failure) Error() string {
	s := f.What
	if f.Said != "" {
		s += ": " + f.Said
	}
	if f.Hint != "" {
		s += " (" + f.Hint + ")"
	}
	return s
}

// FailureOf returns the error of a server that is not the target, under the name that it has
// beside one, such as "the reference".
func FailureOf(err error, name string) error {
	var f *Failure
	if !errors.As(err, &f) {
		return err
	}
	g := *f
	g.What, g.Hint = strings.ReplaceAll(f.What, "the target", name), strings.ReplaceAll(f.Hint, "the target", name)
	return &g
}

// Advice returns what is likely behind the failure and what to do next.
func (f *Failure) Advice() (causes, next []string) {
	switch f.Kind {
	case Unreachable:
		return []string{"the server is down, or still loading", "the address or the port is another one"}, []string{"curl the target's /v1/models"}
	case BadTLS:
		return []string{"http:// and https:// are mixed up", "a certificate of the house's own authority"}, []string{"curl -v the target's /v1/models"}
	case Unauthorized:
		return []string{"the key is missing, wrong or not for this model"}, []string{"--api-key-env NAME, where NAME holds the key"}
	case NotTheAPI, Malformed:
		return []string{"a web page, a proxy or another API stands at the address"}, []string{"curl the target's /v1/models and look at what comes"}
	case TooSlow:
		return []string{"the server is loaded, loading or hung: a health URL may say yes all the same"}, []string{"the server's log", "--timeout, if it is just slow"}
	case Busy:
		return []string{"the server is at its limit, or still loading"}, []string{"the same when it is idle"}
	default:
		return []string{"the request itself failed, before the claim could be judged"}, []string{"look at the server's log around this request"}
	}
}

const maxSaid = 240

// explain turns an error of the transport into a Failure. The library's own text is
// not used: it holds addresses.
func explain(ctx context.Context, err error) *Failure {
	var (
		failure *Failure
		dns     *net.DNSError
		cert    *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		record  tls.RecordHeaderError
		alert   tls.AlertError
	)
	cause := context.Cause(ctx)
	switch {
	case errors.As(err, &failure):
		return failure
	case errors.As(cause, &failure):
		return failure
	case errors.Is(cause, gates.ErrStopped), errors.Is(cause, context.Canceled):
		return &Failure{Kind: Stopped, What: "interrupted"}
	case errors.As(err, &dns):
		return &Failure{Kind: Unreachable, What: "the host name of the target is not known", Hint: "check the address"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &Failure{Kind: Unreachable, What: "nothing listens at the target: connection refused", Hint: "is the server up, and on this port?"}
	case errors.As(err, &cert), errors.As(err, &unknown):
		return &Failure{Kind: BadTLS, What: "the target's certificate is not trusted", Hint: "check the address, or add the authority to the system's certificates (SSL_CERT_FILE)"}
	case strings.Contains(err.Error(), `malformed HTTP response "\x15\x03`): // a TLS alert
		return &Failure{Kind: BadTLS, What: "the target answered in TLS", Hint: hintHTTPS}
	case errors.As(err, &record), errors.As(err, &alert), strings.Contains(err.Error(), "tls: "), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return &Failure{Kind: BadTLS, What: "no TLS connection: the target does not speak it, or refuses ours", Hint: "is it http:// rather than https://?"}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(cause, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return &Failure{Kind: TooSlow, What: "no answer within the time allowed", Hint: "is the server loaded or hung? --timeout sets the limit"}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return &Failure{Kind: BrokenOff, What: "the connection was closed before the answer was complete", Hint: "look at the server's log: did a worker die?"}
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return &Failure{Kind: Unreachable, What: "no route to the target", Hint: "check the address"}
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return &Failure{Kind: Unreachable, What: "no connection to the target in time", Hint: "check the address and any firewall"}
	}
	what := "the answer did not follow HTTP"
	for _, known := range outOfHTTP { // the library's own text holds addresses and what the server sent
		if strings.Contains(err.Error(), known) {
			what += ": " + known
			break
		}
	}
	return &Failure{Kind: BrokenOff, What: what, Hint: "is this an OpenAI-compatible endpoint?"}
}

// outOfHTTP are the library's words for how an answer breaks HTTP, and for a connection that
// could not be used.
var outOfHTTP = []string{
	"malformed chunked encoding", "invalid byte in chunk length", "empty hex number for chunk length", "http chunk length too large", "malformed HTTP response", "malformed HTTP version",
	"malformed HTTP status code", "malformed MIME header", "bad Content-Length", "transfer encoding", "header line too long", "server response headers exceeded", "too many 1xx",
	"server closed idle connection", "connection reset", "body closed", "request canceled", "use of closed network connection",
}

const hintHTTPS = "is it https:// rather than http://?"

// judgeStatus turns a response to the path that is no 200 into a Failure.
func judgeStatus(r *http.Response, path string, body []byte) *Failure {
	f := &Failure{Status: r.StatusCode, Said: said(body), What: fmt.Sprintf("the server answered %d", r.StatusCode)}
	switch code := r.StatusCode; {
	case code == 401 || code == 403:
		f.Kind, f.Hint = Unauthorized, "set the key in the environment variable that --api-key-env names (default OPENAI_API_KEY)"
	case code == 404 && path == chatPath && strings.Contains(strings.ToLower(f.Said), "model"):
		f.Kind, f.Hint = UnknownModel, "name a served model with --model"
	case code == 404:
		f.Kind, f.Hint = Refused, "is the path of the target right? it stands before /v1/chat/completions"
	case code == http.StatusRequestTimeout: // a gateway that waited in vain says so, and refuses nothing
		f.Kind, f.Hint = TooSlow, "is the server loaded or hung?"
	case code == 429 || code == 503:
		f.Kind, f.Hint = Busy, "the server is loading or at its limit"
		f.RetryAfter = retryAfter(r.Header.Get("Retry-After"))
	case code >= 300 && code < 400:
		f.Kind, f.Hint = Refused, "it redirects: use the address that it redirects to as the target"
	case code >= 500 && path == modelsPath:
		f.Kind, f.Hint = ServerFault, "look at the server's log; if it serves all the same, name a model with --model"
		f.What += " to " + modelsPath
	case code >= 500:
		f.Kind, f.Hint = ServerFault, "look at the server's log"
	case code == 400 && strings.Contains(strings.ToLower(f.Said), "http request to an https"):
		f.Kind, f.Hint = BadTLS, hintHTTPS
	case code == 400 && strings.Contains(strings.ToLower(f.Said), "plain http request was sent to https"):
		f.Kind, f.Hint = BadTLS, hintHTTPS
	default:
		f.Kind, f.Hint = Refused, "the server does not take this request: see its words, or its log"
	}
	return f
}

// retryAfter reads seconds or a date; 0 for what is neither, past, or beyond an hour.
func retryAfter(h string) time.Duration {
	d, err := time.ParseDuration(h + "s")
	if at, bad := http.ParseTime(h); bad == nil {
		d, err = time.Until(at), nil
	}
	if err != nil || d < 0 || d > time.Hour {
		return 0
	}
	return d
}

// said finds the message in the error bodies of the known servers: an object under
// "error", a string there, "detail" (text, or a list that names the field apart from
// the message), "message"; else the beginning of the text, unless it is HTML.
func said(body []byte) string {
	text := strings.TrimSpace(string(body))
	if shallow.Valid(body) {
		root := gjson.ParseBytes(body)
		if list := complaints(root.Get("detail")); list != "" {
			return gates.Printable(list, maxSaid)
		}
		for _, path := range []string{"error.message", "error", "detail", "message"} {
			if m := root.Get(path); m.Type == gjson.String && m.Str != "" {
				return gates.Printable(m.Str, maxSaid)
			}
		}
	}
	if strings.HasPrefix(text, "<") {
		return "an HTML page"
	}
	return gates.Printable(text, maxSaid)
}

// complaints joins a validator's list: where, and what; "" when it is none.
func complaints(detail gjson.Result) string {
	var out []string
	for _, d := range detail.Array() {
		if msg := d.Get("msg").Str; msg != "" && len(out) < 4 {
			var where []string
			for _, l := range d.Get("loc").Array() {
				where = append(where, l.String())
			}
			out = append(out, strings.TrimPrefix(strings.Join(where, ".")+": "+msg, ": "))
		}
	}
	return strings.Join(out, "; ")
}
