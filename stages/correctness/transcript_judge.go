package correctness

import (
	"context"
	"fmt"
	"math"

	"infbench/gates"
	"infbench/stages/endpoint"
)

// judge says what the turns come to.
func (j *journey) judge(ctx context.Context) (gates.Finding, error) {
	deepest := j.turns[len(j.turns)-1].prompt
	wrong := 0
	var first *turn
	for i := range j.turns {
		t := &j.turns[i]
		switch {
		case t.echo == gates.Foreign:
			return j.blame(ctx, gates.Fail("turn %d holds the code %s of another conversation", t.number, t.seen).With("%s", t.says()), gates.Cache), nil
		case i > 0 && t.prompt > 0 && j.turns[i-1].prompt > 0 && t.prompt-j.turns[i-1].prompt < max(t.added, leastGrowth)/2:
			return j.blame(ctx, gates.Fail("the prompt stops growing at turn %d: %d tokens after %d", t.number, t.prompt, j.turns[i-1].prompt).
				With("each turn resends the whole conversation and adds to it").Because("the head of the conversation is cut, or its history dropped"), gates.Depth), nil
		}
		if symptom := hardSymptom(t.answer, ""); symptom != "" {
			t.bad, t.malformed = "it is degenerate: "+symptom, true
		}
		if !t.ok() {
			wrong++
			if first == nil {
				first = t
			}
		}
	}
	if first != nil {
		return j.diagnose(ctx, *first, wrong)
	}
	said := fmt.Sprintf("%d of %d turns right (%s), up to %d tokens: %s", len(j.turns), len(j.turns), j.trail.name(), deepest, j.plan.scaled())
	f := gates.Pass("%s", said)
	if n, of := j.swollen(); n*2 > of && of >= 4 {
		f = gates.Warn("the prompt grows by much more than each turn adds, in %d of %d turns", n, of).With("%s", said).Under(gates.Depth).
			Because("the template puts the thinking of earlier turns in again").Then("strip the reasoning from the history, or follow the model's own rule for it")
	}
	if len(j.notes) > 0 {
		f = gates.Warn("%s", j.notes[0]).With("%s", said).Because("the model's template wants the ids of calls in a form of its own").Then("normalise the ids of calls before this server")
	}
	if !j.recall {
		f = f.With("this model does not give back a key over three turns, so none from the beginning was asked for")
	}
	return f, nil
}

// swollen counts the turns in which the prompt grew by far more than was added.
func (j *journey) swollen() (n, of int) {
	for i, t := range j.turns[1:] {
		before := j.turns[i]
		if t.prompt == 0 || before.prompt == 0 {
			continue
		}
		of++
		answered := before.answer.Usage.Completion.Or(60) - before.answer.Usage.Reasoning.Or(0)
		if t.prompt-before.prompt > (t.added+answered)*16/10+150 {
			n++
		}
	}
	return n, of
}

// diagnose puts a wrong turn again: short, from a new beginning, and as one message.
func (j *journey) diagnose(ctx context.Context, t turn, wrong int) (gates.Finding, error) {
	say := func(f gates.Finding) gates.Finding {
		f = f.With("turn %d of %d, at %d tokens (%s): %s", t.number, len(j.turns), t.prompt, t.kind, t.says())
		if t.bad != "" {
			f = f.With("%s", t.bad)
		}
		return f
	}
	short, err := j.shortOnce(ctx, j.trail, t.kind)
	if err == nil && !short.ok() {
		short, err = j.shortOnce(ctx, j.trail, t.kind)
	}
	if err != nil {
		return gates.Finding{}, err
	}
	if !short.ok() {
		f := say(gates.Fail("%d of %d turns are wrong, and by now a new conversation of three turns is too", wrong, len(j.turns)))
		return f.With("the new conversation: %s", short.says()).Under(gates.Time).Because("state that earlier turns have spoiled: a cache, a parser, drafts that are not rolled back").
			Then("does a restart heal it?", "the same without speculative decoding"), nil
	}
	same, fresh, err := j.again(ctx, t)
	if err != nil {
		return gates.Finding{}, err
	}
	switch {
	case same == 0 && fresh == 0 && wrong < 3:
		return say(gates.Warn("wrong in %d of %d turns (%s), and not when put again", wrong, len(j.turns), j.trail.name())), nil
	case same == 2 && fresh == 0 && !t.malformed:
		// A model that fails now and then fails at the same text each time too: it is the cache
		// only where as many new beginnings are right as chance would not have it, at the depth
		// where it fails most.
		more, ok, err := j.rightAnew(ctx, t)
		if err != nil {
			return gates.Finding{}, err
		}
		if !ok {
			return say(gates.Warn("wrong in %d of %d turns (%s), and not from a new beginning", wrong, len(j.turns), j.trail.name())).
				Because("the model's own limit at this length", "the cache: too few turns are wrong to tell").Under(gates.Depth), nil
		}
		return say(gates.Fail("%d of %d turns are wrong from the cache, and right from %d new beginnings (%s)", wrong, len(j.turns), 2+more, j.trail.name())).Under(gates.Cache), nil
	case same == 2 && fresh == 0:
		return say(gates.Fail("%d of %d turns are wrong from the cache, and right from a new beginning (%s)", wrong, len(j.turns), j.trail.name())).Under(gates.Cache), nil
	case t.malformed:
		return say(gates.Fail("%d of %d turns are wrong (%s)", wrong, len(j.turns), j.trail.name())).With("put again: %d of 2 wrong, from a new beginning %d of 2; three turns alone are right", same, fresh).
			Under(gates.Depth), nil
	}
	whole, err := j.asOneMessage(ctx, t)
	if err != nil {
		return gates.Finding{}, err
	}
	if whole.right() && same+fresh >= 3 && j.allWrongFrom(t) >= 2 {
		return say(gates.Fail("%d of %d turns are wrong (%s), and the same text as one message is answered rightly", wrong, len(j.turns), j.trail.name())).Under(gates.Depth).
			Because("the template drops or reorders history", "a parser that trips over the history"), nil
	}
	if n := j.allWrongFrom(t); n >= 3 && t.number > 3 {
		return say(gates.Fail("every turn is right up to the %d th and wrong from there on, %d in a row (%s)", t.number-1, n, j.trail.name())).
			With("put again: %d of 2 wrong, from a new beginning %d of 2, as one message %s", same, fresh, whole.answer.Says()).Under(gates.Depth), nil
	}
	return say(gates.Warn("wrong in %d of %d turns (%s): a decline at depth, not a cliff", wrong, len(j.turns), j.trail.name())).
		With("put again: %d of 2 wrong, from a new beginning %d of 2, as one message %s", same, fresh, whole.answer.Says()).
		Because("the model's own limit at this length", "a fault of the engine at some lengths: compare with a known-good server").Under(gates.Depth), nil
}

