package correctness

import (
	"context"
	"fmt"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = add(gates.Check[Subject]{
	ID: "correctness/batch-invariance",
	Doc: `an answer in company is that of the same question alone, but for near ties

Kernels that sum in another order for another batch size move logits by a little, and at a near tie another word comes: that is drift, and a warning
with its rate. A word that was not likely at all is a fault of the batch. Open questions are asked alone and in company of 2 and more; where texts
differ, the logprobs at the first token that differs decide. Under --batch-invariant nothing may differ.`,
	Since:  "0.3.0",
	Cost:   6 * time.Second,
	Modes:  []string{"DET-02", "DET-03", "CON-11", "CON-12", "NUM-18"},
	Faults: []string{"drift-in-company", "far-in-company", "reordered-stream", "company-500", "reject-above-1"},
	Causes: []string{"reductions that depend on the size of the batch (expected by default)", "a batched kernel, captured graph or draft that computes another thing"},
	Next:   []string{"the engine's batch-invariant or deterministic mode, where equal texts matter", "the same server with the largest batch set to 1"},
	Run:    batchInvariance,
}, sizing{6, func(r room) Work { p := invariancePlanOf(r); return p.work() }})

// invariancePlan is how many questions are compared, at which sizes.
type invariancePlan struct {
	questions int
	sizes     []int
}

const openTokens = 48

func (p invariancePlan) work() Work { return asks(p.questions*(2+len(p.sizes)), 90, openTokens) }

// invariancePlanOf compares eight questions at the least and largest size, or more; four
// where the budget is a fraction of the default.
func invariancePlanOf(r room) invariancePlan {
	all := sizesOf(r.inFlight)
	p := invariancePlan{questions: min(8, max(4, r.most(20))), sizes: all[len(all)-1:]}
	if len(all) > 1 {
		p.sizes = []int{all[0], all[len(all)-1]}
	}
	for more := p; more.questions <= r.most(20); more.questions += 4 {
		if !r.affords(more.work()) {
			break
		}
		p = more
	}
	return p
}

// subjects of open questions, so that no two are alike.
var subjects = []string{
	"a harbour in the morning", "an old bridge", "a railway station at night", "a garden after rain", "a market in autumn", "a lighthouse", "a bakery before dawn", "a library",
	"a mountain village", "a river in spring", "a workshop", "an empty theatre", "a ferry", "a snowed-in road", "an orchard", "a kitchen on a Sunday", "a quiet street", "a mill",
	"a beach in winter", "a school yard", "a clock tower", "a hospital corridor", "a forest path", "a storm at sea", "an attic", "a vineyard", "a post office", "a farm at noon",
	"a canal", "a museum hall", "a hill fort", "a desert well", "a greenhouse", "a stone quarry", "a fishing pier", "a town square", "a monastery", "a cave", "a windmill", "a meadow",
}

// openQuestion has no one right answer, so that a small change of the logits may show.
func openQuestion(prose string, i int) endpoint.Request {
	return endpoint.Chat(prose + " Describe " + subjects[i%len(subjects)] + " in two sentences.").MaxTokens(openTokens)
}

func batchInvariance(ctx context.Context, ep Subject) (gates.Finding, error) {
	p := invariancePlanOf(ep.room("correctness/batch-invariance"))
	clock := ep.clock("correctness/batch-invariance")
	var l ladder
	unstable := 0
	came := turnout{what: "requests"}
	start := time.Now()
	for done := 0; done < p.questions; {
		if done > 0 && !clock.affords(time.Since(start)/time.Duration(done)*time.Duration(p.sizes[0])) {
			break
		}
		n := min(4, p.questions-done)
		requests := make([]endpoint.Request, n)
		alone := make([]endpoint.Answer, n)
		for i := range n {
			requests[i] = openQuestion(ep.fresh().Sentences(1+(done+i)%4), done+i)
			var err error
			// The first answer fills the cache; cold against warm is another check's question.
			if _, err = ep.text(ctx, requests[i]); err == nil {
				alone[i], err = ep.text(ctx, requests[i])
			}
			if err != nil {
				return gates.Finding{}, err
			}
		}
		for _, size := range p.sizes {
			company, err := ep.among(ctx, requests, size, &came)
			if err != nil {
				return gates.Finding{}, err
			}
			if f, bad := ep.failing(ctx, came); bad {
				return f, nil
			}
			for i, a := range company {
				if a.Failure != nil {
					continue // counted
				}
				d, err := ep.differ(ctx, requests[i], alone[i], a)
				if err != nil {
					return gates.Finding{}, err
				}
				if d.rung != equal {
					steady, err := ep.steady(ctx, requests[i], alone[i])
					if err != nil {
						return gates.Finding{}, err
					}
					if !steady {
						unstable++
						continue
					}
				}
				l.add(d)
			}
		}
		done += n
	}
	return judgeInvariance(ctx, ep, p, l, came, unstable), nil
}

// steady reports whether a question that was answered otherwise once is answered the same
// alone, three times: where it is not, nothing that was added made the difference.
func (s Subject) steady(ctx context.Context, r endpoint.Request, was endpoint.Answer) (bool, error) {
	for range 3 {
		again, err := s.text(ctx, r)
		if err != nil || shown(again) != shown(was) {
			return false, err
		}
	}
	return true, nil
}

func judgeInvariance(ctx context.Context, ep Subject, p invariancePlan, l ladder, came turnout, unstable int) gates.Finding {
	said := l.says()
	if unstable > l.pairs() {
		return came.judged(gates.Skip("%d of %d texts differ when they are asked alone again: company is not to be told from that", unstable, l.pairs()+unstable).
			Then("correctness/determinism says by how much repeats differ"))
	}
	sizes := fmt.Sprintf("in company of %d", p.sizes[0])
	if len(p.sizes) > 1 {
		sizes += fmt.Sprintf(" and %d", p.sizes[1])
	}
	if l.grade(ep.options.Invariant) == gradeEqual {
		return came.judged(gates.Pass("%d of %d texts %s are those of the same questions alone (a difference in fewer than %.0f %% might not have shown)", l.counts[equal], l.pairs(), sizes, 300/float64(max(1, l.pairs()))))
	}
	explained := ""
	if unstable > 0 {
		explained = fmt.Sprintf("%d more differ when they are asked alone again, and are not counted", unstable)
	}
	rate := 100 * float64(l.differing()) / float64(l.pairs())
	if l.grade(ep.options.Invariant) == gradeTooMuch {
		f := gates.Fail("%.0f %% of texts %s differ from the same questions alone, beyond near ties", rate, sizes)
		if l.counts[implausible] < 2 {
			f = gates.Fail("%.0f %% of texts %s differ from the same questions alone, and the server is declared to be batch-invariant", rate, sizes)
		}
		f = f.With("%s", said).With("%s", l.worst.says()).Because("a batched kernel, captured graph or draft that computes another thing")
		if explained != "" {
			f = f.With("%s", explained)
		}
		return ep.blame(ctx, f, gates.Company)
	}
	f := gates.Warn("%.0f %% of texts %s differ from the same questions alone", rate, sizes).With("%s", said).With("%s", l.worst.says())
	if explained != "" {
		f = f.With("%s", explained)
	}
	return f.Under(gates.Company)
}

// among puts some requests in company of others that nobody compares, size at once in
// all, and returns the answers to the first. It counts all of them.
func (s Subject) among(ctx context.Context, requests []endpoint.Request, size int, came *turnout) ([]endpoint.Answer, error) {
	var out []endpoint.Answer
	for from := 0; from < len(requests); from += size {
		n := min(size, len(requests)-from)
		all := make([]endpoint.Answer, size)
		inCompany(size, size, func(i int) {
			r := openQuestion(s.fresh().Sentences(1+3*(i%4)), 20+i)
			if i < n {
				r = requests[from+i]
			}
			all[i] = s.Stream(ctx, r)
		})
		if ended(ctx) {
			return nil, context.Cause(ctx)
		}
		for _, a := range all {
			came.add(a.Err())
		}
		out = append(out, all[:n]...)
	}
	return out, nil
}
