package faultproxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// An exchange is one request through the proxy, as faults see it.
type exchange struct {
	r       *http.Request
	traffic *traffic
	seed    uint64

	// generates: a chat or text completion, the only requests that are counted.
	generates, streams bool
	// fields is the request; nil where the body is no JSON object. Values stay as
	// they were written: a fault that drops the system message must not sort the
	// keys of a tool.
	fields  map[string]json.RawMessage
	rewrite bool        // fields were changed
	header  http.Header // of the answer
	body    []byte

	prompt string   // all text of the prompt, as the client sent it
	length int      // its characters
	head   string   // how it begins; "" where it is too short to share anything
	runs   []string // its runs of at least longRun digits
	limit  int      // tokens that the answer may have; 0: not said
	bound  bool     // the answer must have a form

	earlier int      // generation requests before this one
	ahead   int      // of them in flight when it came
	warm    bool     // an earlier prompt began the same
	again   bool     // an earlier prompt was the same
	away    int      // characters of other prompts since the latest one that began the same
	stale   []string // digit runs of the first prompt that began the same
	crowd   int      // most requests that were ever in flight together before this one
	dropped bool     // the client left a stream before its end; known when it is over

	// These are guarded by traffic.mu.
	most      int
	mostBound int
	foreign   []string
	with      []*exchange
}

// longRun is the shortest run of digits that is taken for a planted code.
const longRun = 6

func newExchange(p *Proxy, r *http.Request) (*exchange, error) {
	x := &exchange{r: r, traffic: &p.traffic, seed: p.seed, earlier: p.traffic.passed()}
	x.generates = r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/completions")
	if !x.generates {
		return x, nil
	}
	var err error
	if x.body, err = io.ReadAll(r.Body); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	if json.Unmarshal(x.body, &x.fields) != nil {
		x.fields = nil // the upstream is to complain about it, not the proxy
	}
	_ = json.Unmarshal(x.fields["stream"], &x.streams)
	x.prompt = x.promptText()
	x.length, x.head = utf8.RuneCountInString(x.prompt), x.cached(headOf(x.prompt))
	x.runs = digitRuns(x.prompt, longRun)
	x.limit, x.bound = x.limitOf(), x.bindsForm()
	return x, nil
}

// cached is the beginning under which a cache would know a prompt: none where the request
// leaves the cache out, and another where it has a name of its own in it.
func (x *exchange) cached(head string) string {
	var cache *bool
	if json.Unmarshal(x.fields["cache_prompt"], &cache) == nil && cache != nil && !*cache || head == "" {
		return ""
	}
	var salt string
	_ = json.Unmarshal(x.fields["cache_salt"], &salt)
	return salt + head
}

// limits are the names of the token limit.
var limits = []string{"max_tokens", "max_completion_tokens"}

func (x *exchange) limitOf() (tokens int) {
	for _, name := range limits {
		var n int
		if json.Unmarshal(x.fields[name], &n) == nil {
			tokens = max(tokens, n)
		}
	}
	return tokens
}

// bindsForm: the request has a response_format other than text.
func (x *exchange) bindsForm() bool {
	var format struct{ Type string }
	_ = json.Unmarshal(x.fields["response_format"], &format)
	return strings.HasPrefix(format.Type, "json")
}

func (x *exchange) promptText() string {
	var b strings.Builder
	for _, m := range x.messages() {
		b.WriteString(m.text())
		b.WriteByte('\n')
	}
	var prompt string
	if json.Unmarshal(x.fields["prompt"], &prompt) == nil {
		b.WriteString(prompt)
	}
	return b.String()
}

// asked is a field of the request as the client wrote it, whatever was set since.
func (x *exchange) asked(name string) json.RawMessage {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(x.body, &fields)
	return fields[name]
}

// set writes a field of the request; nil removes it.
func (x *exchange) set(name string, value any) {
	if x.fields == nil {
		return
	}
	x.rewrite = true
	if value == nil {
		delete(x.fields, name)
		return
	}
	x.fields[name] = encode(value)
}

// upstream is the request to send on.
func (x *exchange) upstream() *http.Request {
	r := x.r.Clone(x.r.Context())
	// An answer that is to be changed must not come compressed.
	r.Header.Del("Accept-Encoding")
	if !x.generates {
		return r
	}
	body := x.body
	if x.rewrite {
		body = encode(x.fields)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	r.TransferEncoding = nil
	r.Header.Del("Content-Length") // ContentLength speaks
	return r
}

// chance is a generator of its own for one fault and one request, so that what a
// fault does depends on the seed and the order of requests alone.
func (x *exchange) chance(id string) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", id, x.earlier)
	return rand.New(rand.NewPCG(x.seed, h.Sum64()))
}

// lot is a number below 1 that the seed and the prompt alone decide: equal prompts draw the
// same.
func (x *exchange) lot(id string) float64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %s", id, x.prompt)
	return rand.New(rand.NewPCG(x.seed, h.Sum64())).Float64()
}

// wait returns after d, or when the client has left.
func (x *exchange) wait(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-x.r.Context().Done():
	}
}

// encode is json.Marshal without the escapes for HTML, which no engine writes. The
// value is made of what a JSON decoder returned, so it always has a form.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("faultproxy: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
