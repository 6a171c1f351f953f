package endpoint

import (
	"context"
	"strings"

	"infbench/gates"
)

// firstBudget is the token limit of a question's first try. A model that thinks is
// asked again with thinkingBudget when the first was used up before the answer.
const firstBudget, thinkingBudget = 320, 8192

// Ask streams a question and returns the complete answer, or the failure. The
// limit on tokens is small; where it was used up by thinking, the question is put
// once more with room to think. That is no retry of a wrong answer.
func (e Endpoint) Ask(ctx context.Context, r Request) (Answer, error) {
	return e.patiently(ctx, r, e.Stream)
}

// AskPlain is [Endpoint.Ask] without streaming.
func (e Endpoint) AskPlain(ctx context.Context, r Request) (Answer, error) {
	return e.patiently(ctx, r, e.Complete)
}

func (e Endpoint) patiently(ctx context.Context, r Request, send func(context.Context, Request) Answer) (Answer, error) {
	limit := e.within(min(r.maxTokens, firstBudget))
	a := send(ctx, r.MaxTokens(limit))
	if a.Failure != nil || !a.UsedUpThinking() || ctx.Err() != nil {
		return a, a.Err()
	}
	if more := e.beside(e.within(thinkingBudget), a.Usage.Prompt); more > limit {
		a = send(ctx, r.MaxTokens(more))
	}
	return a, a.Err()
}

// beside keeps a token limit inside what a prompt leaves of the context.
func (e Endpoint) beside(tokens int, prompt gates.Count) int {
	used, counted := prompt.N()
	if n := e.ContextTokens(0); n > 0 && counted {
		return min(tokens, n-used)
	}
	return tokens
}

// within keeps a token limit inside the context of the server: some refuse a limit
// that could not fit.
func (e Endpoint) within(tokens int) int {
	if n := e.ContextTokens(0); n > 0 {
		return max(16, min(tokens, n/2))
	}
	return tokens
}

// UsedUpThinking reports whether the answer ended at the token limit before it
// began: all that came is reasoning.
func (a Answer) UsedUpThinking() bool {
	if a.Finish != "length" || len(a.Calls) > 0 {
		return false
	}
	text := strings.TrimSpace(a.Content)
	return text == "" && a.Reasoning != "" || strings.HasPrefix(text, "<think>") && !strings.Contains(text, "</think>")
}

// ContextTokens returns the longest sequence that the server accepts by its own account,
// the stated one where it says nothing, or n when nobody says.
func (e Endpoint) ContextTokens(n int) int {
	if e.stated.Tokens > 0 {
		n = e.stated.Tokens
	}
	return e.build.ContextTokens.Or(n)
}

// PromisedContextTokens returns the context that the server is meant to offer, 0 where
// nobody said.
func (e Endpoint) PromisedContextTokens() int {
	if e.stated.Promised {
		return e.stated.Tokens
	}
	return 0
}

// Remember returns what was found out under the name before, or finds it out: several
// checks may judge one exchange. An error is not remembered. The observer is told again of
// the exchanges that a check did not need to make.
func Remember[T any](e Endpoint, name string, find func() (T, error)) (T, error) {
	if v, ok := e.kept.Load(name); ok {
		k := v.(kept)
		for _, x := range k.heard {
			x.Again = true
			e.tell(x)
		}
		return k.value.(T), nil
	}
	var heard []Exchange
	v, err := func() (T, error) {
		end := e.hearing.begin()
		defer func() { heard = end() }()
		return find()
	}()
	if err == nil {
		e.kept.Store(name, kept{v, heard})
	}
	return v, err
}

// kept is what was found out, and the exchanges that it was found out by; there are none
// where nobody observes.
type kept struct {
	value any
	heard []Exchange
}

// FoundRight notes that the easiest question with a known answer was answered rightly.
func (e Endpoint) FoundRight() { e.right.Store(true) }

// WasRight reports whether it was, at some time.
func (e Endpoint) WasRight() bool { return e.right.Load() }

// Sees reports whether the model is known to take pictures.
func (e Endpoint) Sees(ctx context.Context) bool {
	s, ok := e.engine.(Seer)
	return ok && s.Sees(ctx)
}

// Changed says in words what of the server changed since it was opened, "" when
// nothing did that can be seen.
func (e Endpoint) Changed(ctx context.Context) (string, error) {
	now, err := e.Identify(ctx)
	if err != nil {
		return "", err
	}
	var out []string
	for _, p := range []struct{ what, was, is string }{
		{"version", e.build.Version, now.Version},
		{"configuration", e.build.Config, now.Config},
		{"server process", e.build.Process, now.Process},
		{"weights", e.build.Checkpoint, now.Checkpoint},
	} {
		if p.was != p.is {
			out = append(out, "the "+p.what+" was "+or(p.was, "not told")+" and is "+or(p.is, "not told"))
		}
	}
	return strings.Join(out, "; "), nil
}

func or(s, absent string) string {
	if s == "" {
		return absent
	}
	return s
}
