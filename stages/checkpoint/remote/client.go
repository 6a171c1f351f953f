package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"

	"infbench/stages/checkpoint"
)

const (
	attempts     = 5
	maxRedirects = 5
	maxPause     = 15 * time.Second
	idleTimeout  = 20 * time.Second
	// An answer of any length must come within the floor and what slowest takes for the
	// bytes that are wanted: a server that drips is given up.
	floorTimeout = 45 * time.Second
	slowest      = 50_000 // bytes a second
)

// A client reads whole files and ranges of files.
type client struct {
	http  *http.Client
	base  *url.URL
	token string
	first time.Duration
	cache cache
}

func newClient(u *url.URL, o Options) *client {
	c := &client{base: u, first: o.FirstPause, cache: cache{dir: o.CacheDir}}
	if c.first <= 0 {
		c.first = 500 * time.Millisecond
	}
	if o.Token != nil {
		c.token = o.Token(u)
	}
	transport := o.Transport
	if transport == nil {
		transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: idleTimeout, MaxIdleConnsPerHost: 32,
			DisableCompression: true, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10,
		}
	}
	c.http = &http.Client{Transport: transport, CheckRedirect: redirect}
	return c
}

// redirect follows a few redirects. The standard client keeps the credentials within
// a domain; here they stay with the very host that they are for.
func redirect(req *http.Request, via []*http.Request) error {
	from := via[len(via)-1].URL
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	case req.URL.Scheme != "http" && req.URL.Scheme != "https":
		return errors.New("redirected to an address that is none of the web")
	case from.Scheme == "https" && req.URL.Scheme == "http":
		return errors.New("redirected from a secure address to one that is not")
	}
	if req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme {
		req.Header.Del("Authorization")
	}
	req.Header.Del("Referer")
	return nil
}

// errNotHere says that an address is none of the asked kind.
var errNotHere = errors.New("not here")

// A statusError is an answer that is no success.
type statusError struct {
	code  int
	what  string
	token bool // one was sent
	hub   bool // the server speaks as a hub does, and means it
}

func (e *statusError) Error() string {
	switch e.code {
	case http.StatusUnauthorized, http.StatusForbidden:
		if e.token {
			return fmt.Sprintf("%d for %s: the token was not accepted, or its owner has no access (gated models want their terms accepted first)", e.code, e.what)
		}
		return fmt.Sprintf("%d for %s: no such repository, or it is private: put a token into the environment (INFBENCH_HUB_TOKEN, or HF_TOKEN for the host of HF_ENDPOINT)", e.code, e.what)
	case http.StatusNotFound, http.StatusGone:
		return fmt.Sprintf("%d for %s: not there", e.code, e.what)
	case http.StatusTooManyRequests:
		return fmt.Sprintf("429 for %s, %d times: the server is asked too often; wait, or give a token", e.what, attempts)
	}
	return fmt.Sprintf("%d %s for %s", e.code, http.StatusText(e.code), e.what)
}

// Is lets an absent file be told by [fs.ErrNotExist], one that is kept from us by
// [fs.ErrPermission].
func (e *statusError) Is(target error) bool {
	switch target {
	case fs.ErrNotExist:
		return e.code == http.StatusNotFound || e.code == http.StatusGone
	case fs.ErrPermission:
		return e.code == http.StatusUnauthorized || e.code == http.StatusForbidden
	}
	return false
}

// asked is one request: what is wanted, and what may come.
type asked struct {
	url  *url.URL
	what string // for messages
	from int64  // the first byte, with to > 0
	to   int64  // one past the last byte, 0 for all
}

// bytes returns how many bytes are wanted, as far as that is known.
func (a asked) bytes() int64 {
	if a.to > 0 {
		return a.to - a.from
	}
	return maxIndex
}

// do sends a request until it is answered by a success, and gives the answer to read.
// A failure that may pass (429, 5xx, a broken connection, a body that ends early) is
// tried again after a pause.
func (c *client) do(ctx context.Context, a asked, read func(*http.Response) error) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = c.first, maxPause
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		return struct{}{}, c.once(ctx, a, read)
	}, backoff.WithBackOff(pauses), backoff.WithMaxTries(attempts), backoff.WithMaxElapsedTime(90*time.Second))
	return plain(err)
}

