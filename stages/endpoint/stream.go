package endpoint

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

// Prepared is a request whose body is built already, so that building it falls
// outside what is measured.
type Prepared struct {
	body      []byte
	stream    bool
	maxTokens int
	hangUp    int
	speaks    func()
}

const chatPath = "/v1/chat/completions"

// stream sends a prepared request and reads the stream to its end. It always
// returns an Answer; what went wrong is in its Failure.
func (c *client) stream(ctx context.Context, p Prepared) (a Answer) {
	a.Timing.Marks = make([]Mark, 0, max(0, min(p.maxTokens, 4096))+2)
	ctx, cancelTotal := context.WithTimeoutCause(ctx, c.limits.Total, tooSlow("the end of the answer", c.limits.Total))
	defer cancelTotal()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx, ph := trace(ctx)
	defer func() { ph.into(&a.Timing) }()
	r, err := c.request(ctx, http.MethodPost, chatPath, p.body)
	if err != nil {
		a.fail(&Failure{Kind: Malformed, What: err.Error()})
		return a
	}
	r.Header.Set("Accept", "text/event-stream")
	w := newWatch(cancel, "the first event", c.limits.First)
	defer func() { w.stop() }()
	a.Timing.Began = ph.begin() // all that can be done before is done
	resp, err := c.roundTrip(r)
	if err != nil {
		a.Timing.Ended = time.Since(a.Timing.Began)
		a.fail(explain(ctx, err))
		return a
	}
	defer func() { _ = resp.Body.Close() }()
	a.Timing.Headers, a.Status = time.Since(a.Timing.Began), resp.StatusCode
	if f := c.notAStream(ctx, resp, &a); f != nil {
		a.Timing.Ended = time.Since(a.Timing.Began)
		a.fail(f)
		return a
	}
	c.readStream(ctx, resp.Body, w, p, &a)
	return a
}

// notAStream judges a response by its head; where that is wrong the beginning of
// the body says why.
func (c *client) notAStream(ctx context.Context, resp *http.Response, a *Answer) *Failure {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusOK && kind == "text/event-stream" {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxRaw))
	body = c.target.hide(body)
	a.raw = body
	switch {
	case resp.StatusCode != http.StatusOK:
		return judgeStatus(resp, chatPath, body)
	case err != nil && len(body) == 0:
		return explain(ctx, err)
	case kind == "application/json":
		return &Failure{Kind: NotTheAPI, Status: 200, What: "a stream was asked for and a plain JSON body came", Hint: "does a gateway in between buffer or strip streams?"}
	}
	return &Failure{Kind: NotTheAPI, Status: 200, Said: said(body), What: "a stream was asked for and another kind of body came", Hint: "is the target the API itself, and not a web page before it?"}
}

func (c *client) readStream(ctx context.Context, body io.Reader, w *watch, p Prepared, a *Answer) {
	t := &a.Timing
	began := t.Began
	s := &assembly{answer: a, limit: c.limits.AnswerBytes, target: c.target}
	now := func() time.Duration { return time.Since(began) }
	// The first event and the settling have a deadline that nothing moves: a server that
	// pings while it computes has not answered. In between silence is bounded.
	started, settling := false, false
	events := newEventReader(body, c.limits.EventBytes, c.limits.AnswerBytes, now, func(n int, at time.Duration) {
		t.Reads++
		t.Bytes += n
		if started && !settling {
			w.alive(began.Add(at))
		}
	})
	for {
		ev, err := events.next()
		if err != nil {
			c.ended(ctx, err, a, settling)
			break
		}
		switch {
		case a.End == Done:
			a.broke(soft, "an event after [DONE]")
		case s.take(ev):
			w.enter("the close after [DONE]", c.limits.Settle)
			settling = true
		case s.finishes > 0 && !settling:
			w.enter("the end of the stream after finish_reason", c.limits.Settle)
			settling = true
		case !started:
			w.enter("the next event", c.limits.Gap)
		}
		started = true
		if p.speaks != nil && t.FirstToken > 0 {
			p.speaks()
			p.speaks = nil
		}
		if a.Failure != nil {
			break
		}
		if p.hangUp > 0 && len(t.Marks) >= p.hangUp && a.End != Done && s.finishes == 0 {
			a.End = HungUp
			break
		}
	}
	t.Ended = now()
	a.Comments = events.comments
	s.finish()
	if a.End != HungUp { // which has no end to judge
		s.contract()
	}
}

