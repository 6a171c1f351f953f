package correctness

import (
	"context"
	"fmt"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = add(gates.Check[Subject]{
	ID: "correctness/eviction",
	Doc: `prompts that come back after much other traffic are as right as before

Blocks that were evicted and are still referenced, tiers that load the wrong blocks back, slots that were recycled too early: all of it takes traffic in between. A few
conversations with two codes each are put, then as many tokens of other prompts as the time allows, then the conversations again, in another order and with the
other question. The verdict says how much came between and whether the server shows that the blocks had gone.`,
	Since:  "0.3.0",
	Cost:   10 * time.Second,
	Modes:  []string{"CAC-02", "CAC-04", "CAC-05", "CAC-12"},
	Faults: []string{"evicted-wrong", "cut"},
	Causes: []string{"evicted or recycled blocks are still referenced", "a host or disk tier of the KV cache loads the wrong blocks back"},
	Next:   []string{"the same server without the host or disk tier, then with prefix caching off"},
	Run:    eviction,
}, sizing{7, func(r room) Work {
	p := evictionPlanOf(r)
	return asks(3*conversations, conversationSentences*endpoint.TokensPerSentence, answerTokens).plus(asks(p.fillers, p.sentences*endpoint.TokensPerSentence, 1))
}})

const (
	conversations         = 4
	conversationSentences = 24
)

// evictionPlan is the traffic between two visits.
type evictionPlan struct{ fillers, sentences int }

// evictionPlanOf takes what the room leaves for prompts of which nobody wants an answer, as
// long as a quarter of the context each.
func evictionPlanOf(r room) evictionPlan {
	context := r.context
	if context == 0 {
		context = 3400
	}
	p := evictionPlan{fillers: 8, sentences: min(400, max(20, context/4/endpoint.TokensPerSentence))}
	// Eight contexts' worth of other prompts push a conversation out of most caches; a longer
	// budget pushes more.
	for p.fillers*p.sentences*endpoint.TokensPerSentence < r.most(8*context) {
		w := asks(3*conversations, conversationSentences*endpoint.TokensPerSentence, answerTokens).plus(asks(p.fillers+4, p.sentences*endpoint.TokensPerSentence, 1))
		if !r.affords(w) {
			break
		}
		p.fillers += 4
	}
	return p
}

// visited is a conversation with two codes.
type visited struct {
	body      string
	blue, red gates.Canary
	first     trial
}

func (v visited) ask(ctx context.Context, s Subject, colour string, want, own gates.Canary) trial {
	t := trial{want: want, own: []gates.Canary{own}, kind: colour}
	t.request = endpoint.Chat(v.body + " What is the " + colour + " code?").MaxTokens(64)
	t.answer, t.err = s.Ask(ctx, t.request)
	t.judge(s, own)
	return t
}

func eviction(ctx context.Context, ep Subject) (gates.Finding, error) {
	if why := ep.Unable(endpoint.PrefixCache); why != "" {
		return gates.NotApply("%s", why), nil
	}
	clock := ep.clock("correctness/eviction")
	p := evictionPlanOf(ep.room("correctness/eviction"))
	all := make([]visited, conversations)
	able := 0
	for i := range all {
		v := visited{blue: ep.Canaries().Issue(), red: ep.Canaries().Issue()}
		prose := ep.fresh()
		v.body = prose.Sentences(conversationSentences) + " The blue code is " + v.blue.String() + ". The red code is " + v.red.String() + ". " + prose.Sentences(2)
		v.first = v.ask(ctx, ep, "blue", v.blue, v.red)
		if v.first.err != nil {
			return gates.Finding{}, v.first.err
		}
		if v.first.right() {
			able++
		}
		all[i] = v
	}
	if able*2 < len(all) {
		return gates.Skip("this model tells two codes apart in %d of %d conversations: too few to judge a cache by", able, len(all)).With("%s", all[0].first.says()), nil
	}
	between, err := ep.fill(ctx, p, clock)
	if err != nil {
		return ep.died(ctx, p.sentences*endpoint.TokensPerSentence, err, func() error {
			a := ep.Stream(ctx, endpoint.Chat(ep.fresh().Sentences(p.sentences)).MaxTokens(1))
			return a.Err()
		})
	}
	var lost []trial // the first of each conversation that is wrong and right behind new beginnings
	asked, weak, cached, most := 0, 0, 0, 0
	for i := range all {
		v := all[len(all)-1-i] // those longest away last, so that their neighbours are back before them
		if !v.first.right() {
			continue
		}
		asked++
		var wrong *trial
		for _, again := range []trial{v.ask(ctx, ep, "blue", v.blue, v.red), v.ask(ctx, ep, "blue", v.blue, v.red)} {
			if again.err != nil {
				return gates.Finding{}, again.err
			}
			if again.echo == gates.Foreign {
				return ep.blame(ctx, gates.Fail("after other traffic an answer holds the code %s of another conversation", again.seen).With("%s", again.says()).
					Then("stop serving from this server to several users: one can read another's text"), gates.Cache), nil
			}
			if !again.right() && wrong == nil {
				wrong = &again
			}
			cached = max(cached, again.answer.Usage.Cached.Or(0))
			most = max(most, again.answer.Usage.Prompt.Or(0))
		}
		if wrong == nil {
			continue
		}
		sound, err := ep.rightAnew(ctx, *wrong)
		if err != nil {
			return gates.Finding{}, err
		}
		if !sound {
			weak++
			continue
		}
		lost = append(lost, *wrong)
	}
	between += most * len(all)
	said := fmt.Sprintf("after about %d tokens of other prompts", between)
	switch {
	case len(lost) >= 2:
		return ep.blame(ctx, gates.Fail("%d of %d conversations are answered wrongly when they come back %s, and rightly behind new beginnings", len(lost), asked, said).With("before: %s", all[0].first.says()).
			With("now: %s", lost[0].says()), gates.Cache), nil
	case len(lost) == 1:
		return gates.Warn("one of %d conversations is answered wrongly when it comes back %s, and rightly behind new beginnings", asked, said).With("%s", lost[0].says()).Under(gates.Cache), nil
	case weak == asked:
		return gates.Skip("this model answers %d of %d conversations wrongly when they come back, behind new beginnings too: too few to judge a cache by", weak, asked), nil
	}
	f := gates.Pass("%d of %d conversations that come back %s are right (up to %d of %d tokens were still cached)", asked-weak, asked, said, cached, most)
	if weak > 0 {
		f = f.With("the others are wrong behind new beginnings too, and tell nothing of the cache")
	}
	return f, nil
}

// fill puts prompts of which one token is wanted, and returns how many tokens they had.
func (s Subject) fill(ctx context.Context, p evictionPlan, clock clock) (tokens int, err error) {
	start := time.Now()
	for i := range p.fillers {
		if i > 0 && !clock.affords(time.Since(start)/time.Duration(i)) {
			break
		}
		a := s.Stream(ctx, endpoint.Chat(s.fresh().Sentences(p.sentences)).MaxTokens(1))
		if err := a.Err(); err != nil {
			return tokens, err
		}
		tokens += a.Usage.Prompt.Or(p.sentences * endpoint.TokensPerSentence)
	}
	return tokens, nil
}
