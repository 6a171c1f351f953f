package correctness

import (
	"fmt"
	"math"
	"strings"

	"infbench/stages/endpoint"
)

// The shape of a coding agent's conversation, from 36,804 recorded requests of 530 real
// sessions (kv-cache-tester, Apache-2.0): the first prompt has 21,420 tokens in the median,
// each turn adds 650 (5 % add 6,467 and more, a lognormal with sigma 1.4), and a session
// has 44 turns. It is scaled to the context that the target has.
const (
	agentFirstTokens  = 21420
	agentGrowthTokens = 650
	agentGrowthSigma  = 1.4
	agentTurns        = 44
)

// agentPlan is a conversation of that shape in a room.
type agentPlan struct {
	first  int   // tokens of the system prompt
	growth []int // tokens that each later turn adds
}

func (p agentPlan) tokens() int {
	n := p.first
	for _, g := range p.growth {
		n += g
	}
	return n
}

// fullGrowth returns what each turn after the first adds in tokens at full size, and what
// the whole conversation comes to with its first prompt. The growth is drawn at evenly mixed
// quantiles, so that every length of conversation has its share of large additions.
func fullGrowth(turns int) (growth []float64, total float64) {
	growth, total = make([]float64, turns-1), agentFirstTokens
	for i := range growth {
		_, u := math.Modf(float64(i+1) * math.Phi) // the golden ratio mixes best
		growth[i] = agentGrowthTokens * math.Exp(agentGrowthSigma*math.Sqrt2*math.Erfinv(2*u-1))
		total += growth[i]
	}
	return growth, total
}

// shapedLike returns a conversation of so many turns and tokens with the measured shape.
func shapedLike(turns, tokens int) agentPlan {
	shape, total := fullGrowth(turns)
	scale := float64(tokens) / total
	p := agentPlan{first: max(60, int(agentFirstTokens*scale))}
	// A short conversation of the recorded shape is hardly more than its first prompt; here
	// it is the turns that are looked at.
	if most := max(60, tokens/4); p.first > most {
		p.first, scale = most, float64(tokens-most)/(total-agentFirstTokens)
	}
	for _, g := range shape {
		p.growth = append(p.growth, max(leastGrowth, int(g*scale)))
	}
	return p
}

// leastGrowth is what a turn adds at least: its instruction.
const leastGrowth = 30

// scaled says by how much the plan is smaller than what was measured, "" where it is not.
func (p agentPlan) scaled() string {
	_, full := fullGrowth(len(p.growth) + 1)
	if s := float64(p.tokens()) / full; s < 0.95 {
		return fmt.Sprintf("the recorded sessions' shape at %.2g of their size", s)
	}
	return "the recorded sessions' shape and size"
}

// charactersPerToken of English and code, about.
const charactersPerToken = 4.2

// source writes lines of a program that does nothing in particular: free of digits, of
// licences, and of repetition.
func source(p *endpoint.Prose, tokens int) string {
	var b strings.Builder
	for b.Len() < int(float64(tokens)*charactersPerToken) {
		w := strings.FieldsFunc(strings.ToLower(p.Sentence()), func(r rune) bool { return r < 'a' || r > 'z' })
		if len(w) < 8 {
			continue
		}
		fmt.Fprintf(&b, "func %s%s(%s, %s string) error {\n\tif %s == %q {\n\t\treturn errors.New(%q)\n\t}\n\treturn %s.%s(%s)\n}\n",
			w[1], title(w[2]), w[3], w[4], w[3], w[5], strings.Join(w[1:7], " "), w[6], w[7], w[4])
	}
	return b.String()
}

func title(w string) string { return strings.ToUpper(w[:1]) + w[1:] }
