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
}

const chatPath = "/v1/chat/completions"

// stream sends a prepared request and reads the stream to its end. It always
// returns an Answer; what went wrong is in its Failure.
func (c *client) stream(ctx context.Context, p Prepared) Answer {
	a := Answer{}
	a.Timing.Marks = make([]Mark, 0, min(p.maxTokens, 4096)+2)
	ctx, cancelTotal := context.WithTimeoutCause(ctx, c.limits.Total, tooSlow("the end of the answer", c.limits.Total))
	defer cancelTotal()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, err := c.request(trace(ctx, &a.Timing), http.MethodPost, chatPath, p.body)
	if err != nil {
		a.fail(&Failure{Kind: Malformed, What: err.Error()})
		return a
	}
	r.Header.Set("Accept", "text/event-stream")
	w := newWatch(cancel, "the first event", c.limits.First)
	defer func() { w.stop() }()
	a.Timing.Began = time.Now()
	resp, err := c.http.RoundTrip(r)
	if err != nil {
		a.Timing.Ended = time.Since(a.Timing.Began)
		a.fail(explain(ctx, err))
		return a
	}
	defer func() { _ = resp.Body.Close() }()
	a.Timing.Headers = time.Since(a.Timing.Began)
	if f := notAStream(resp); f != nil {
		a.Timing.Ended = time.Since(a.Timing.Began)
		a.fail(f)
		return a
	}
	c.readStream(ctx, resp.Body, w, &a)
	return a
}

// notAStream judges a response by its head; where that is wrong the beginning of
// the body says why.
func notAStream(resp *http.Response) *Failure {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusOK && kind == "text/event-stream" {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	switch {
	case resp.StatusCode != http.StatusOK:
		return judgeStatus(resp, body)
	case kind == "application/json":
		return &Failure{Kind: NotTheAPI, Status: 200, What: "a stream was asked for and a plain JSON body came", Hint: "does a gateway in between buffer or strip streams?"}
	}
	return &Failure{Kind: NotTheAPI, Status: 200, Said: said(body), What: "a stream was asked for and another kind of body came", Hint: "is the target the API itself, and not a web page before it?"}
}

func (c *client) readStream(ctx context.Context, body io.Reader, w *watch, a *Answer) {
	t := &a.Timing
	began := t.Began
	s := &assembly{answer: a, limit: c.limits.AnswerBytes}
	now := func() time.Duration { return time.Since(began) }
	events := newEventReader(body, c.limits.EventBytes, now, func(n int, at time.Duration) {
		t.Reads++
		t.Bytes += n
		w.alive(began.Add(at))
	})
	settling := false
	for {
		ev, err := events.next()
		if err != nil {
			c.ended(ctx, err, a, settling)
			break
		}
		if t.Bytes > c.limits.AnswerBytes {
			a.fail(&Failure{Kind: TooLarge, Status: 200, What: "the stream is larger than any answer", Hint: "does the server honour max_tokens, and end its streams?"})
			break
		}
		switch {
		case a.End == Done:
			a.broke(soft, "an event after [DONE]")
		case s.take(ev):
			w.enter("the close after [DONE]", c.limits.Settle)
			settling = true
		case t.FirstEvent > 0 && s.events == 1:
			w.enter("the next event", c.limits.Gap)
		case s.finishes > 0 && !settling:
			w.enter("the end of the stream after finish_reason", c.limits.Settle)
			settling = true
		}
		if a.Failure != nil {
			break
		}
	}
	t.Ended = now()
	a.Comments = events.comments
	s.finish()
	s.contract()
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
	case a.End == Done:
		a.broke(hard, "the connection stayed open or broke after [DONE]")
	case settling && errors.As(cut, &slow) && slow.Kind == TooSlow:
		a.End = StayedOpen
		a.broke(hard, "neither [DONE] nor a close within %v of finish_reason", c.limits.Settle)
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

// complete sends a prepared request that is not streamed.
func (c *client) complete(ctx context.Context, p Prepared) Answer {
	a := Answer{End: Whole}
	a.Timing.Began = time.Now()
	_, body, err := c.plain(trace(ctx, &a.Timing), http.MethodPost, chatPath, p.body)
	a.Timing.Ended = time.Since(a.Timing.Began)
	a.Timing.Bytes = len(body)
	if err != nil {
		a.fail(asFailure(err))
		return a
	}
	s := &assembly{answer: &a, limit: c.limits.AnswerBytes, plain: true}
	if text := strings.TrimSpace(string(body[:min(len(body), 64)])); strings.HasPrefix(text, "<") {
		a.fail(&Failure{Kind: NotTheAPI, Status: 200, What: "an HTML page came in place of JSON", Hint: "is the target the API itself, and not a web page before it?"})
		return a
	}
	s.take(Event{Data: body})
	if len(a.Broke) > 0 && s.finishes == 0 && a.Failure == nil {
		a.fail(&Failure{Kind: Malformed, Status: 200, What: "the answer is not JSON", Hint: "is the target an OpenAI-compatible endpoint?"})
	}
	s.finish()
	if a.Failure == nil && s.finishes == 0 && a.Everything() == "" {
		a.fail(&Failure{Kind: Malformed, Status: 200, What: "the answer holds no choice"})
	}
	if a.Failure == nil {
		a.End = Whole
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
