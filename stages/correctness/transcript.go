package correctness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = add(gates.Check[Subject]{
	ID: "correctness/transcript",
	Doc: `a coding agent's conversation stays right to its last turn

Agents resend the whole conversation each turn. Parsers carry state over, templates drop history, caches resume wrongly, windows cut the head: all of it shows only after
some turns. The conversation grows as recorded ones do, scaled to the context and the time: a system prompt with tools, files read, edits and their results. Each turn
must end in a well-formed call with the key that it was just told, or one that was told at the beginning. A failure names the turn, its depth and what came instead, and is put
again short, from a new beginning, and as one message, to tell the engine's fault from the model's limit.`,
	Since:  "0.1.0",
	Cost:   12 * time.Second,
	Modes:  []string{"AGT-01", "AGT-02", "AGT-03", "AGT-04", "AGT-05", "AGT-07", "AGT-08", "CTX-01", "TOOL-15", "NUM-17"},
	Faults: []string{"forget-late", "malformed-call", "tool-as-text-late", "salad-late", "wrong-digit-late", "drops-turn", "ids-rewritten", "text-and-call", "reasoning-returned"},
	Causes: []string{"cache or parser state carried over from earlier turns", "the window cuts the head of the transcript", "the template drops tool results or history"},
	Next:   []string{"the same transcript with prefix caching off", "the server's context option, set explicitly"},
	Run:    transcript,
}, sizing{12, func(r room) Work { return transcriptWork(transcriptPlan(r)) }})

// turn is one turn of the transcript and what came of it.
type turn struct {
	trial
	number int
	prompt int // tokens, 0 when not counted
	added  int // tokens that this turn adds by our estimate
	plain  bool
	bad    string
	// malformed says that bad is nothing that a model's lack of ability explains.
	malformed bool
}

func (t turn) ok() bool { return t.right() && t.bad == "" }

// Turns that ask for the newest key, and turns that ask for one from the beginning.
const (
	following = "following"
	recalling = "recalling"
)

// transcriptWork counts what a server with a prefix cache computes.
func transcriptWork(p agentPlan) Work {
	w := asks(len(p.growth)+1+6, 60, answerTokens*2)
	w.PromptTokens += p.tokens()
	return w
}

// transcriptPlan is as long as the context and the room allow, eight turns at least and as
// many as were recorded at most.
func transcriptPlan(r room) agentPlan {
	context := r.context
	if context == 0 {
		context = 3400
	}
	most := context * 8 / 10
	best := shapedLike(8, min(most, 1200))
	for tokens := 1200; ; tokens = min(most, tokens*5/4) {
		p := shapedLike(max(8, min(agentTurns, tokens/150)), tokens)
		if tokens > most || !r.affords(transcriptWork(p)) {
			return best
		}
		best = p
		if tokens == most {
			return best
		}
	}
}

// journey is a transcript under way.
type journey struct {
	Subject
	trail  trail
	plan   agentPlan
	recall bool // the model can give back a key from the beginning
	blue   gates.Canary
	turns  []turn
	last   endpoint.Request
	notes  []string
}

func transcript(ctx context.Context, ep Subject) (gates.Finding, error) {
	j := &journey{Subject: ep, trail: plainTrail{}, plan: transcriptPlan(ep.room("correctness/transcript"))}
	if ep.Unable(endpoint.Tools) == "" {
		able, err := j.short(ctx, toolTrail{}, following)
		if err != nil {
			return gates.Finding{}, err
		}
		if able {
			j.trail = toolTrail{}
		}
	}
	if j.trail.name() == (plainTrail{}).name() {
		able, err := j.short(ctx, plainTrail{}, following)
		if err != nil {
			return gates.Finding{}, err
		}
		if !able {
			return gates.Skip("this model follows no code through three turns of a short conversation: a long one says nothing"), nil
		}
	}
	able, err := j.short(ctx, j.trail, recalling)
	if err != nil {
		return gates.Finding{}, err
	}
	j.recall = able
	if err := j.walk(ctx); err != nil {
		if n := len(j.turns); n > 0 && j.turns[n-1].prompt > 1000 {
			return ep.died(ctx, j.turns[n-1].prompt, err, func() error { _, err := ep.Ask(ctx, j.last.MaxTokens(128)); return err })
		}
		return gates.Finding{}, err
	}
	if err := j.otherClients(ctx); err != nil {
		return gates.Finding{}, err
	}
	return j.judge(ctx)
}

