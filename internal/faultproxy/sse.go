package faultproxy

import (
	"bytes"
	"encoding/json"
)

// A splitter cuts a byte stream into server-sent events: blocks up to and with an
// empty line. Together the blocks are the stream, byte for byte.
type splitter struct{ buf []byte }

func (s *splitter) feed(b []byte, yield func(block []byte)) {
	s.buf = append(s.buf, b...)
	for {
		n := blockEnd(s.buf)
		if n == 0 {
			return
		}
		block := bytes.Clone(s.buf[:n])
		s.buf = s.buf[n:]
		yield(block)
	}
}

// rest is what came after the last empty line.
func (s *splitter) rest() []byte { return s.buf }

func blockEnd(b []byte) int {
	for i := 0; i < len(b); {
		n := bytes.IndexByte(b[i:], '\n')
		if n < 0 {
			return 0
		}
		if len(bytes.TrimSuffix(b[i:i+n], []byte("\r"))) == 0 {
			return i + n + 1
		}
		i += n + 1
	}
	return 0
}

// An event is one block of the stream.
type event struct {
	raw  []byte // as it arrived; nil once doc has been changed
	head []byte // lines that are not data
	doc  object // nil: no JSON object
	done bool   // data: [DONE]
}

func parseEvent(block []byte) *event {
	e := &event{raw: block}
	var data []byte
	for line := range bytes.Lines(block) {
		payload, ok := bytes.CutPrefix(line, []byte("data:"))
		if ok {
			data = append(data, payload...)
		} else if len(bytes.TrimSpace(line)) > 0 {
			e.head = append(e.head, line...)
		}
	}
	data = bytes.TrimSpace(data)
	if string(data) == "[DONE]" {
		e.done = true
		return e
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(&e.doc) != nil {
		e.doc = nil
	}
	return e
}

// newEvent makes an event with this payload.
func newEvent(data []byte) *event {
	return parseEvent(append(append([]byte("data: "), data...), "\n\n"...))
}

// changed says that doc is no longer what raw holds.
func (e *event) changed() { e.raw = nil }

// freeze makes these bytes the event; filters behind see no document in it.
func (e *event) freeze(raw []byte) { *e = event{raw: raw} }

func (e *event) bytes() []byte {
	if e.raw != nil {
		return e.raw
	}
	b := append(bytes.Clone(e.head), "data: "...)
	return append(append(b, encode(e.doc)...), "\n\n"...)
}

// finishes: some choice of the event has a finish reason.
func (e *event) finishes() bool {
	for _, p := range parts(e.doc) {
		if p.finish() != "" {
			return true
		}
	}
	return false
}

// speaks: the event carries text on some channel.
func (e *event) speaks() bool {
	for _, p := range parts(e.doc) {
		for _, t := range p.texts() {
			if t.text != "" {
				return true
			}
		}
	}
	return false
}
