package replay

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"infbench/internal/evidence"
	"infbench/stages/endpoint"
)

// Outcome is what came of asking once more.
type Outcome string

// The outcomes.
const (
	AsRecorded Outcome = "as_recorded"
	Differs    Outcome = "differs"
	Failed     Outcome = "failed"   // no answer now, and another outcome in the record
	NotSent    Outcome = "not_sent" // see Result.Why
)

// Result is what came of one request.
type Result struct {
	Recorded evidence.Exchange
	Now      evidence.Exchange
	Outcome  Outcome
	// Difference is the first one, nil where there is none.
	Difference *Difference
	// Why says why the request was not sent.
	Why string
}

// Options say how a bundle is asked again.
type Options struct {
	// Model takes the place of the recorded one in the requests.
	Model string
	// Only lists the numbers of the requests to send; empty means all.
	Only []int
	// Alone sends them one after another.
	Alone bool
	// Tell, if not nil, is told why nothing is sent for a while.
	Tell func(text string)
	// Redact is what the recorded texts went through.
	Redact func(string) string
	// Send sends one request; see [endpoint.Endpoint.Exchange].
	Send func(context.Context, endpoint.Prepared) endpoint.Exchange
}

// Run asks the requests of a bundle again and returns what came of each, in order.
func Run(ctx context.Context, b evidence.Bundle, o Options) []Result {
	list := slices.DeleteFunc(b.Exchanges(), func(x evidence.Exchange) bool { return len(o.Only) > 0 && !slices.Contains(o.Only, x.Number) })
	out := make([]Result, len(list))
	for i, x := range list {
		out[i] = Result{Recorded: x, Outcome: NotSent, Why: "interrupted before it was sent"}
	}
	first := time.Now()
	arrange := alone
	if !o.Alone {
		p := paceOf(list)
		if text := p.says(); text != "" && o.Tell != nil {
			o.Tell(text)
		}
		arrange = p.inCompany
	}
	arrange(ctx, list, func(i int) {
		x := list[i]
		if x.NoBody {
			out[i].Why = "the request was too large to be kept"
			return
		}
		body := withModel(x.Body, b.Model(), o.Model)
		sent := o.send(ctx, x, endpoint.PrepareBody([]byte(body), x.Stream, x.HangUp))
		now := evidence.Of(sent, o.Redact)
		now.Began = max(0, sent.Answer.Timing.Began.Sub(first))
		out[i] = judge(x, now, ctx.Err() != nil)
	})
	return out
}

// send sends a request. What the client broke off in the record is broken off again, after
// as long.
func (o Options) send(ctx context.Context, x evidence.Exchange, p endpoint.Prepared) endpoint.Exchange {
	if !stopped(x.Answer) {
		return o.Send(ctx, p)
	}
	within, leave := context.WithCancel(ctx)
	defer leave()
	defer time.AfterFunc(x.Answer.Timing.Ended, leave).Stop()
	return o.Send(within, p)
}

func judge(was, now evidence.Exchange, interrupted bool) Result {
	r := Result{Recorded: was, Now: now}
	switch r.Difference = compare(was, now); {
	case interrupted && stopped(now.Answer) && !stopped(was.Answer):
		return Result{Recorded: was, Outcome: NotSent, Why: "interrupted before it was answered"}
	case r.Difference == nil:
		r.Outcome = AsRecorded
	case failed(now.Answer) && (!failed(was.Answer) || now.Answer.Failure.Kind == endpoint.Unreachable):
		r.Outcome = Failed
	default:
		r.Outcome = Differs
	}
	return r
}

// withModel puts one model's name in the place of another's. A request that names a third
// one, or that is no JSON, was meant to and is left as it is.
func withModel(body, was, now string) string {
	if was == now || !json.Valid([]byte(body)) {
		return body
	}
	r := gjson.Get(body, "model")
	if r.Type != gjson.String || r.Str != was || r.Index == 0 {
		return body
	}
	name, err := json.Marshal(now)
	if err != nil {
		return body
	}
	var b strings.Builder
	b.WriteString(body[:r.Index])
	b.Write(name)
	b.WriteString(body[r.Index+len(r.Raw):])
	return b.String()
}

// Tally is how many came to what.
type Tally struct{ AsRecorded, Differ, Failed, NotSent int }

// TallyOf counts.
func TallyOf(list []Result) (t Tally) {
	for _, r := range list {
		switch r.Outcome {
		case AsRecorded:
			t.AsRecorded++
		case Differs:
			t.Differ++
		case Failed:
			t.Failed++
		case NotSent:
			t.NotSent++
		}
	}
	return t
}

// Of returns how many there are.
func (t Tally) Of() int { return t.AsRecorded + t.Differ + t.Failed + t.NotSent }