// short plays conversations of three turns: can the model do it at all, in two of three?
func (j *journey) short(ctx context.Context, tr trail, kind string) (bool, error) {
	right := 0
	for i := range 3 {
		t, err := j.shortOnce(ctx, tr, kind)
		if err != nil {
			return false, err
		}
		if t.ok() {
			right++
		}
		if right == 2 || i-right == 1 {
			break
		}
	}
	return right == 2, nil
}

// shortOnce plays three turns from a new beginning, and returns the last.
func (j *journey) shortOnce(ctx context.Context, tr trail, kind string) (turn, error) {
	prose := j.fresh()
	blue, key := j.Canaries().Issue(), j.Canaries().Issue()
	own := []gates.Canary{blue, key}
	opening := prose.Sentence()
	if kind == recalling {
		opening += " " + planted(tr, blue)
	}
	r := tr.open(opening, key)
	var t turn
	for i := range 3 {
		want := key
		if i == 2 && kind == recalling {
			want = blue
		}
		a, err := j.Ask(ctx, r.MaxTokens(128))
		if err != nil {
			return t, err
		}
		t = j.turnOf(tr, a, want, own)
		if !t.ok() {
			return t, nil
		}
		key = j.Canaries().Issue()
		own = append(own, key)
		next := following
		if i == 1 {
			next = kind
		}
		r = tr.extend(r, step{answer: a, key: want, right: true}, prose.Sentence(), next, key)
	}
	return t, nil
}

// planted are the words by which a key is told at the beginning.
func planted(tr trail, blue gates.Canary) string {
	if tr.name() == (plainTrail{}).name() {
		return "The blue code is " + blue.String() + "."
	}
	return "The blue key is " + blue.String() + "."
}

func (j *journey) turnOf(tr trail, a endpoint.Answer, want gates.Canary, own []gates.Canary) turn {
	t := turn{trial: trial{want: want, answer: a}, prompt: a.Usage.Prompt.Or(0)}
	t.echo, t.seen = j.Canaries().Judge(tr.text(a), want, own...)
	t.bad, t.malformed = tr.judge(a)
	return t
}

// walk plays the turns until the plan or the time is used up.
func (j *journey) walk(ctx context.Context) error {
	clock := j.clock("correctness/transcript")
	prose := j.fresh()
	j.blue = j.Canaries().Issue()
	key := j.Canaries().Issue()
	own := []gates.Canary{j.blue, key}
	// The key from the beginning stands before the bulk of the system prompt, as far from the
	// end as anything can be.
	opening := prose.Sentence()
	if j.recall {
		opening += " " + planted(j.trail, j.blue)
	}
	r := j.trail.open(opening+" "+prose.Sentences(max(1, j.plan.first/endpoint.TokensPerSentence)), key)
	want, kind := key, following
	added := 0
	wrongInARow := 0
	for i := 0; i <= len(j.plan.growth); i++ {
		// A server whose context is nearly full refuses or cuts the answer, and is right to.
		if n := len(j.turns); n > 2 {
			lastPrompt := j.turns[n-1].prompt
			if context := j.ContextTokens(0); context > 0 && lastPrompt*10 > context*9 {
				break
			}
		}
		start := time.Now()
		j.last = r
		send := j.Ask
		if i%2 == 1 {
			send = j.AskPlain
		}
		a, err := send(ctx, r.MaxTokens(128))
		if err != nil {
			again, fixed, e := j.otherIDs(ctx, r, err, i)
			if e != nil || !fixed {
				if i > 1 && tooLong(err) && j.nearlyFull() {
					break
				}
				return fmt.Errorf("turn %d: %w", i+1, errors.Join(e, err))
			}
			a = again
		}
		t := j.turnOf(j.trail, a, want, own)
		t.number, t.added, t.kind, t.request, t.plain = i+1, added, kind, r, i%2 == 1
		j.turns = append(j.turns, t)
		if wrongInARow++; t.ok() {
			wrongInARow = 0
		}
		if i == len(j.plan.growth) || wrongInARow >= 5 || !clock.affords(time.Since(start)) && i >= 7 {
			break
		}
		key = j.Canaries().Issue()
		own = append(own, key)
		was := step{answer: a, key: want, right: t.ok(), talked: i == 2}
		want, kind = key, following
		if j.recall && i%5 == 4 {
			want, kind = j.blue, recalling
		}
		news := j.news(prose, i, j.plan.growth[i]-leastGrowth)
		added = max(j.plan.growth[i]-leastGrowth, 0)
		r = j.trail.extend(r, was, news, kind, key)
	}
	return nil
}