// again puts a turn twice as it was, and twice behind a beginning of its own, and counts
// what is wrong.
func (j *journey) again(ctx context.Context, t turn) (same, fresh int, err error) {
	own := []gates.Canary{j.blue}
	for _, o := range j.turns {
		own = append(own, o.want)
	}
	send := j.Ask
	if t.plain {
		send = j.AskPlain
	}
	for range 2 {
		for _, new := range []bool{false, true} {
			r := t.request
			if new {
				r = r.Begin(j.fresh().Sentence())
			}
			a, err := send(ctx, r.MaxTokens(128))
			if err != nil {
				return 0, 0, err
			}
			o := j.turnOf(j.trail, a, t.want, own)
			if hardSymptom(a, "") == "" && o.ok() {
				continue
			}
			if new {
				fresh++
			} else {
				same++
			}
		}
	}
	return same, fresh, nil
}

// rightAnew puts a turn behind so many new beginnings that all of them are right by chance in
// one case of a hundred, where turns of its kind are wrong as often as they were after it; ten at most. The turn itself
// was chosen because it is wrong, and is no measure of how often. ok is false where one of them is wrong, or eight would not tell.
func (j *journey) rightAnew(ctx context.Context, t turn) (n int, ok bool, err error) {
	bad, of := 0, 0
	for _, o := range j.turns[t.number-1:] {
		if o.plain != t.plain || o.kind != t.kind {
			continue
		}
		of++
		if !o.ok() {
			bad++
			t = o // the last one is put again
		}
	}
	if bad < 2 {
		return 0, false, nil
	}
	rate := float64(bad-1) / float64(of-1)
	send := j.Ask
	if t.plain {
		send = j.AskPlain
	}
	need := 2
	for math.Pow(1-rate, float64(need)) > surely {
		if need++; need > 10 {
			return 0, false, nil
		}
	}
	own := []gates.Canary{j.blue}
	for _, o := range j.turns {
		own = append(own, o.want)
	}
	for range need - 2 {
		a, err := send(ctx, t.request.Begin(j.fresh().Sentence()).MaxTokens(128))
		if err != nil {
			return 0, false, err
		}
		if o := j.turnOf(j.trail, a, t.want, own); !o.ok() {
			return 0, false, nil
		}
	}
	return need - 2, true, nil
}

// asOneMessage puts the text of the whole conversation as a user's one message, with the
// question in words.
func (j *journey) asOneMessage(ctx context.Context, t turn) (trial, error) {
	ask := "What is the next key that was told last?"
	if t.kind == recalling {
		ask = "What is the blue key?"
	}
	out := trial{want: t.want, request: endpoint.Chat(t.request.Text() + "\n" + ask).MaxTokens(128)}
	if out.answer, out.err = j.Ask(ctx, out.request); out.err != nil {
		return out, out.err
	}
	own := []gates.Canary{j.blue}
	for _, o := range j.turns {
		own = append(own, o.want)
	}
	out.judge(j.Subject, own...)
	return out, nil
}

// allWrongFrom counts the turns of one kind from t to the end, 0 when one of them is right
// or one before was wrong.
func (j *journey) allWrongFrom(t turn) int {
	n := 0
	for _, o := range j.turns {
		switch {
		case o.kind != t.kind:
		case o.number >= t.number && o.ok(), o.number < t.number && !o.ok():
			return 0
		case o.number >= t.number:
			n++
		}
	}
	return n
}
