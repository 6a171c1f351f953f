package faultproxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strconv"
)

// A filter changes the answer to one request. Every field may be nil. Its functions
// are called by one goroutine, that of the request.
type filter struct {
	// open is called before the headers leave.
	open func()
	// event takes one event of a stream and sends on what is to follow it.
	event func(e *event, out outlet)
	// end is called when the upstream's stream is over.
	end func(out outlet)
	// body changes the one JSON body of an answer without stream and says whether it did.
	body func(doc object) bool
	// text changes the bytes of a body of any other kind, and those of a JSON body when
	// all documents are through.
	text func(b []byte) []byte
}

// An outlet is where a filter's events go: the next filter, in the end the client.
type outlet struct {
	tap  *tap
	next int
}

func (o outlet) send(e *event) { o.tap.pass(o.next, e) }

// stop ends the answer here, whatever the upstream still has to say. The filters
// behind may let go what they hold; then how is run, nil being a clean end.
func (o outlet) stop(how func(x *exchange)) {
	o.tap.endFrom(o.next)
	o.tap.over, o.tap.ending = true, how
	o.tap.cancel()
}

// abort is the end of a connection that breaks.
func abort(*exchange) { panic(http.ErrAbortHandler) }

type mode uint8

const (
	undecided mode = iota
	untouched
	events
	document // one JSON body
	text
)

// A tap is the ResponseWriter the upstream writes to. It decides with the headers
// what kind of answer this is; only successful ones are changed.
type tap struct {
	x       *exchange
	w       http.ResponseWriter
	control *http.ResponseController
	cancel  context.CancelFunc
	choose  func() ([]filter, respondFunc)

	mode    mode
	status  int
	filters []filter
	split   splitter
	buf     bytes.Buffer
	left    int  // bytes that an untouched answer still has; negative: not known
	over    bool // a fault has ended the answer
	told    bool // the client has all of it: [DONE], or a refusal
	ending  func(x *exchange)
}

func newTap(x *exchange, w http.ResponseWriter, cancel context.CancelFunc, choose func() ([]filter, respondFunc)) *tap {
	x.header = w.Header()
	return &tap{x: x, w: w, control: http.NewResponseController(w), cancel: cancel, choose: choose}
}

// Header implements http.ResponseWriter.
func (t *tap) Header() http.Header { return t.w.Header() }

// WriteHeader implements http.ResponseWriter.
func (t *tap) WriteHeader(status int) {
	if status < 200 {
		t.w.WriteHeader(status)
		return
	}
	if t.mode != undecided {
		return
	}
	t.status, t.told = status, status != http.StatusOK
	filters, instead := t.choose()
	if instead != nil {
		t.replace(instead)
		return
	}
	t.filters = filters
	t.mode = t.kind()
	for _, f := range t.filters {
		if f.open != nil {
			f.open()
		}
	}
	t.left = -1
	if t.mode != untouched {
		t.Header().Del("Content-Length")
	} else if n, err := strconv.Atoi(t.Header().Get("Content-Length")); err == nil {
		t.left = n
	}
	if t.mode == untouched || t.mode == events {
		t.w.WriteHeader(status)
	}
}

// replace answers in the place of an upstream that has begun to.
func (t *tap) replace(respond respondFunc) {
	t.mode, t.over, t.told = untouched, true, true
	clear(t.Header())
	t.cancel()
	respond(t.x, t.w)
}

// leave is called before the last bytes go out: a client that has them sends its next
// request, and the two have not been in flight together.
func (t *tap) leave() { t.x.traffic.leave(t.x) }

var endOfStream = []byte("data: [DONE]")

// kind is how the answer is treated: as little as its filters need.
func (t *tap) kind() mode {
	if t.status != http.StatusOK {
		return untouched
	}
	media, _, _ := mime.ParseMediaType(t.Header().Get("Content-Type"))
	for _, f := range t.filters {
		switch {
		case media == "text/event-stream":
			if f.event != nil || f.end != nil {
				return events
			}
		case media == "application/json":
			if f.body != nil || f.text != nil {
				return document
			}
		case f.text != nil:
			return text
		}
	}
	return untouched
}

var errEnded = errors.New("the answer was ended by a fault")

// Write implements http.ResponseWriter. An upstream that writes on after the end
// gets an error, as from a client that left.
func (t *tap) Write(b []byte) (int, error) {
	if t.mode == undecided {
		t.WriteHeader(http.StatusOK)
	}
	switch {
	case t.over:
		return 0, errEnded
	case t.mode == untouched:
		if t.left -= len(b); t.left == 0 || bytes.Contains(b, endOfStream) {
			t.leave()
		}
		return t.w.Write(b)
	case t.mode == events:
		t.split.feed(b, func(block []byte) { t.pass(0, parseEvent(block)) })
	default:
		t.buf.Write(b)
	}
	return len(b), nil
}

// FlushError is what http.ResponseController calls. A body that is still being
// collected has nothing to flush.
func (t *tap) FlushError() error {
	if t.mode == undecided {
		t.WriteHeader(http.StatusOK)
	}
	if t.over || t.mode == document || t.mode == text {
		return nil
	}
	return t.control.Flush()
}

// Flush implements http.Flusher.
func (t *tap) Flush() { _ = t.FlushError() }

// pass hands an event to filter i, or to the client after the last.
func (t *tap) pass(i int, e *event) {
	if t.over {
		return
	}
	for ; i < len(t.filters); i++ {
		if f := t.filters[i].event; f != nil {
			f(e, outlet{t, i + 1})
			return
		}
	}
	if e.done {
		t.told = true
		t.leave()
	}
	_, _ = t.w.Write(e.bytes()) // a client that left is noticed by the request's context
	_ = t.control.Flush()
}

// endFrom tells filters i and later that nothing more will come.
func (t *tap) endFrom(i int) {
	for ; i < len(t.filters) && !t.over; i++ {
		if f := t.filters[i].end; f != nil {
			f(outlet{t, i + 1})
		}
	}
}

// finish is called when the upstream has returned.
func (t *tap) finish() {
	if t.mode == undecided {
		t.WriteHeader(http.StatusOK)
	}
	if t.over {
		return
	}
	switch t.mode {
	case events:
		if rest := t.split.rest(); len(rest) > 0 {
			t.pass(0, &event{raw: rest})
		}
		t.endFrom(0)
	case document:
		t.sendBody(t.changedText(t.changedDocument()))
	case text:
		t.sendBody(t.changedText(t.buf.Bytes()))
	case undecided, untouched:
	}
}

func (t *tap) sendBody(b []byte) {
	t.leave()
	t.Header().Set("Content-Length", strconv.Itoa(len(b)))
	t.w.WriteHeader(t.status)
	_, _ = t.w.Write(b)
}

func (t *tap) changedText(b []byte) []byte {
	for _, f := range t.filters {
		if f.text != nil {
			b = f.text(b)
		}
	}
	return b
}

func (t *tap) changedDocument() []byte {
	var doc object
	d := json.NewDecoder(bytes.NewReader(t.buf.Bytes()))
	d.UseNumber()
	if d.Decode(&doc) != nil {
		return t.buf.Bytes()
	}
	changed := false
	for _, f := range t.filters {
		if f.body != nil && f.body(doc) {
			changed = true
		}
	}
	if !changed {
		return t.buf.Bytes()
	}
	return encode(doc)
}
