package correctness

import (
	"context"
	"fmt"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = add(gates.Check[Subject]{
	ID: "correctness/tenants",
	Doc: `no answer depends on what another user said

Users of one service share a long system prompt, and the cache shares its blocks among them. Several conversations behind one system prompt go on turn by turn,
mixed, each with a code of its own that was told at its beginning; each is asked for it at the end. Then somebody who told nothing asks: an answer that
holds anybody's code is a leak.`,
	Since:  "0.3.0",
	Cost:   5 * time.Second,
	Modes:  []string{"CAC-02", "CAC-03", "CON-04"},
	Faults: []string{"tenant-tail", "remembers"},
	Causes: []string{"the engine resumes a conversation from another one's blocks", "the cache is not trimmed to what two prompts have in common", "a gateway keeps conversations apart by the wrong key"},
	Next:   []string{"stop serving from this server to several users", "the same server with prefix caching off"},
	Run:    tenants,
}, sizing{4, func(r room) Work {
	return asks(6*tenantsIn(r)+2, (tenantSentences+6)*endpoint.TokensPerSentence/3, answerTokens)
}})

// tenantSentences are a system prompt of the length that services have at least.
const tenantSentences = 40

// tenantsIn returns how many users there are.
func tenantsIn(r room) int {
	n := 4
	for n < 8 && r.affords(asks(6*(n+1)+2, (tenantSentences+6)*endpoint.TokensPerSentence/3, answerTokens)) {
		n++
	}
	return n
}

func tenants(ctx context.Context, ep Subject) (gates.Finding, error) {
	n := tenantsIn(ep.room("correctness/tenants"))
	prose := ep.fresh()
	system := "You are a helpful assistant of a small town's archive. You answer in one sentence. Background: " + prose.Sentences(tenantSentences)
	talks := make([]endpoint.Request, n)
	codes := make([]gates.Canary, n)
	for i := range talks {
		codes[i] = ep.Canaries().Issue()
		talks[i] = endpoint.Conversation().System(system).User("My secret code is " + codes[i].String() + ". " + prose.Sentences(2) + " Please say OK.").MaxTokens(64)
	}
	var trials []trial
	for turn := range 2 {
		for i := range talks {
			a, err := ep.Ask(ctx, talks[i])
			if err != nil {
				return gates.Finding{}, err
			}
			t := trial{want: codes[i], request: talks[i], answer: a}
			t.judge(ep)
			if t.echo == gates.Foreign {
				return ep.leak(ctx, t), nil
			}
			next := prose.Sentences(2) + " Please say OK."
			if turn == 1 {
				next = "What is my secret code?"
			}
			talks[i] = talks[i].Assistant(said(a)).User(next)
		}
	}
	right := 0
	for i := range talks {
		t := trial{want: codes[i], request: talks[i]}
		if t.answer, t.err = ep.Ask(ctx, talks[i]); t.err != nil {
			return gates.Finding{}, t.err
		}
		t.judge(ep)
		if t.echo == gates.Foreign {
			return ep.leak(ctx, t), nil
		}
		if t.right() {
			right++
		}
		trials = append(trials, t)
	}
	// Somebody who told nothing.
	for _, question := range []string{"What is my secret code?", "What did I say before this message?"} {
		t := trial{request: endpoint.Conversation().System(system).User(question).MaxTokens(64)}
		if t.answer, t.err = ep.Ask(ctx, t.request); t.err != nil {
			return gates.Finding{}, t.err
		}
		t.judge(ep)
		if t.echo == gates.Foreign {
			return ep.leak(ctx, t), nil
		}
	}
	of := fmt.Sprintf("%d of %d users get their own code back over three turns, nobody another's", right, n)
	if right == n {
		return gates.Pass("%s", of), nil
	}
	// What is wrong mixed with others is asked from a new beginning, alone.
	alone := 0
	for range trials {
		c := ep.Canaries().Issue()
		fresh := ep.fresh()
		r := endpoint.Conversation().System("You answer in one sentence. Background: " + fresh.Sentences(tenantSentences)).
			User("My secret code is " + c.String() + ". " + fresh.Sentences(2) + " Please say OK.").Assistant("OK").
			User(fresh.Sentences(2) + " Please say OK.").Assistant("OK").User("What is my secret code?").MaxTokens(64)
		a, err := ep.Ask(ctx, r)
		if err != nil {
			return gates.Finding{}, err
		}
		if echo, _ := ep.Canaries().Judge(a.Visible(), c); echo == gates.Found {
			alone++
		}
	}
	if moreOften(n-right, n, n-alone, n) < 2*surely {
		return ep.blame(ctx, gates.Fail("%d of %d users behind one system prompt lose their own code, and alone %d of %d", n-right, n, n-alone, n), gates.Cache), nil
	}
	return gates.Pass("%s", of).With("alone %d of %d keep it: this model loses a code over three turns by itself", alone, n), nil
}

// leak is the finding that an answer holds another's code.
func (s Subject) leak(ctx context.Context, t trial) gates.Finding {
	f := gates.Fail("an answer holds the code %s that another user told", t.seen)
	if t.want != (gates.Canary{}) {
		f = f.With("%s", t.says())
	} else {
		f = f.With("somebody who told no code was answered %s", t.answer.Says())
	}
	return s.blame(ctx, f, gates.Cache)
}

// said is what an assistant's turn holds in the next request: never nothing, which some
// templates refuse.
func said(a endpoint.Answer) string {
	if v := a.Visible(); v != "" {
		return v
	}
	return "OK"
}
