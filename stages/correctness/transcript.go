package correctness

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = add(gates.Check[Subject]{
	ID: "correctness/transcript",
	Doc: `a transcript that grows turn by turn stays right to its last turn

Agents resend the whole conversation each turn. Parsers carry state over, templates drop history, caches resume wrongly, windows cut the
head: all of it shows only after some turns. Each turn must answer from its newest message, with a tool call where the model makes any, and
the prompt must grow with every turn.`,
	Since:  "0.1.0",
	Cost:   12 * time.Second,
	Modes:  []string{"AGT-01", "AGT-03", "AGT-04", "AGT-05", "CTX-01", "TOOL-15"},
	Faults: []string{"forget-late", "malformed-call", "tool-as-text-late", "salad-late", "wrong-digit-late"},
	Causes: []string{"cache or parser state carried over from earlier turns", "the window cuts the head of the transcript", "the template drops tool results or history"},
	Next:   []string{"the same transcript with prefix caching off", "the server's context option, set explicitly"},
	Run:    transcript,
}, sizing{5, func(room) Work { return asks(10, 100, 30) }})

const (
	transcriptTurns  = 8
	transcriptBudget = 40 * time.Second
	noteTool         = "read_note"
)

var noteSchema = json.RawMessage(`{"type":"object","properties":{"key":{"type":"string","description":"the key of the note"}},"required":["key"]}`)

// turn is one turn of the transcript and what came of it.
type turn struct {
	added int // words that this turn adds to the conversation
	trial
	prompt int // tokens, 0 when not counted
	bad    string
	// malformed says that bad is nothing that a model's lack of ability explains.
	malformed bool
}

func transcript(ctx context.Context, ep Subject) (gates.Finding, error) {
	withTools := false
	if ep.Unable(endpoint.Tools) == "" {
		able, err := callsAlone(ctx, ep)
		if err != nil {
			return gates.Finding{}, err
		}
		withTools = able
	}
	if !withTools {
		control, err := walk(ctx, ep, plainTrail{}, 3, 0, newBudget(transcriptBudget))
		if err != nil {
			return gates.Finding{}, err
		}
		if n := wrongTurns(control); n > 0 {
			return gates.Skip("this model fails %d of %d turns of a short conversation: too many to judge a long one", n, len(control)).With("%s", control[0].says()), nil
		}
	}
	var trail trail = plainTrail{}
	if withTools {
		trail = toolTrail{}
	}
	turns, err := walk(ctx, ep, trail, transcriptTurns, 6, newBudget(transcriptBudget))
	if err != nil {
		return gates.Finding{}, err
	}
	return judgeTurns(ctx, ep, trail, turns)
}

// trail is a way to ask for the newest key: by a tool call or in words.
type trail interface {
	name() string
	open(key gates.Canary) endpoint.Request
	extend(r endpoint.Request, last endpoint.Answer, news string, key gates.Canary) endpoint.Request
	// judge returns what is wrong with an answer beyond its key, and whether that is the
	// engine's doing and not the model's.
	judge(a endpoint.Answer) (bad string, malformed bool)
	text(a endpoint.Answer) string
}

// walk plays the turns until the time is up. sentences is the filler in each turn.
func walk(ctx context.Context, ep Subject, tr trail, n, sentences int, left budget) ([]turn, error) {
	prose := endpoint.NewProse(uint64(time.Now().UnixNano()))
	key := ep.Canaries().Issue()
	own := []gates.Canary{key}
	r := tr.open(key)
	var out []turn
	var last time.Duration
	added := 0
	for i := range n {
		// A server whose context is nearly full refuses or cuts the answer, and is right to.
		if context := ep.ContextTokens(0); i > 2 && (!left.affords(last*2) || context > 0 && out[i-1].prompt*3/2 > context) {
			break
		}
		start := time.Now()
		t := turn{trial: trial{want: key}, added: added}
		send := ep.Ask
		if i%2 == 1 {
			send = ep.AskPlain
		}
		t.answer, t.err = send(ctx, r.MaxTokens(128))
		if tooLong(t.err) && i > 1 {
			break
		}
		if t.err != nil {
			return out, fmt.Errorf("turn %d: %w", i+1, t.err)
		}
		last = time.Since(start)
		t.prompt = t.answer.Usage.Prompt.Or(0)
		t.echo, t.seen = ep.Canaries().Judge(tr.text(t.answer), key, own...)
		t.bad, t.malformed = tr.judge(t.answer)
		out = append(out, t)
		key = ep.Canaries().Issue()
		own = append(own, key)
		news := prose.Sentences(sentences)
		added = len(strings.Fields(news))
		r = tr.extend(r, t.answer, news, key)
	}
	return out, nil
}

func wrongTurns(turns []turn) int {
	n := 0
	for _, t := range turns {
		if !t.right() || t.bad != "" {
			n++
		}
	}
	return n
}

