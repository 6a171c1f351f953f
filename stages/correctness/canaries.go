package correctness

import (
	"context"
	"fmt"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = add(gates.Check[Subject]{
	ID: "correctness/canaries",
	Doc: `requests in company get each its own answer, as right as alone

Batching faults show only with others in the batch: NaN above N streams, slots that only serve the first user, blocks mixed between
requests, a context that is divided among all. Every request here is different and of another length, since a batch of equal prompts hides
mix-ups; the answer must hold the request's own code. One answer with another request's code is proof of mixing, and a data leak. Bursts
grow up to the most that will be in flight; the last one is of prompts as long as the time allows.`,
	Since:  "0.1.0",
	Cost:   8 * time.Second,
	Modes:  []string{"CON-01", "CON-02", "CON-03", "CON-04", "CON-05", "CON-06", "CON-10", "CON-11", "CON-12", "NUM-07", "OUT-11"},
	Faults: []string{"crosstalk", "salad-above-1", "wrong-digit-above-1", "reject-above-1", "cut-above-1", "first-token-wrong", "first-user-only", "batch-size-wrong", "context-divided", "mixed-lengths-wrong", "company-500"},
	Causes: []string{"a batched kernel or captured graph that is wrong on this device", "per-slot state or KV blocks mixed between requests", "admission: requests beyond capacity are dropped"},
	Next:   []string{"the same server with the largest batch set to 1", "graphs off, then asynchronous scheduling off, then another attention backend"},
	Run:    canaries,
}, sizing{9, func(r room) Work { return companyPlanOf(r).work() }})

// lengths are the numbers of filler sentences of the concurrent prompts: mixed, so
// that long and short ones share a batch.
var lengths = []int{1, 6, 2, 24, 3, 12, 1, 4}

// companyPlan is how much is asked in company.
type companyPlan struct {
	sizes []int
	// rounds is how many bursts of each size there are.
	rounds int
	// deep is the number of sentences of the long prompts in the last burst; 0: none.
	deep, deepSize int
}

// What a question costs, on the average of lengths.
const (
	questionTokens, answerTokens = 7*endpoint.TokensPerSentence + 45, 24
	// enoughInCompany requests without a fault bound its rate to 3 % with 95 % confidence; three
	// default budgets bound it to 1 %.
	enoughInCompany = 100
)

func (p companyPlan) asked() int {
	n := 0
	for _, s := range p.sizes {
		n += s * p.rounds
	}
	return n
}

func (p companyPlan) work() Work {
	w := asks(p.asked()+len(lengths), questionTokens, answerTokens)
	return w.plus(asks(2*p.deepSize, p.deep*endpoint.TokensPerSentence+45, answerTokens))
}

// companyPlanOf asks as much as the room holds: two bursts of each size at least, and in
// the last fifth of it long prompts.
func companyPlanOf(r room) companyPlan {
	p := companyPlan{sizes: sizesOf(r.inFlight), rounds: 2}
	for more := p; more.asked() < r.most(enoughInCompany); more.rounds++ {
		if r.speeds.Takes(more.work()) > r.share*4/5 {
			break
		}
		p = more
	}
	top := p.sizes[len(p.sizes)-1]
	context := r.context
	if context == 0 {
		context = 3400
	}
	longest := context * 7 / 10 / endpoint.TokensPerSentence
	// First as many of the load's own length as the load will have; then fewer and longer.
	if n := min(longest, r.loadTokens/endpoint.TokensPerSentence); n > 0 {
		more := p
		more.deep, more.deepSize = n, top
		if r.affords(more.work()) {
			p = more
		}
	}
	for n := max(24, 2*p.deep); n <= longest; n *= 2 {
		more := p
		more.deep, more.deepSize = n, min(top, 4)
		if !r.affords(more.work()) {
			break
		}
		p = more
	}
	return p
}

func canaries(ctx context.Context, ep Subject) (gates.Finding, error) {
	p := companyPlanOf(ep.room("correctness/canaries"))
	clock := ep.clock("correctness/canaries")
	var alone []trial
	for _, n := range lengths {
		t := ep.put(ctx, ep.fresh().Sentences(n), ep.Canaries().Issue())
		if t.err != nil {
			return gates.Finding{}, t.err
		}
		alone = append(alone, t)
	}
	var company []member
	start := time.Now()
	for round := range p.rounds {
		if round > 1 && !clock.affords(time.Since(start)/time.Duration(round)) {
			break
		}
		for _, size := range p.sizes {
			b, err := ep.burst(ctx, ep.questions(size))
			if err != nil {
				return gates.Finding{}, err
			}
			company = append(company, b...)
		}
	}
	lost, beyond, err := ep.rightAlone(ctx, company, trial.right)
	if err != nil {
		return gates.Finding{}, err
	}
	picture := pictureOf(company, trial.right, beyond)
	f := judgeCompany(alone, company, lost, p.sizes[len(p.sizes)-1])
	switch f.Status() {
	case gates.Failed:
		return ep.blame(ctx, f.Drawn(picture), gates.Company), nil
	case gates.Warned:
		return f.Under(gates.Company).Drawn(picture), nil
	default:
	}
	if odd, err := otherFirstWords(ctx, ep, alone, company); err != nil || odd.Status() != 0 {
		return odd.Under(gates.Company), err
	}
	if f.Status() == gates.Passed && p.deep > 0 {
		if deep, err := deepTogether(ctx, ep, p); err != nil || deep.Status() != gates.Passed {
			return deep, err
		} else {
			f = f.With("%s", deep.Summary())
		}
	}
	return f, nil
}

// questions makes one question each of another length and from another beginning.
func (s Subject) questions(n int) []trial {
	out := make([]trial, n)
	for i := range out {
		out[i].want = s.Canaries().Issue()
		out[i].request = question(s.fresh().Sentences(lengths[i%len(lengths)]), out[i].want)
	}
	return out
}

// deepTogether puts long prompts at once, with the code at the head: where the context is
// shared out among all, the head is what is cut.
func deepTogether(ctx context.Context, ep Subject, p companyPlan) (gates.Finding, error) {
	trials := make([]trial, p.deepSize)
	for i := range trials {
		trials[i].want = ep.Canaries().Issue()
		text := "The secret code is " + trials[i].want.String() + ". " + ep.fresh().Sentences(p.deep) + " What is the secret code?"
		trials[i].request = endpoint.Chat(text).MaxTokens(64)
	}
	company, err := ep.burst(ctx, trials)
	if err != nil {
		return gates.Finding{}, err
	}
	tokens := 0
	came := turnoutOf("long prompts", company)
	var refused *member
	for i, m := range company {
		tokens = max(tokens, m.answer.Usage.Prompt.Or(0))
		if m.err != nil && !busy(m.err) {
			refused = &company[i]
		}
	}
	if refused != nil {
		again := trial{want: refused.want, request: refused.request}
		if again.answer, again.err = ep.Ask(ctx, refused.request); again.err != nil {
			if tooLong(again.err) {
				return gates.Pass("prompts of about %d tokens are refused alone and in company", p.deep*endpoint.TokensPerSentence), nil
			}
			return ep.died(ctx, p.deep*endpoint.TokensPerSentence, again.err, func() error { _, err := ep.Ask(ctx, refused.request); return err })
		}
		f := gates.Fail("a prompt of %d tokens is answered alone, and fails beside %d others of its length", again.answer.Usage.Prompt.Or(0), len(company)-1).With("%s", refused.says())
		return ep.blame(ctx, f.Because("the context is divided among the slots, or shared by all and too small"), gates.Company), nil
	}
	lost, _, err := ep.rightAlone(ctx, company, trial.right)
	if err != nil {
		return gates.Finding{}, err
	}
	if len(lost) >= 2 {
		f := gates.Fail("%d of %d prompts of up to %d tokens lose their beginning when they come together, and are right alone", len(lost), len(company), tokens).With("%s", lost[0].says())
		return ep.blame(ctx, f.Because("the context is divided among the slots, or shared by all and too small"), gates.Company), nil
	}
	return came.judged(gates.Pass("%d prompts of up to %d tokens at once: %d wrong that are right alone", len(company)-came.away, tokens, len(lost))), nil
}

// otherFirstWords finds answers whose first word only company makes: what the prefill
// samples is wrong, and all that follows is right. No finding means none.
func otherFirstWords(ctx context.Context, ep Subject, alone []trial, company []member) (gates.Finding, error) {
	usual := map[string]bool{}
	for _, t := range alone {
		usual[firstWord(t.answer)] = true
	}
	var odd []member
	asked := 0
	for _, t := range company {
		if t.err != nil || usual[firstWord(t.answer)] || asked == 8 {
			continue
		}
		asked++
		again, err := ep.Ask(ctx, t.request)
		if err != nil {
			return gates.Finding{}, err
		}
		if firstWord(again) != firstWord(t.answer) {
			odd = append(odd, t)
		}
	}
	switch {
	case len(odd) < 2: // one may be a near tie
		return gates.Finding{}, nil
	case len(odd) < lostLimit:
		return gates.Warn("the first word of %d answers is another than alone", len(odd)).With("%s", odd[0].says()), nil
	}
	return gates.Fail("the first word of %d answers in company is another than alone, and the rest is right", len(odd)).With("%s", odd[0].says()).
		Because("the first token is sampled in another way than those after it").Then("sampling on the host, where the engine has the option"), nil
}

func firstWord(a endpoint.Answer) string {
	if words := strings.Fields(a.Visible()); len(words) > 0 {
		return words[0]
	}
	return ""
}

// lostLimit is the number of answers wrong in company only that fails the server. At
// temperature 0 the same prompt alone repeats a model's own mistake, so that each of
// them is already a difference that company made; one may be a near tie.
const lostLimit = 3

func judgeCompany(alone []trial, company, lost []member, size int) gates.Finding {
	var right, rightAlone, turnedAway, broken, salad int
	var foreign, unanswered, garbled, wrong *trial
	for i := range alone {
		if alone[i].right() {
			rightAlone++
		}
		if alone[i].echo == gates.Foreign {
			foreign = &alone[i]
		}
	}
	for i := range company {
		t := &company[i].trial
		switch {
		case busy(t.err):
			turnedAway++
		case t.err != nil:
			broken++
			unanswered = t
		case t.echo == gates.Foreign:
			foreign = t
		case t.right():
			right++
		default:
			wrong = t
		}
		if t.err == nil && hardSymptom(t.answer, "") != "" {
			salad++
			garbled = t
		}
	}
	count := fmt.Sprintf("%d of %d right alone, %d of %d with up to %d at once", rightAlone, len(alone), right, len(company), size)
	switch {
	case foreign != nil:
		return gates.Fail("an answer holds the code %s of another request", foreign.seen).With("%s", foreign.says()).With("%s", count).
			Because("requests are mixed: per-slot state, KV blocks or response routing").Then("stop serving from this server: one user can read another's text")
	case unanswered != nil && broken == 1 && cutOff(unanswered.err):
		return gates.Warn("one of %d requests in company got no answer, since its connection broke", len(company)).With("%s", unanswered.says()).With("%s", count)
	case unanswered != nil:
		return gates.Fail("%d of %d requests in company never got an answer", broken, len(company)).With("%s", unanswered.says()).With("%s", count)
	case salad >= 2:
		return gates.Fail("%d of %d answers in company are degenerate", salad, len(company)).With("%s", hardSymptom(garbled.answer, "")).With("%s", garbled.says()).With("%s", count)
	case len(lost) >= lostLimit:
		return gates.Fail("%d of %d answers are wrong in company, and the same prompts are right alone", len(lost), len(company)).With("%s", count).With("%s", lost[0].says())
	case salad == 1:
		return gates.Warn("one answer in company is degenerate").With("%s", hardSymptom(garbled.answer, "")).With("%s", garbled.says()).With("%s", count)
	case len(lost) > 1:
		return gates.Warn("%d of %d answers are wrong in company, and the same prompts are right alone", len(lost), len(company)).With("%s", count).With("%s", lost[0].says())
	case turnedAway > 0:
		return gates.Warn("%d of %d requests were turned away with up to %d at once", turnedAway, len(company), size).With("%s", count).
			Because("the server's limit on waiting requests is lower than the load")
	case rightAlone*2 < len(alone):
		return gates.Skip("this model gives back %d of %d codes alone: too few to judge it in company", rightAlone, len(alone)).With("no foreign code in %d answers", len(company))
	}
	f := gates.Pass("%s, none foreign (a fault in fewer than %.1f %% of requests might not have shown)", count, 300/float64(len(company)))
	if wrong != nil {
		f = f.With("%s", wrong.says())
	}
	return f
}
