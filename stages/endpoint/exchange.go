package endpoint

import (
	"bytes"
	"context"
	"slices"
	"sync"
)

// Exchange is one request to the model and all that came of it. [Options.Observe] is told
// of it after its end, so that nothing is done for it while an answer is read. What it
// holds is shared with whoever asked, and must not be changed.
type Exchange struct {
	// Number counts the requests of an endpoint from 1, in the order in which they began.
	Number int64
	// Body is the request as it was sent. No key and no header is in it.
	Body []byte
	// Stream says that the answer was read as a stream, HangUp after how many events with
	// text it was to be dropped; 0 is never.
	Stream bool
	HangUp int
	Answer Answer
	// Raw is the beginning of a body that was no answer, the key taken out of it. It is
	// empty where there is an answer, or nothing came.
	Raw []byte
	// Redacted says that a secret was taken out of the answer.
	Redacted bool
	// Again says that the exchange was told before, and that another check judges it now:
	// see [Remember].
	Again bool
}

// maxRaw bounds what is kept of a body that is no answer.
const maxRaw = 64 << 10

// beginning returns a copy of what may be shown of a body that is no answer.
func (t Target) beginning(body []byte) []byte {
	hidden := t.hide(body)
	return bytes.Clone(hidden[:min(len(hidden), maxRaw)])
}

// Exchange is [Endpoint.Send] for whoever wants all of what came.
func (e Endpoint) Exchange(ctx context.Context, p Prepared) Exchange {
	number := e.requests.Add(1)
	if p.stream {
		return e.ended(number, p, e.client.stream(ctx, p))
	}
	return e.ended(number, p, e.client.complete(ctx, p))
}

// ended makes the exchange of a request that has ended, and tells it.
func (e Endpoint) ended(number int64, p Prepared, a Answer) Exchange {
	x := Exchange{Number: number, Body: p.body, Stream: p.stream, HangUp: p.hangUp, Answer: a, Raw: a.raw, Redacted: a.hidden}
	x.Answer.raw = nil // up to maxRaw, which whoever asked has no use for
	e.tell(x)
	return x
}

// tell hands an exchange to the observer, now or again.
func (e Endpoint) tell(x Exchange) {
	if e.observe != nil {
		e.hearing.add(x)
		e.observe(x)
	}
}

// PrepareBody returns a request of a body that exists already, such as one that was
// observed. A stream is dropped after hangUp events with text; 0 is never.
func PrepareBody(body []byte, stream bool, hangUp int) Prepared {
	return Prepared{body: body, stream: stream, maxTokens: tokenLimit(body), hangUp: hangUp}
}

// tokenLimit returns the token limit that a body states, 0 where it states none.
func tokenLimit(body []byte) int {
	for _, name := range []string{"max_tokens", "max_completion_tokens"} {
		if n := count(jsonAt(body, name)).Or(0); n > 0 {
			return n
		}
	}
	return 0
}

// hearing notes the exchanges that are told while something is being found out, so that
// they can be told again when another check makes use of what was found.
type hearing struct {
	mu    sync.Mutex
	depth int
	heard []Exchange
}

// begin starts noting and returns what ends it and returns what was noted.
func (h *hearing) begin() func() []Exchange {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.depth++
	from := len(h.heard)
	return func() []Exchange {
		h.mu.Lock()
		defer h.mu.Unlock()
		out := slices.Clone(h.heard[from:])
		if h.depth--; h.depth == 0 {
			h.heard = nil
		}
		return out
	}
}

func (h *hearing) add(x Exchange) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.depth > 0 {
		h.heard = append(h.heard, x)
	}
}