func (j *journey) nearlyFull() bool {
	n := len(j.turns)
	context := j.ContextTokens(0)
	return n > 0 && (context == 0 || j.turns[n-1].prompt*2 > context)
}

// news is what a tool says: a file, the result of an edit, or what a command printed.
func (j *journey) news(p *endpoint.Prose, i, tokens int) string {
	if tokens <= 0 {
		return "ok"
	}
	switch i % 3 {
	case 0:
		return source(p, tokens)
	case 1:
		return "The edit was applied. The file now begins:\n" + source(p, tokens)
	}
	return "exit status zero\n" + p.Sentences(max(1, tokens/endpoint.TokensPerSentence))
}

// otherIDs tries other ways to write the ids of calls where a short history is refused: some
// models' templates want ids of a form of their own.
func (j *journey) otherIDs(ctx context.Context, r endpoint.Request, err error, i int) (endpoint.Answer, bool, error) {
	if _, tools := j.trail.(toolTrail); !tools || !tooLong(err) || i == 0 || j.nearlyFull() && i > 4 {
		return endpoint.Answer{}, false, nil
	}
	for _, style := range idStyles {
		a, err := j.Ask(ctx, r.CallIDs(style.id).MaxTokens(128))
		if ended(ctx) {
			return a, false, context.Cause(ctx)
		}
		if err == nil {
			j.trail = toolTrail{id: style.id}
			j.notes = append(j.notes, "a history with the server's own ids of calls is refused, one with ids such as "+style.id(0)+" is taken")
			return a, true, nil
		}
	}
	return endpoint.Answer{}, false, nil
}

// otherClients plays a short conversation with each style of ids: a client that made its
// own ids, or came from another server, must be answered too.
func (j *journey) otherClients(ctx context.Context) error {
	if _, tools := j.trail.(toolTrail); !tools || len(j.notes) > 0 {
		return nil
	}
	for _, style := range idStyles {
		t, err := j.shortOnce(ctx, toolTrail{id: style.id}, following)
		switch {
		case tooLong(err):
			j.notes = append(j.notes, "a history whose calls have ids such as "+style.id(0)+" is refused")
		case err != nil:
			return err
		case !t.ok():
			if t, err = j.shortOnce(ctx, toolTrail{id: style.id}, following); err != nil {
				return err
			} else if !t.ok() {
				j.notes = append(j.notes, "after calls with ids such as "+style.id(0)+" the next is wrong, and not after the server's own")
			}
		}
	}
	return nil
}

// idStyles are the forms that models' templates want the ids of calls in.
var idStyles = []struct{ id func(n int) string }{
	{func(n int) string { return fmt.Sprintf("functions.%s:%d", fileTool, n) }},
	{func(n int) string { return fmt.Sprintf("call%05d", n) }}, // nine letters and digits
	{func(n int) string { return fmt.Sprintf("call_%024d", n) }},
}
