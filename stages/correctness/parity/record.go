package parity

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

// A Plan says how much is asked.
type Plan struct {
	// Prompts is how many of the prompts are asked, AnswerTokens how long each answer is.
	Prompts, AnswerTokens int
	// Calls is how many of the prompts with tools, Passes how often all of those: the
	// reference is compared with itself first.
	Calls, Passes int
	// Until is when no new prompt is begun; the zero time is never.
	Until time.Time
}

// DefaultPlan asks enough to tell neighbouring precisions apart; QuickPlan a quarter of
// it and no calls.
func DefaultPlan() Plan {
	return Plan{Prompts: 64, AnswerTokens: 16, Calls: len(toolPrompts), Passes: 2}
}

// QuickPlan is the smallest plan that says anything.
func QuickPlan() Plan { return Plan{Prompts: 16, AnswerTokens: 16} }

// over reports whether the time for new prompts is over.
func (p Plan) over() bool { return !p.Until.IsZero() && time.Now().After(p.Until) }

// Record asks one server, one prompt after another, each from a cold cache where the
// engine has a way. Each is asked twice: asking for log probabilities can change the code
// path, so the answer that counts as the text is the one without them.
func Record(ctx context.Context, ep endpoint.Endpoint, p Plan) (Recording, error) {
	b := ep.Build()
	r := Recording{origin: gates.Printable(strings.TrimSpace(ep.Engine().Name()+" "+b.Version), 120), set: promptSet()}
	ask := asker{ep: ep, salt: rand.Text(), listed: mostTop}
	for _, q := range prompts(p.Prompts) {
		if ctx.Err() != nil || p.over() {
			break
		}
		a, err := ask.answer(ctx, q, p.AnswerTokens)
		if err != nil {
			return Recording{}, err
		}
		r.answers = append(r.answers, a)
	}
	if ep.Unable(endpoint.Tools) != "" {
		return r, ctx.Err()
	}
	for range p.Passes {
		pass, err := ask.calls(ctx, p)
		if err != nil {
			return Recording{}, err
		}
		r.calls = append(r.calls, pass)
	}
	return r, ctx.Err()
}

// The number of likeliest tokens asked for: the most that the API has, and what servers
// with a limit of their own allow.
const mostTop, fewTop = 20, 5

// asker asks one server.
type asker struct {
	ep     endpoint.Endpoint
	salt   string
	asked  int
	listed int // likeliest tokens to ask for; 0: the server reports none
	// mute says that the model thinks and is asked not to, loud that it cannot be.
	mute, loud bool
}

// cold returns the request in a form that no cache has seen.
func (k *asker) cold(r endpoint.Request) endpoint.Request {
	k.asked++
	r, _ = k.ep.Cold(r, fmt.Sprintf("%s-%d", k.salt, k.asked))
	return r
}

func (k *asker) answer(ctx context.Context, q prompt, tokens int) (answer, error) {
	r := endpoint.Chat(q.text).MaxTokens(tokens)
	plain, r, err := k.straight(ctx, r)
	if err != nil {
		return answer{}, err
	}
	out := answer{promptTokens: plain.Usage.Prompt, tokens: plain.Usage.Completion}
	out.text, out.long = shortened(plain.Everything(), tokens)
	for k.listed > 0 {
		with := k.ep.Complete(ctx, k.cold(r.Logprobs(k.listed)))
		switch err := with.Err(); {
		case refuses(with):
			k.fewer()
		case err != nil:
			return answer{}, err
		case len(with.Logprobs) == 0:
			k.listed = 0
		default:
			text, longer := shortened(with.Everything(), tokens)
			list, more := begun(positions(with), tokens)
			out.positions, out.retold, out.long = list, text != out.text, out.long || longer || more
			return out, nil
		}
	}
	return out, nil
}

// straight asks for the answer itself: what a model thinks before it is not always shown
// with its log probabilities, and to be compared only as a whole. It returns the request
// as it was asked.
func (k *asker) straight(ctx context.Context, r endpoint.Request) (endpoint.Answer, endpoint.Request, error) {
	if k.mute {
		r = r.Thinking(false)
	}
	a := k.ep.Complete(ctx, k.cold(r))
	if err := a.Err(); err != nil || k.mute || k.loud || !thinks(a) {
		return a, r, err
	}
	muted := r.Thinking(false)
	b := k.ep.Complete(ctx, k.cold(muted))
	if k.loud = refuses(b); k.loud {
		return a, r, nil
	}
	k.mute = true
	return b, muted, b.Err()
}

// thinks reports whether an answer begins with thinking.
func thinks(a endpoint.Answer) bool {
	return a.Reasoning != "" || strings.HasPrefix(strings.TrimSpace(a.Content), "<think>")
}

func (k *asker) fewer() {
	if k.listed == mostTop {
		k.listed = fewTop
		return
	}
	k.listed = 0
}

// refuses reports whether the server does not take the request as it is.
func refuses(a endpoint.Answer) bool {
	var f *endpoint.Failure
	return errors.As(a.Err(), &f) && f.Kind == endpoint.Refused && (f.Status == 400 || f.Status == 422 || f.Status == 501)
}

// calls asks the prompts with tools once. A server that does not take tools has none.
func (k *asker) calls(ctx context.Context, p Plan) ([]toolAnswer, error) {
	var out []toolAnswer
	for _, q := range toolPrompts[:min(p.Calls, len(toolPrompts))] {
		if ctx.Err() != nil || p.over() {
			return out, nil //nolint:nilerr // the caller looks at the context
		}
		a, _ := k.ep.AskPlain(ctx, k.cold(q.request())) // the answer holds the failure too
		switch {
		case refuses(a) && len(out) == 0:
			return nil, nil
		case a.Failure != nil:
			return nil, a.Failure
		}
		out = append(out, judged(a))
	}
	return out, nil
}
