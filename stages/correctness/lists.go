package correctness

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = add(gates.Check[Subject]{
	ID: "correctness/lists",
	Doc: `long answers in company are whole, in order, and come once

A preempted sequence that is computed again loses or shifts a stretch of its text; a stream whose events are mixed up swaps or doubles them; a late
position in the batch decays after some tokens. A short answer shows none of it. Each request counts from a number of its own, alone and in
company: what is counted alone without a gap must be so beside others.`,
	Since:  "0.3.0",
	Cost:   6 * time.Second,
	Modes:  []string{"CAC-06", "CON-03", "CON-05", "OUT-10"},
	Faults: []string{"preempt-offset", "duplicated-stream", "late-arrivals-decay", "company-500", "reject-above-1"},
	Causes: []string{"sequences that are preempted for want of KV blocks and resumed wrongly", "events of several streams mixed up before they are sent", "a batched decode kernel that is wrong for later positions"},
	Next:   []string{"more memory for the KV cache, or fewer sequences at once", "the same server with the largest batch set to 1"},
	Run:    lists,
}, sizing{5, func(r room) Work { n := listsPlan(r); return asks(2*n+2, 40, listTokens) }})

// listTokens are enough for forty numbers in any tokenizer, and long enough to need blocks
// that the prompt did not.
const listTokens = 240

// listsPlan returns how many lists are counted at once.
func listsPlan(r room) int {
	n := max(2, min(16, r.inFlight))
	for n > 4 && !r.affords(asks(2*n+2, 40, listTokens)) {
		n--
	}
	return n
}

// countFrom asks for numbers in a row.
func countFrom(first int) endpoint.Request {
	return endpoint.Chat(fmt.Sprintf("List the numbers from %d to %d, separated by commas.", first, first+39)).MaxTokens(listTokens)
}

func lists(ctx context.Context, ep Subject) (gates.Finding, error) {
	alone, longest := 0, 0
	for i := range 2 {
		a, err := ep.Ask(ctx, countFrom(11+100*i))
		if err != nil {
			return gates.Finding{}, err
		}
		run, broken := counted(a.Visible(), 11+100*i)
		longest = max(longest, run)
		if broken == "" && run >= enoughCounted {
			alone++
		}
	}
	if alone == 0 {
		return gates.Skip("this model counts %d numbers in a row alone, and %d are needed to judge a list", longest, enoughCounted), nil
	}
	n := listsPlan(ep.room("correctness/lists"))
	trials := make([]trial, n)
	for i := range trials {
		trials[i] = trial{first: 3 + 50*i, request: countFrom(3 + 50*i)}
	}
	company, err := ep.burst(ctx, trials)
	if err != nil {
		return gates.Finding{}, err
	}
	whole := func(t trial) bool {
		run, broken := counted(t.answer.Visible(), t.first)
		return t.err == nil && broken == "" && run >= enoughCounted
	}
	right := 0
	for _, m := range company {
		if whole(m.trial) {
			right++
		}
	}
	came := turnoutOf("lists", company)
	if f, bad := ep.failing(ctx, came); bad {
		return f, nil
	}
	lost, beyond, err := ep.rightAlone(ctx, company, whole)
	if err != nil {
		return gates.Finding{}, err
	}
	said := fmt.Sprintf("%d of %d lists at once are whole", right, n)
	if len(lost) == 0 {
		return came.judged(gates.Pass("%s, %d of 2 alone", said, alone)), nil
	}
	_, how := counted(lost[0].answer.Visible(), lost[0].first)
	if how == "" {
		how = "it ends too soon"
	}
	f := gates.Fail("%d of %d lists are broken in company and whole alone", len(lost), n)
	if len(lost) == 1 && n > 4 {
		f = gates.Warn("one of %d lists is broken in company and whole alone", n)
	}
	f = f.With("%s", how).With("counting from %d: %s", lost[0].first, lost[0].answer.Says()).Drawn(pictureOf(company, whole, beyond))
	if f.Status() == gates.Failed {
		return ep.blame(ctx, f, gates.Company), nil
	}
	return f.Under(gates.Company), nil
}

// enoughCounted numbers in a row are a list that a gap or a swap would show in.
const enoughCounted = 20

// counted returns how many numbers follow each other from first on, and what breaks the
// row: "" where it only ends. Other text may stand before the list.
func counted(text string, first int) (run int, broken string) {
	var numbers []int
	for _, digits := range digitRuns(text) {
		if n, err := strconv.Atoi(digits); err == nil {
			numbers = append(numbers, n)
		}
	}
	// "The numbers from 11 to 50 are: 11, 12 …": the list begins where two follow each other.
	start := 0
	for start+1 < len(numbers) && (numbers[start] != first || numbers[start+1] != first+1) {
		start++
	}
	if start+1 >= len(numbers) {
		return 0, ""
	}
	for i, n := range numbers[start:] {
		if n == first+i {
			run++
			continue
		}
		if run >= 40 { // the whole list stands; what follows is talk
			return run, again(numbers[start+run:], first)
		}
		return run, fmt.Sprintf("after %d comes %d", first+i-1, n)
	}
	return run, ""
}

// again finds the list a second time.
func again(rest []int, first int) string {
	for i := 0; i+2 < len(rest); i++ {
		if rest[i] == first && rest[i+1] == first+1 && rest[i+2] == first+2 {
			return fmt.Sprintf("the list from %d comes twice", first)
		}
	}
	return ""
}

func digitRuns(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}
