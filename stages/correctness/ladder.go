package correctness

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"infbench/gates"
	"infbench/stages/endpoint"
)

// A rung says how much two answers to one request differ. The ladder follows the
// comparison of vLLM's own model tests (check_logprobs_close): at the first token that
// differs each side's token must have been likely on the other, and nothing after it is
// compared, since it stands behind another text.
type rung uint8

const (
	// equal: the same text.
	equal rung = iota
	// nearTie: at the first difference the two tokens lie within tieNats.
	nearTie
	// unexplained: the texts differ and no logprobs tell why.
	unexplained
	// doubtful: between tieNats and farNats.
	doubtful
	// implausible: the token that came was farNats or more below the other, or not among
	// the likely ones at all.
	implausible
)

var rungNames = [...]string{"equal", "near tie", "unexplained", "doubtful", "implausible"}

// The stated margins of the ladder, in nats between the two tokens at the first difference.
// Batched kernels move logits by some hundredths; half a nat is beyond what rounding does,
// and two nats is a token that nobody would sample at temperature 0.
const (
	tieNats = 0.5
	farNats = 2.0
	// ladderTop is how many alternatives are asked for; five is what every server gives.
	ladderTop = 5
)

// difference is where two answers to one request part.
type difference struct {
	rung rung
	// at is the number of equal characters before, token the index of the token, -1 where
	// it is not known.
	at, token int
	// nats lie between the two tokens; infinite where one was not among the likely.
	nats       float64
	one, other string
}

// says describes the difference for evidence.
func (d difference) says() string {
	s := fmt.Sprintf("after %d equal characters: %s and %s", d.at, gates.Quote(d.one, 40), gates.Quote(d.other, 40))
	switch {
	case d.token < 0:
		return s + " (no logprobs tell how near they were)"
	case math.IsInf(d.nats, 1):
		return fmt.Sprintf("%s, at token %d, where one of the two is not among the %d likeliest", s, d.token+1, ladderTop)
	}
	return fmt.Sprintf("%s, at token %d, %.2f nats apart", s, d.token+1, d.nats)
}

// shown is the text of an answer that is compared.
func shown(a endpoint.Answer) string { return a.Everything() }

// text asks for some text of which nobody wants the end: what a model thinks is as good to
// compare as what it says.
func (s Subject) text(ctx context.Context, r endpoint.Request) (endpoint.Answer, error) {
	a := s.Stream(ctx, r)
	return a, a.Err()
}

// differ compares two answers to one request. Only where they differ is the request put
// once more, alone and with logprobs: asking for those may change how a server computes,
// so that the answers themselves come without.
func (s Subject) differ(ctx context.Context, r endpoint.Request, a, b endpoint.Answer) (difference, error) {
	x, y := []rune(shown(a)), []rune(shown(b))
	d := difference{at: commonPrefix(shown(a), shown(b)), token: -1}
	if d.at == len(x) && d.at == len(y) {
		return d, nil
	}
	d.rung = unexplained
	d.one, d.other = string(x[d.at:min(len(x), d.at+24)]), string(y[d.at:min(len(y), d.at+24)])
	if s.Unable(endpoint.Logprobs) != "" {
		return d, nil
	}
	scored := s.Complete(ctx, r.Logprobs(ladderTop))
	switch err := scored.Err(); endpoint.FateOf(err) {
	case endpoint.Answered:
	case endpoint.Declined:
		return d, nil // a server that refuses logprobs tells nothing by them
	case endpoint.TurnedAway, endpoint.Broken:
		return d, err
	}
	d.weigh(scored.Logprobs, x, y)
	return d, nil
}

// weigh finds the token at which the texts part in a scored answer that holds what both
// have in common, and how far apart the two continuations are in it.
func (d *difference) weigh(scores []endpoint.TokenLogprob, x, y []rune) {
	common := string(x[:d.at])
	said := ""
	for i, t := range scores {
		next := said + t.Token
		if strings.HasPrefix(common, next) {
			said = next
			continue
		}
		if !strings.HasPrefix(next, common) {
			return // it went another way before
		}
		// The token that reaches beyond what is common.
		one, okOne := likelihood(t, string(x)[len(said):])
		other, okOther := likelihood(t, string(y)[len(said):])
		switch {
		case okOne && okOther:
			d.nats = math.Abs(one - other)
		case okOne || okOther:
			d.nats = math.Inf(1)
		default:
			return // neither continues here: the scored answer is a third one
		}
		d.token = i
		switch {
		case d.nats < tieNats:
			d.rung = nearTie
		case d.nats < farNats:
			d.rung = doubtful
		default:
			d.rung = implausible
		}
		return
	}
}

// likelihood returns the logprob of the token that a text continues with: the longest of
// the likely ones that it begins with. A text that is over continues with an end token,
// which servers do not name alike.
func likelihood(t endpoint.TokenLogprob, rest string) (float64, bool) {
	best, length, ok := 0.0, -1, false
	for _, a := range append([]endpoint.Alternative{t.Alternative}, t.Top...) {
		n := len(a.Token)
		if rest == "" {
			if n == 0 || endToken(a.Token) {
				return a.Logprob, true
			}
			continue
		}
		if n > length && n > 0 && strings.HasPrefix(rest, a.Token) {
			best, length, ok = a.Logprob, n, true
		}
	}
	return best, ok
}

func endToken(s string) bool {
	return strings.HasPrefix(s, "<|") && strings.HasSuffix(s, "|>") || s == "</s>" || s == "<eos>" || s == "<end_of_turn>"
}

// ladder counts the differences of several pairs.
type ladder struct {
	counts   [implausible + 1]int
	prefixes []int // equal characters of the pairs that differ
	worst    difference
}

func (l *ladder) add(d difference) {
	l.counts[d.rung]++
	if d.rung != equal {
		l.prefixes = append(l.prefixes, d.at)
	}
	if d.rung > l.worst.rung || d.rung == l.worst.rung && d.nats > l.worst.nats {
		l.worst = d
	}
}

func (l ladder) pairs() int {
	n := 0
	for _, c := range l.counts {
		n += c
	}
	return n
}

func (l ladder) differing() int { return l.pairs() - l.counts[equal] }

// says counts the rungs in words.
func (l ladder) says() string {
	parts := []string{fmt.Sprintf("%d of %d equal", l.counts[equal], l.pairs())}
	for r := nearTie; r <= implausible; r++ {
		if l.counts[r] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", l.counts[r], rungNames[r]))
		}
	}
	if n := len(l.prefixes); n > 0 {
		sorted := slices.Sorted(slices.Values(l.prefixes))
		parts = append(parts, fmt.Sprintf("those that differ do after %d characters (median)", sorted[(n-1)/2]))
	}
	return strings.Join(parts, ", ")
}

// grade is what a ladder comes to.
type grade uint8

const (
	gradeEqual   grade = iota // nothing differs
	gradeDrift                // it differs at near ties, or nobody knows
	gradeTooMuch              // it differs beyond what arithmetic explains
)

// grade judges the pairs: one implausible pair may be a token that the logprobs pass saw
// otherwise, two are not.
func (l ladder) grade(invariant bool) grade {
	switch {
	case l.differing() == 0:
		return gradeEqual
	case l.counts[implausible] >= 2, invariant:
		return gradeTooMuch
	}
	return gradeDrift
}