func judgeTurns(ctx context.Context, ep Subject, tr trail, turns []turn) (gates.Finding, error) {
	deepest := turns[len(turns)-1].prompt
	for i, t := range turns {
		switch {
		case t.echo == gates.Foreign:
			return gates.Fail("turn %d holds the code %s of another conversation", i+1, t.seen).With("%s", t.says()), nil
		case hardSymptom(t.answer, "") != "":
			return gates.Fail("turn %d of %d, at %d tokens, is degenerate: %s", i+1, len(turns), t.prompt, hardSymptom(t.answer, "")).With("%s", t.says()), nil
		case i > 0 && t.prompt > 0 && turns[i-1].prompt > 0 && t.prompt-turns[i-1].prompt < t.added/2: // a word is a token and more
			return gates.Fail("the prompt stops growing at turn %d: %d tokens after %d", i+1, t.prompt, turns[i-1].prompt).
				With("each turn resends the whole conversation and adds to it").Because("the head of the conversation is cut, or its history dropped"), nil
		}
	}
	wrong := wrongTurns(turns)
	if wrong == 0 {
		return gates.Pass("%d of %d turns right (%s), up to %d tokens", len(turns), len(turns), tr.name(), deepest), nil
	}
	// Played once more: what fails again is a parser, template or context fault, or the
	// model's limit; what does not is state.
	again, err := walk(ctx, ep, tr, len(turns), 6, newBudget(transcriptBudget))
	if err != nil {
		return gates.Finding{}, err
	}
	var first turn
	at := 0
	for i, t := range turns {
		if !t.right() || t.bad != "" {
			first, at = t, i+1
			break
		}
	}
	say := func(f gates.Finding) gates.Finding {
		f = f.With("turn %d of %d, at %d tokens: %s", at, len(turns), first.prompt, first.says())
		if first.bad != "" {
			f = f.With("%s", first.bad)
		}
		return f.With("played again: %d of %d turns wrong", wrongTurns(again), len(again))
	}
	switch {
	case first.malformed && wrong+wrongTurns(again) >= 2, wrong >= 2 && wrongTurns(again) >= 2 && wrong*4 >= len(turns):
		return say(gates.Fail("%d of %d turns are wrong (%s)", wrong, len(turns), tr.name())), nil
	}
	return say(gates.Warn("wrong in %d of %d turns (%s)", wrong, len(turns), tr.name())), nil
}

// callsAlone finds out whether the model makes the call at all: two tries of the
// first turn, short and alone.
func callsAlone(ctx context.Context, ep Subject) (bool, error) {
	for range 2 {
		key := ep.Canaries().Issue()
		a, err := ep.Ask(ctx, toolTrail{}.open(key).MaxTokens(128))
		if err != nil {
			return false, err
		}
		echo, _ := ep.Canaries().Judge(toolTrail{}.text(a), key)
		if bad, _ := (toolTrail{}).judge(a); bad != "" || echo != gates.Found {
			return false, nil
		}
	}
	return true, nil
}

// toolTrail follows keys by calling a tool.
type toolTrail struct{}

func (toolTrail) name() string { return "by tool calls" }

func (toolTrail) open(key gates.Canary) endpoint.Request {
	return endpoint.Conversation().Tool(noteTool, "Read the note with the given key.", noteSchema).Choose("auto").
		System("You follow a trail of notes. Always answer by calling " + noteTool + " with the next key.").
		User("The next key is " + key.String() + ". Call " + noteTool + " with the next key.")
}

func (toolTrail) extend(r endpoint.Request, last endpoint.Answer, news string, key gates.Canary) endpoint.Request {
	call := endpoint.ToolCall{ID: "call_0", Name: noteTool, Arguments: "{}"}
	if len(last.Calls) > 0 {
		call = last.Calls[0]
		if !json.Valid([]byte(call.Arguments)) {
			call.Arguments = "{}"
		}
		if call.ID == "" {
			call.ID = "call_0"
		}
	}
	return r.Called(call, news+" The next key is "+key.String()+". Call "+noteTool+" with the next key.")
}

func (toolTrail) judge(a endpoint.Answer) (bad string, malformed bool) {
	switch {
	case len(a.Calls) == 0 && strings.Contains(a.Content, noteTool) && strings.Contains(a.Content, `{"`):
		return "the call stands as text in the content", true
	case len(a.Calls) == 0:
		return "no tool call came", false
	case len(a.Calls) > 16:
		return fmt.Sprintf("%d calls came in place of one", len(a.Calls)), true
	case len(a.Calls) > 1:
		return fmt.Sprintf("%d calls came in place of one", len(a.Calls)), false
	case a.Calls[0].Name != noteTool:
		return "the call names " + gates.Quote(a.Calls[0].Name, 60), true
	case !json.Valid([]byte(a.Calls[0].Arguments)):
		return "the call's arguments are not JSON: " + gates.Quote(a.Calls[0].Arguments, 120), true
	case a.Finish != "tool_calls":
		return "finish_reason is " + gates.Quote(a.Finish, 20) + " beside a call", true
	}
	return "", false
}

func (toolTrail) text(a endpoint.Answer) string {
	if len(a.Calls) == 0 {
		return a.Visible()
	}
	return a.Calls[0].Arguments
}

// plainTrail asks for the newest code in words.
type plainTrail struct{}

func (plainTrail) name() string { return "in words" }

func (plainTrail) open(key gates.Canary) endpoint.Request {
	return endpoint.Chat("The secret code is " + key.String() + ". What is the secret code?")
}

func (plainTrail) extend(r endpoint.Request, last endpoint.Answer, news string, key gates.Canary) endpoint.Request {
	if news != "" {
		news += " "
	}
	return r.Assistant(last.Visible()).User(news + "Now the secret code is " + key.String() + ". What is the secret code?")
}

func (plainTrail) judge(endpoint.Answer) (string, bool) { return "", false }

func (plainTrail) text(a endpoint.Answer) string { return a.Visible() }
