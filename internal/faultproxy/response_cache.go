package faultproxy

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"sync"
)

var _ = register(fault{
	Info: Info{
		ID: "response-cache", Stage: 3, Modes: []string{"IDN-06", "DET-04"},
		Doc:    "a request that was answered before gets the same answer again, at once and in one piece",
		Params: []Param{oneOf("keys", "body: requests are the same byte for byte; messages: in what is asked and in the form of the answer, whatever the seed and temperature", "body", "messages")},
	},
	build: func(o options) acts {
		c := &responses{kept: map[string]response{}}
		key := func(x *exchange) string { return x.r.URL.Path + "\n" + string(x.body) }
		if o.text("keys") == "messages" {
			key = asked
		}
		return acts{
			admit: func(x *exchange) respondFunc { return c.find(key(x)) },
			answer: func(x *exchange) filter {
				k := key(x)
				var said bytes.Buffer
				keep := func() {
					if x.r.Context().Err() == nil { // the client has stayed to the end
						c.keep(k, response{x.header.Clone(), said.Bytes()})
					}
				}
				return filter{
					event: func(e *event, out outlet) {
						said.Write(e.bytes())
						out.send(e)
					},
					end: func(outlet) { keep() },
					text: func(b []byte) []byte {
						said.Write(b)
						keep()
						return b
					},
				}
			},
		}
	},
})

// material are the fields that say what is asked and what form the answer has.
var material = []string{
	"model", "messages", "prompt", "tools", "tool_choice", "parallel_tool_calls", "response_format", "chat_template_kwargs", "stream", "stream_options",
	"max_tokens", "max_completion_tokens", "min_tokens", "ignore_eos", "stop", "n", "echo", "logprobs", "top_logprobs", "return_token_ids",
}

// asked is a request without what only makes its answer vary.
func asked(x *exchange) string {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(x.body, &fields) // as the client wrote them, whatever was set since
	var b bytes.Buffer
	b.WriteString(x.r.URL.Path)
	for _, name := range material {
		b.WriteString("\n" + name)
		_ = json.Compact(&b, fields[name]) // an absent field writes nothing
	}
	return b.String()
}

// A response is what a client got.
type response struct {
	header http.Header
	body   []byte
}

// mostKept bounds the bytes that are kept.
const mostKept = 64 << 20

// responses are those to the requests so far. Safe for concurrent use.
type responses struct {
	mu   sync.Mutex
	kept map[string]response
	size int
}

func (c *responses) keep(key string, r response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := len(key) + len(r.body)
	if _, ok := c.kept[key]; ok || c.size+size > mostKept {
		return
	}
	c.size += size
	c.kept[key] = r
}

// find returns what answers with the response, nil where there is none.
func (c *responses) find(key string) respondFunc {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.kept[key]
	if !ok {
		return nil
	}
	return func(x *exchange, w http.ResponseWriter) {
		maps.Copy(w.Header(), r.header.Clone())
		w.Header().Set("Content-Length", strconv.Itoa(len(r.body)))
		w.Header().Del("Date") // of today
		x.traffic.leave(x)
		_, _ = w.Write(r.body) // a client that left needs none
	}
}
