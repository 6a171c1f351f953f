package endpoint

import (
	"bytes"
	"errors"
	"io"
	"time"
)

// Event is one server-sent event.
type Event struct {
	// At is the time of the read that brought the event's last byte, Read the number
	// of that read: events of one read share a stamp and no gap lies between them.
	At   time.Duration
	Read int
	// Name is the event field, "" for most.
	Name string
	// Data is the data lines joined by line breaks. It is valid until the next call.
	Data []byte
}

// errEventTooLarge says that one event or line exceeded the limit, errStreamTooLarge
// that the whole stream did.
var (
	errEventTooLarge  = errors.New("an event of the stream is larger than the limit")
	errStreamTooLarge = errors.New("the stream is larger than the limit")
)

// eventReader splits a stream into events. Memory is bounded by the event limit,
// whatever is sent: a line of 2 GB ends the stream with errEventTooLarge, and
// comments without end with errStreamTooLarge.
//
// Note: lines end in LF or CRLF. The lone CR that the standard also allows is sent by
// no server, and waiting for what follows it would delay events.
type eventReader struct {
	src      io.Reader
	now      func() time.Duration
	onRead   func(n int, at time.Duration)
	buf      []byte
	from, to int // the unread part of buf
	limit    int // bytes of one event
	most     int // bytes of the whole stream
	read     int // bytes so far
	begun    bool
	at       time.Duration
	reads    int
	data     []byte
	name     string
	lines    int // data lines of the event so far
	comments int
	err      error
}

const firstBuffer = 16 << 10

func newEventReader(src io.Reader, limit, most int, now func() time.Duration, onRead func(int, time.Duration)) *eventReader {
	return &eventReader{src: src, now: now, onRead: onRead, limit: limit, most: most, buf: make([]byte, min(firstBuffer, limit))}
}

// next returns the next event, or the error that ended the stream: io.EOF at a
// clean end. An event that the end of the stream cuts off is returned first.
func (r *eventReader) next() (Event, error) {
	r.data, r.name, r.lines = r.data[:0], "", 0
	for {
		line, ok := r.line()
		if !ok {
			if r.lines > 0 {
				return r.event(), nil
			}
			return Event{}, r.err
		}
		if len(line) == 0 {
			if r.lines > 0 {
				return r.event(), nil
			}
			r.name = ""
			continue
		}
		if err := r.field(line); err != nil {
			r.stop(err)
			return Event{}, err
		}
	}
}

// stop ends the reading: what is buffered is dropped.
func (r *eventReader) stop(err error) {
	r.err = err
	r.from, r.to, r.lines = 0, 0, 0
}

func (r *eventReader) event() Event {
	return Event{At: r.at, Read: r.reads, Name: r.name, Data: r.data}
}

// field takes one line that is not empty.
func (r *eventReader) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte{':'})
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) {
	case "data":
		if r.lines > 0 {
			r.data = append(r.data, '\n')
		}
		r.data = append(r.data, value...)
		r.lines++
		if len(r.data) > r.limit {
			return errEventTooLarge
		}
	case "event":
		r.name = string(value[:min(len(value), 64)])
	case "":
		r.comments++
	case "error": // older llama.cpp writes "error: {…}"
		r.name = "error"
		r.data = append(r.data[:0], value...)
		r.lines = 1
	}
	return nil
}

// line returns the next line without its end; false when there is none.
func (r *eventReader) line() ([]byte, bool) {
	seen := 0
	for {
		if i := bytes.IndexByte(r.buf[r.from+seen:r.to], '\n'); i >= 0 {
			line := r.buf[r.from : r.from+seen+i]
			r.from += seen + i + 1
			return r.trim(line), true
		}
		seen = r.to - r.from
		if r.err != nil {
			if seen == 0 {
				return nil, false
			}
			line := r.buf[r.from:r.to]
			r.from = r.to
			return r.trim(line), true
		}
		if !r.fill() {
			return nil, false
		}
	}
}

// trim takes the carriage return off a line, and off the first the byte order mark.
func (r *eventReader) trim(line []byte) []byte {
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1]
	}
	return line
}

// fill reads once; false when a limit was reached. The stamp is taken right after the
// read returns.
func (r *eventReader) fill() bool {
	switch {
	case r.from == r.to:
		r.from, r.to = 0, 0
	case r.to == len(r.buf) && r.from > 0:
		r.to = copy(r.buf, r.buf[r.from:r.to])
		r.from = 0
	case r.to == len(r.buf):
		if len(r.buf) >= r.limit {
			r.stop(errEventTooLarge)
			return false
		}
		grown := make([]byte, min(2*len(r.buf), r.limit))
		copy(grown, r.buf[:r.to])
		r.buf = grown
	}
	n, err := r.src.Read(r.buf[r.to:])
	if n > 0 {
		r.at = r.now()
		r.reads++
		r.to += n
		r.read += n
		r.onRead(n, r.at)
	}
	switch {
	case err != nil:
		r.err = err
	case r.read > r.most:
		r.stop(errStreamTooLarge)
		return false
	}
	return true
}
