package evidence

import (
	"errors"

	"infbench/internal/lists"
	"infbench/stages/endpoint"
)

// written turns the items of a list into their written form.
func written[A, B any](items []A, turn func(A) B, errs *error) lists.List[B] {
	var out []B
	for _, i := range items {
		out = append(out, turn(i))
	}
	l, err := lists.Of(out)
	*errs = errors.Join(*errs, err)
	return l
}

// read is the way back, with the bound of the list.
func read[A, B any](l lists.List[B], most int, turn func(B) A, errs *error) []A {
	items, err := lists.Read(l, most, func(b B) (A, error) { return turn(b), nil })
	*errs = errors.Join(*errs, err)
	return items
}

func (x Exchange) wire() (exchangeWire, error) {
	a, t := x.Answer, x.Answer.Timing
	var err error
	w := exchangeWire{
		Number: x.Number, Began: x.Began, Stream: x.Stream, HangUp: x.HangUp, Again: x.Again, Redacted: x.Redacted, Cut: x.Cut, NoBody: x.NoBody,
		Request: text(x.Body), Raw: text(x.Raw),
		Answer: answerWire{
			Status: a.Status, Content: text(a.Content), Reasoning: text(a.Reasoning), ReasoningField: text(a.ReasoningField), Refusal: text(a.Refusal),
			Calls:  written(a.Calls, func(c endpoint.ToolCall) callWire { return callWire{text(c.ID), text(c.Name), text(c.Arguments)} }, &err),
			Finish: text(a.Finish), End: a.End,
			Usage: usageWire{count{a.Usage.Prompt}, count{a.Usage.Completion}, count{a.Usage.Total}, count{a.Usage.Cached}, count{a.Usage.Reasoning}},
			Logprobs: written(a.Logprobs, func(l endpoint.TokenLogprob) logprobWire {
				w := logprobOf(l.Alternative)
				w.Top = written(l.Top, logprobOf, &err)
				return w
			}, &err),
			ID: text(a.ID), Model: text(a.Model), Comments: a.Comments,
			Broke: written(a.Broke, func(b endpoint.Breach) breachWire { return breachWire{b.Hard, text(b.What)} }, &err),
			Times: timesWire{
				Wrote: t.Wrote, Headers: t.Headers, FirstEvent: t.FirstEvent, FirstToken: t.FirstToken, FirstAnswer: t.FirstAnswer, LastToken: t.LastToken,
				Ended: t.Ended, Fresh: t.Fresh, Dialled: t.Dialled, Resent: t.Resent, Reads: t.Reads, Bytes: t.Bytes,
				Marks:  written(t.Marks, func(m endpoint.Mark) markWire { return markWire(m) }, &err),
				Engine: engineWire{count{t.Engine.PromptTokens}, count{t.Engine.CachedTokens}, count{t.Engine.OutputTokens}, t.Engine.Prefill, t.Engine.Decode, t.Engine.Queue, count{t.Engine.Drafted}, count{t.Engine.Accepted}},
			},
		},
	}
	if f := a.Failure; f != nil {
		w.Answer.Failure = &failureWire{f.Kind, f.Status, text(f.Said), text(f.What), text(f.Hint), f.RetryAfter}
	}
	return w, err
}

func logprobOf(a endpoint.Alternative) logprobWire {
	return logprobWire{Token: text(a.Token), Logprob: number(a.Logprob)}
}

func (w logprobWire) alternative() endpoint.Alternative {
	return endpoint.Alternative{Token: string(w.Token), Logprob: float64(w.Logprob)}
}

// maxTop and maxBroke are what the client keeps.
const maxTop, maxBroke = 20, 8

// exchange reads the written form; a file is untrusted, so every list has its bound.
func (w exchangeWire) exchange() (Exchange, error) {
	a, t := w.Answer, w.Answer.Times
	var err error
	x := Exchange{
		Number: w.Number, Began: w.Began, Stream: w.Stream, HangUp: w.HangUp, Again: w.Again, Redacted: w.Redacted, Cut: w.Cut, NoBody: w.NoBody,
		Body: string(w.Request), Raw: string(w.Raw),
		Answer: endpoint.Answer{
			Status: a.Status, Content: string(a.Content), Reasoning: string(a.Reasoning), ReasoningField: string(a.ReasoningField), Refusal: string(a.Refusal),
			Calls: read(a.Calls, maxCalls, func(c callWire) endpoint.ToolCall {
				return endpoint.ToolCall{ID: string(c.ID), Name: string(c.Name), Arguments: string(c.Arguments)}
			}, &err),
			Finish: string(a.Finish), End: a.End,
			Usage: endpoint.Usage{Prompt: a.Usage.Prompt.Count, Completion: a.Usage.Completion.Count, Total: a.Usage.Total.Count, Cached: a.Usage.Cached.Count, Reasoning: a.Usage.Reasoning.Count},
			Logprobs: read(a.Logprobs, maxLogprobs/48, func(l logprobWire) endpoint.TokenLogprob {
				return endpoint.TokenLogprob{Alternative: l.alternative(), Top: read(l.Top, maxTop, logprobWire.alternative, &err)}
			}, &err),
			ID: string(a.ID), Model: string(a.Model), Comments: a.Comments,
			Broke: read(a.Broke, maxBroke, func(b breachWire) endpoint.Breach { return endpoint.Breach{Hard: b.Hard, What: string(b.What)} }, &err),
			Timing: endpoint.Timing{
				Wrote: t.Wrote, Headers: t.Headers, FirstEvent: t.FirstEvent, FirstToken: t.FirstToken, FirstAnswer: t.FirstAnswer, LastToken: t.LastToken,
				Ended: t.Ended, Fresh: t.Fresh, Dialled: t.Dialled, Resent: t.Resent, Reads: t.Reads, Bytes: t.Bytes,
				Marks: read(t.Marks, maxMarks, func(m markWire) endpoint.Mark { return endpoint.Mark(m) }, &err),
				Engine: endpoint.EngineTiming{
					PromptTokens: t.Engine.Prompt.Count, CachedTokens: t.Engine.Cached.Count, OutputTokens: t.Engine.Output.Count, Drafted: t.Engine.Drafted.Count, Accepted: t.Engine.Accepted.Count,
					Queue: t.Engine.Queue, Prefill: t.Engine.Prefill, Decode: t.Engine.Decode,
				},
			},
		},
	}
	if f := a.Failure; f != nil {
		x.Answer.Failure = &endpoint.Failure{Kind: f.Kind, Status: f.Status, Said: string(f.Said), What: string(f.What), Hint: string(f.Hint), RetryAfter: f.RetryAfter}
	}
	return x, err
}