func (c *client) once(ctx context.Context, a asked, read func(*http.Response) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url.String(), nil)
	if err != nil {
		return backoff.Permanent(err)
	}
	req.Header.Set("User-Agent", "infbench")
	req.Header.Set("Accept-Encoding", "identity") // a range of a compressed body is of no use
	if c.token != "" && a.url.Host == c.base.Host {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if a.to > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", a.from, a.to-1))
	}
	limit := time.AfterFunc(floorTimeout+time.Duration(a.bytes())*time.Second/slowest, func() { cancel(errSlow) })
	defer limit.Stop()
	resp, err := c.http.Do(req)
	if err != nil {
		if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
			return backoff.Permanent(errors.New("no such host"))
		}
		if cause := context.Cause(ctx); errors.Is(cause, errSlow) {
			return backoff.Permanent(cause)
		}
		if u, ok := errors.AsType[*url.Error](err); ok && u.Timeout() {
			return backoff.Permanent(errIdle) // it accepts and does not answer
		}
		if strings.Contains(err.Error(), "redirect") {
			return backoff.Permanent(err) // it leads nowhere, each time
		}
		return err // a refused connection may be a server that restarts
	}
	// A silent server is given up, however slowly the bytes before came.
	watch := time.AfterFunc(idleTimeout, func() { cancel(errIdle) })
	defer watch.Stop()
	resp.Body = &watched{resp.Body, watch}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusOK, resp.StatusCode == http.StatusPartialContent && a.to > 0,
		resp.StatusCode == http.StatusRequestedRangeNotSatisfiable && a.to > 0:
		if e := resp.Header.Get("Content-Encoding"); e != "" && e != "identity" {
			return backoff.Permanent(fmt.Errorf("%s comes compressed (%.20q) although that was not asked for", a.what, e))
		}
		err := read(resp)
		if cause := context.Cause(ctx); err != nil && (errors.Is(cause, errIdle) || errors.Is(cause, errSlow)) {
			return backoff.Permanent(cause) // it had its time; another try would take as long
		}
		return err
	}
	status := &statusError{code: resp.StatusCode, what: a.what, token: req.Header.Get("Authorization") != "", hub: resp.Header.Get("X-Error-Code") != ""}
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500 {
		if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 && time.Duration(s)*time.Second <= maxPause {
			return waitError{status, time.Duration(s) * time.Second}
		}
		return status
	}
	return backoff.Permanent(status)
}

var errSlow = fmt.Errorf("the answer comes slower than %d bytes a second", slowest)

var errIdle = fmt.Errorf("nothing came for %v", idleTimeout)

// A waitError is a status whose server says how long to wait.
type waitError struct {
	error
	pause time.Duration
}

func (r waitError) Unwrap() []error {
	return []error{r.error, &backoff.RetryAfterError{Duration: r.pause}}
}

type watched struct {
	io.ReadCloser
	timer *time.Timer
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	w.timer.Reset(idleTimeout)
	return n, err
}

// plain takes the parts out of an error that repeat the address.
func plain(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		if u.Timeout() {
			return fmt.Errorf("no answer within %v", idleTimeout)
		}
		err = u.Err
	}
	if s, ok := errors.AsType[*statusError](err); ok {
		return s
	}
	// What the network says of itself holds addresses.
	if op, ok := errors.AsType[*net.OpError](err); ok {
		if errno, ok := errors.AsType[syscall.Errno](err); ok {
			return fmt.Errorf("%s: %w", op.Op, errno)
		}
		return fmt.Errorf("%s: the connection failed", op.Op)
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return errors.New("the certificate of the server, or of the one it leads to, is not valid for it")
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return errors.New("the server does not speak TLS: http and https are mixed up")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the server ends its answer before the length that it stated")
	}
	return err
}

// whole reads a file of at most limit bytes.
func (c *client) whole(ctx context.Context, a asked, limit int64) (body []byte, header http.Header, err error) {
	err = c.do(ctx, a, func(resp *http.Response) error {
		header = resp.Header
		if resp.ContentLength > limit {
			return backoff.Permanent(checkpoint.ErrTooLarge)
		}
		body, err = io.ReadAll(io.LimitReader(resp.Body, limit+1))
		switch {
		case err != nil:
			return err
		case int64(len(body)) > limit:
			return backoff.Permanent(checkpoint.ErrTooLarge)
		}
		return nil
	})
	return body, header, err
}

// isPage reports whether an answer is a web page: a login, or an error in a friendly form.
func isPage(h http.Header) bool {
	t, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return t == "text/html" || t == "application/xhtml+xml"
}

var errPage = errors.New("the server answers with a web page in the place of the file: a login, or a wrong address")

// A remoteFile is random access to a file by ranges. Requests are made one at a time.
type remoteFile struct {
	ctx    context.Context
	c      *client
	url    *url.URL
	stored *url.URL // where the server led to
	what   string
	size   int64
	start  []byte // what was read of the beginning
}

