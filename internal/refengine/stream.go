package refengine

import (
	"errors"
	"net/http"
)

// A stream writes one answer as server-sent events, in vLLM's shape: a chunk with
// the role, one chunk for each token that shows something, the finish reason with
// the last token, the usage, [DONE]. Each chunk is flushed.
type stream struct {
	*job
	w     http.ResponseWriter
	flush *http.ResponseController
	head  []byte // the part that all chunks share
	buf   []byte
	sent  int // token ids told so far
}

func (e *Engine) stream(w http.ResponseWriter, r *http.Request, j *job) {
	s := &stream{job: j, w: w, flush: http.NewResponseController(w)}
	s.head = s.chunkHead()
	for j.made < j.total() {
		from, to, err := j.next(r.Context())
		if err != nil {
			s.breakOff(err)
			return
		}
		if from == 0 {
			s.open()
		}
		for i := from; i < to; i++ {
			s.token(i)
		}
	}
	if s.includeUsage {
		s.usage()
	}
	s.event([]byte("[DONE]"))
}

func (s *stream) chunkHead() []byte {
	object := "chat.completion.chunk"
	if s.plain {
		object = "text_completion"
	}
	b := append([]byte(`data: {"id":`), appendString(nil, s.id)...)
	b = append(b, `,"object":"`+object+`","created":`...)
	b = appendInt(b, int(s.created))
	b = append(b, `,"model":`...)
	b = appendString(b, s.engine.config.Model)
	return append(b, `,"choices":[`...)
}

// open sends the headers, which wait for the first output as in vLLM, and the chunk
// with the role.
func (s *stream) open() {
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	s.w.WriteHeader(http.StatusOK)
	if s.plain {
		return
	}
	s.begin()
	s.buf = append(s.buf, `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]`...)
	if s.tokenIDs {
		s.buf = appendIDs(append(s.buf, `,"prompt_token_ids":`...), s.prompt)
	}
	s.end(0)
}

func (s *stream) begin() { s.buf = append(s.buf[:0], s.head...) }

// end closes the chunk and sends it. Done is the number of tokens so far.
func (s *stream) end(done int) {
	if s.continuousUsage {
		s.buf = s.appendUsage(append(s.buf, `,"usage":`...), done)
	}
	s.send(append(s.buf, "}\n\n"...))
}

// send hands over one event. A failed write means that the client is gone, which
// the request's context says as well.
func (s *stream) send(event []byte) {
	s.buf = event
	_, _ = s.w.Write(event)
	_ = s.flush.Flush()
}

func (s *stream) event(data []byte) {
	s.send(append(append(append(s.buf[:0], "data: "...), data...), "\n\n"...))
}

func (s *stream) token(i int) {
	last := i == s.total()-1
	shown := s.script.visible(i)
	if !shown && !last {
		return
	}
	s.begin()
	if shown {
		s.seen()
	}
	s.buf = append(s.buf, `{"index":0,`...)
	s.appendDelta(i)
	s.buf = append(s.buf, `,"logprobs":`...)
	s.buf = s.appendLogprobs(s.buf, i)
	s.buf = append(s.buf, `,"finish_reason":`...)
	s.appendFinish(last)
	if s.tokenIDs {
		s.buf = appendIDs(append(s.buf, `,"token_ids":`...), s.script.ids[s.sent:i+1])
		s.sent = i + 1
	}
	s.buf = append(s.buf, '}', ']')
	if s.tokenIDs && s.plain && i == 0 {
		s.buf = appendIDs(append(s.buf, `,"prompt_token_ids":`...), s.prompt)
	}
	s.end(i + 1)
}

func (s *stream) appendDelta(i int) {
	d := s.script.deltas[i]
	if s.plain {
		s.buf = appendString(append(s.buf, `"text":`...), d.text)
		return
	}
	s.buf = append(s.buf, `"delta":{`...)
	switch d.channel {
	case thought:
		s.buf = append(appendString(s.buf, s.engine.config.ReasoningField), ':')
		s.buf = appendString(s.buf, d.text)
	case callOpened:
		c := s.script.calls[d.call]
		s.buf = appendInt(append(s.buf, `"tool_calls":[{"index":`...), d.call)
		s.buf = appendString(append(s.buf, `,"id":`...), c.id)
		s.buf = appendString(append(s.buf, `,"type":"function","function":{"name":`...), c.Name)
		s.buf = append(s.buf, `,"arguments":""}}]`...)
	case callPiece:
		s.buf = appendInt(append(s.buf, `"tool_calls":[{"index":`...), d.call)
		s.buf = appendString(append(s.buf, `,"function":{"arguments":`...), d.text)
		s.buf = append(s.buf, "}}]"...)
	case hidden, content:
		s.buf = appendString(append(s.buf, `"content":`...), d.text)
	}
	s.buf = append(s.buf, '}')
}

func (s *stream) appendFinish(last bool) {
	if !last {
		s.buf = append(s.buf, "null"...)
		return
	}
	s.buf = appendString(s.buf, s.script.finish)
	s.buf = s.appendStopReason(s.buf)
}

func (j *job) appendStopReason(dst []byte) []byte {
	dst = append(dst, `,"stop_reason":`...)
	if j.script.stopped == "" {
		return append(dst, "null"...)
	}
	return appendString(dst, j.script.stopped)
}

func (s *stream) usage() {
	s.begin()
	s.buf = append(s.buf, `],"usage":`...)
	s.buf = s.appendMetrics(s.appendUsage(s.buf, s.made))
	s.send(append(s.buf, "}\n\n"...))
}

// breakOff ends a stream that cannot go on. Before the first output there is still
// a status to say so with; afterwards the error is an event of its own.
func (s *stream) breakOff(err error) {
	switch {
	case errors.Is(err, errAborted):
	case s.made == 0:
		refuse(s.w, overloaded(err))
	default:
		s.event(appendError(nil, overloaded(err)))
		s.event([]byte("[DONE]"))
	}
}
