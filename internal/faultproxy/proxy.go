package faultproxy

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// A Proxy is an http.Handler with faults. It is safe for concurrent use and starts
// no goroutine of its own.
type Proxy struct {
	up        http.Handler
	transport *http.Transport // nil before a handler
	faults    []armed
	seed      uint64
	traffic   traffic
}

// ForHandler puts the faults before an endpoint in the same process. A spec is a
// fault's ID, or ID:param=value,param=value; faults act in the order given. The
// error names everything that is wrong with the specs.
//
// A fault that cuts the connection panics with http.ErrAbortHandler, as handlers
// do; so the proxy wants to be run by an http.Server.
func ForHandler(h http.Handler, specs []string, seed uint64) (*Proxy, error) {
	if h == nil {
		return nil, errors.New("fault proxy: no upstream")
	}
	faults, err := arm(specs)
	if err != nil {
		return nil, err
	}
	return &Proxy{up: h, faults: faults, seed: seed, traffic: traffic{heads: map[string]*head{}, seen: map[uint64]bool{}}}, nil
}

// ForURL is ForHandler for an endpoint reached by HTTP; the request's path is
// appended to that of u. Close drops the idle connections.
func ForURL(u *url.URL, specs []string, seed uint64) (*Proxy, error) {
	if u == nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("fault proxy: the upstream must be an http or https URL")
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableCompression = true // bytes pass as they are
	// A server may close an idle connection just as it is taken again, and a POST is not
	// sent twice: each request has its own, so that no fault comes of the proxy itself.
	t.DisableKeepAlives = true
	p, err := ForHandler(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(u) },
		Transport:     t,
		FlushInterval: -1, // after each read
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			refuse(w, http.StatusBadGateway, "bad_gateway", "upstream: "+err.Error(), nil)
		},
	}, specs, seed)
	if err != nil {
		return nil, err
	}
	p.transport = t
	return p, nil
}

// Close drops idle connections to the upstream. Requests in flight go on.
func (p *Proxy) Close() {
	if p.transport != nil {
		p.transport.CloseIdleConnections()
	}
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(p.faults) == 0 {
		p.up.ServeHTTP(w, r)
		return
	}
	x, err := newExchange(p, r)
	if err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request_error", err.Error(), nil)
		return
	}
	if x.generates {
		p.traffic.enter(x)
		defer p.traffic.leave(x)
		defer p.over(x)
	}
	for _, f := range p.faults {
		if respond := f.responds(x); respond != nil {
			respond(x, w)
			return
		}
	}
	for _, f := range p.faults {
		if f.request != nil && f.applies(x) {
			f.request(x)
		}
	}
	p.relay(x, w)
}

func (p *Proxy) over(x *exchange) {
	for _, f := range p.faults {
		if f.over != nil {
			f.over(x)
		}
	}
}

// relay runs the upstream with a tap on its answer.
func (p *Proxy) relay(x *exchange, w http.ResponseWriter) {
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	t := newTap(x, w, cancel, func() ([]filter, respondFunc) { return p.filters(x) })
	defer func() { x.dropped = x.streams && !t.told && x.r.Context().Err() != nil }()
	runUpstream(p.up, t, x.upstream().WithContext(ctx))
	t.finish()
	if t.ending != nil {
		t.ending(x)
	}
}

// filters are those for the answer to x, or what answers in the upstream's place after all.
func (p *Proxy) filters(x *exchange) (list []filter, instead respondFunc) {
	for _, f := range p.faults {
		applies := f.applies(x)
		if applies && f.instead != nil {
			if instead = f.instead(x); instead != nil {
				return nil, instead
			}
		}
		switch {
		case applies && f.answer != nil:
			list = append(list, f.answer(x))
		case !applies && x.generates && f.otherwise != nil:
			list = append(list, f.otherwise(x))
		}
		if f.over != nil { // which wants to know whether the end was reached
			list = append(list, filter{event: func(e *event, out outlet) { out.send(e) }})
		}
	}
	return list, nil
}

// runUpstream swallows the panic of a handler that was told to stop, by a fault that
// ended the answer early. Any other is passed on: the upstream broke off by itself.
func runUpstream(h http.Handler, t *tap, r *http.Request) {
	defer func() {
		if e := recover(); e != nil && (!t.over || e != any(http.ErrAbortHandler)) {
			panic(e)
		}
	}()
	h.ServeHTTP(t, r)
}

// refuse writes an error in the form of the API.
func refuse(w http.ResponseWriter, status int, kind, message string, code any) {
	if code == nil {
		code = status
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(apiError(kind, message, code))
}

func apiError(kind, message string, code any) []byte {
	return encode(object{"error": object{"message": message, "type": kind, "param": nil, "code": code}})
}

type respondFunc func(x *exchange, w http.ResponseWriter)