// openFile asks for the first bytes of a file, as many as will probably be wanted, which
// tells its size too; that stays -1 where the server does not.
func (c *client) openFile(ctx context.Context, u *url.URL, what string, ahead int64) (*remoteFile, error) {
	f := &remoteFile{ctx: ctx, c: c, url: u, what: what, size: -1}
	first := make([]byte, min(max(ahead, 8), maxAhead))
	n, err := f.fetch(first, 0, true)
	if err != nil {
		return nil, err
	}
	if f.start == nil || n > len(f.start) {
		f.start = first[:n]
	}
	return f, nil
}

// maxAhead bounds a guess, in bytes.
const maxAhead = 16 << 20

func (f *remoteFile) Close() error { return nil }

func (f *remoteFile) ReadAt(p []byte, off int64) (n int, err error) {
	if off >= f.size {
		return 0, io.EOF
	}
	want := p[:min(int64(len(p)), f.size-off)]
	if off < int64(len(f.start)) {
		n = copy(want, f.start[off:])
	}
	if n < len(want) {
		var more int
		more, err = f.fetch(want[n:], off+int64(n), false)
		n += more
	}
	if err == nil && len(want) < len(p) {
		err = io.EOF
	}
	return n, err
}

var contentRange = regexp.MustCompile(`^bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)$`)

// fetch reads the bytes at off, fewer where the file is shorter. probing says that
// the size is still to be learnt.
func (f *remoteFile) fetch(p []byte, off int64, probing bool) (n int, err error) {
	a := asked{url: f.url, what: f.what, from: off, to: off + int64(len(p))}
	if f.stored != nil {
		a.url, f.stored = f.stored, nil // should it have expired, the way there is known
		if n, err = f.ask(a, p, off, false); err == nil {
			f.stored = a.url
			return n, nil
		}
		a.url = f.url
	}
	return f.ask(a, p, off, probing)
}

func (f *remoteFile) ask(a asked, p []byte, off int64, probing bool) (n int, err error) {
	err = f.c.do(f.ctx, a, func(resp *http.Response) error {
		if isPage(resp.Header) && !strings.HasSuffix(f.url.Path, ".html") {
			return backoff.Permanent(errPage)
		}
		n = 0
		if probing { // where it is stored after all: no need to be led there again
			if f.stored = resp.Request.URL; f.stored.String() == f.url.String() {
				f.stored = nil
			}
		}
		m := contentRange.FindStringSubmatch(resp.Header.Get("Content-Range"))
		if m != nil && m[3] != "*" {
			total, err := strconv.ParseInt(m[3], 10, 64)
			switch {
			case err != nil:
				return backoff.Permanent(fmt.Errorf("the server states a length of %.30s bytes for %s", m[3], f.what))
			case !probing && total != f.size:
				return backoff.Permanent(fmt.Errorf("%s had %d bytes and has %d now: it is being replaced", f.what, f.size, total))
			}
			f.size = total
		}
		switch resp.StatusCode {
		case http.StatusRequestedRangeNotSatisfiable:
			if probing && f.size <= 0 {
				f.size = 0
				return nil
			}
			return backoff.Permanent(fmt.Errorf("the server refuses the bytes %d to %d of %s, which has %d", a.from, a.to-1, f.what, f.size))
		case http.StatusPartialContent:
			if m == nil || m[1] != strconv.FormatInt(off, 10) {
				return backoff.Permanent(fmt.Errorf("the server answers %.60q to a request for the bytes from %d on", resp.Header.Get("Content-Range"), off))
			}
			want := p
			if f.size >= 0 {
				want = p[:min(int64(len(p)), f.size-off)]
			}
			n, err = io.ReadFull(resp.Body, want)
			return early(err)
		}
		if probing && resp.ContentLength >= 0 {
			f.size = resp.ContentLength
		}
		n, err = f.unranged(resp.Body, p, off)
		return early(err)
	})
	return n, err
}

// unranged takes the wanted part out of the whole file, which a server that ignores
// ranges sends, and leaves the rest unread. What is read is kept, and more each time,
// so that reading on does not begin at the beginning too often.
func (f *remoteFile) unranged(body io.Reader, p []byte, off int64) (int, error) {
	need := max(off+int64(len(p)), 2*int64(len(f.start)))
	if f.size >= 0 {
		need = min(need, f.size)
	}
	if need > maxUnranged {
		return 0, backoff.Permanent(fmt.Errorf("the server ignores ranges, and %d bytes of %s would be read", need, f.what))
	}
	buf := make([]byte, need)
	if _, err := io.ReadFull(body, buf); err != nil {
		return 0, err
	}
	f.start = buf
	return copy(p, buf[min(off, need):]), nil
}

// maxUnranged is how much of a file is read, in bytes, where a server ignores ranges.
const maxUnranged = 256 << 20

// early makes an end inside the wanted bytes what it is: half an answer.
func early(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