// ended says what the end of the body means.
func (c *client) ended(ctx context.Context, err error, a *Answer, settling bool) {
	cut := context.Cause(ctx)
	var slow *Failure
	switch {
	case errors.Is(err, io.EOF):
		if a.End != Done {
			a.End = Closed
		}
	case a.End == Done && errors.As(cut, &slow):
		a.broke(hard, "the connection stayed open for %v after [DONE]", c.limits.Settle)
	case a.End == Done && cut == nil:
		a.broke(hard, "the connection broke after [DONE]")
	case a.End == Done: // stopped by the person after the answer was complete
	case settling && errors.As(cut, &slow) && slow.Kind == TooSlow:
		a.End = StayedOpen
		a.broke(hard, "neither [DONE] nor a close within %v of finish_reason", c.limits.Settle)
	case errors.Is(err, errStreamTooLarge):
		a.fail(&Failure{Kind: TooLarge, Status: 200, What: "the stream is larger than any answer", Hint: "does the server honour max_tokens, and end its streams?"})
	case errors.Is(err, errEventTooLarge):
		a.fail(&Failure{Kind: TooLarge, Status: 200, What: "one event of the stream is larger than any event", Hint: "is the target an OpenAI-compatible endpoint?"})
	default:
		a.fail(explain(ctx, err))
	}
}

// contract judges what is only known at the end.
func (s *assembly) contract() {
	a := s.answer
	if a.Failure != nil {
		return
	}
	switch {
	case s.events == 0:
		a.fail(&Failure{Kind: BrokenOff, Status: 200, What: "the stream ended without a single event"})
	case a.Finish == "" && a.End == Closed:
		a.fail(&Failure{Kind: BrokenOff, Status: 200, What: "the stream ended without finish_reason and without [DONE]", Hint: "the answer is cut: look at the server's log"})
	case a.Finish == "" && len(a.Everything()) == 0:
		a.fail(&Failure{Kind: BrokenOff, Status: 200, What: "the stream held no answer, only its end"})
	case a.Finish == "":
		a.broke(hard, "no finish_reason in the whole stream")
	}
	if a.Failure == nil && a.End == Closed {
		a.broke(soft, "the stream ended without [DONE]")
	}
}

// slowestToken is the time per token that a plain answer is waited for.
const slowestToken = 500 * time.Millisecond

// complete sends a prepared request that is not streamed.
func (c *client) complete(ctx context.Context, p Prepared) Answer {
	a := Answer{End: Whole}
	// Nothing comes before the whole answer is made, so its length bounds the wait: a hung
	// server is found out here as soon as in a stream.
	limit := c.limits.Total
	if p.maxTokens > 0 {
		limit = min(limit, c.limits.First+time.Duration(p.maxTokens)*slowestToken)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, tooSlow("the whole answer", limit))
	defer cancel()
	ctx, ph := trace(ctx)
	a.Timing.Began = ph.begin()
	status, body, err := c.plain(ctx, http.MethodPost, chatPath, p.body)
	a.Timing.Ended = time.Since(a.Timing.Began)
	ph.into(&a.Timing)
	return c.whole(a, status, body, err)
}

// whole completes an answer that is not streamed by what [client.plain] returned.
func (c *client) whole(begun Answer, status int, body []byte, err error) (a Answer) {
	a = begun
	a.Status, a.Timing.Bytes = status, len(body)
	defer func() {
		if a.Failure != nil && a.raw == nil {
			a.raw = c.target.beginning(body)
		}
	}()
	if err != nil {
		a.fail(asFailure(err))
		return a
	}
	s := &assembly{answer: &a, limit: c.limits.AnswerBytes, target: c.target, plain: true}
	if text := strings.TrimSpace(string(body[:min(len(body), 64)])); strings.HasPrefix(text, "<") {
		a.fail(&Failure{Kind: NotTheAPI, Status: 200, What: "an HTML page came in place of JSON", Hint: "is the target the API itself, and not a web page before it?"})
		return a
	}
	s.take(Event{Data: body})
	if s.objects == 0 && a.Failure == nil {
		a.fail(&Failure{Kind: Malformed, Status: 200, What: "the answer is not JSON", Hint: "is the target an OpenAI-compatible endpoint?"})
	}
	s.finish()
	switch {
	case a.Failure != nil:
	case s.finishes == 0 && a.Everything() == "":
		a.fail(&Failure{Kind: Malformed, Status: 200, What: "the answer holds no choice"})
	case s.finishes == 0:
		a.broke(hard, "no finish_reason in the answer")
	}
	return a
}

func asFailure(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	return &Failure{Kind: Malformed, What: err.Error()}
}
