package endpoint

import (
	"math/rand/v2"
	"strings"
)

// Prose writes plain English sentences that state nothing about codes and hold no
// digits: filler for long prompts, made from a seed, in the public domain, and not
// repetitive. It is not safe for concurrent use.
type Prose struct{ rng *rand.Rand }

// NewProse returns a writer; equal seeds write equal texts.
func NewProse(seed uint64) *Prose { return &Prose{rand.New(rand.NewPCG(seed, 0x70726f7365))} }

var (
	people  = strings.Fields("baker teacher sailor farmer painter nurse carpenter gardener pilot clerk weaver fisherman doctor porter singer miller tailor judge guide smith")
	deeds   = []string{"carried", "found", "repaired", "sold", "painted", "counted", "lifted", "cleaned", "measured", "moved", "borrowed", "described", "covered", "opened", "weighed", "sorted", "watched", "packed", "drew", "hid"}
	things  = strings.Fields("basket lantern table ladder bucket window rope kettle barrel blanket saddle mirror clock hammer drum boat bench wheel bottle carpet shovel chest")
	kinds   = strings.Fields("old green heavy narrow broken quiet wooden bright empty long round small yellow dusty square warm pale rusty plain wide")
	places  = strings.Fields("harbour market river garden station bridge forest village tower meadow cellar kitchen valley orchard workshop road square library barn field mill")
	times   = []string{"in the morning", "before noon", "after the rain", "late in the evening", "on the first day of spring", "during the harvest", "at the end of the week", "while the wind blew", "when the bells rang", "as the fog lifted", "long before winter", "on a quiet day"}
	reasons = []string{"because the road was closed", "so that nobody would trip", "although the light was poor", "and went home on foot", "while the others waited", "without saying a word", "and wrote a letter about it", "since the price was fair", "until the lamps were lit", "as a favour to a friend", "and forgot the rest", "before the ferry left"}
)

func pick(r *rand.Rand, list []string) string { return list[r.IntN(len(list))] }

// Sentence returns one sentence of about fifteen tokens.
func (p *Prose) Sentence() string {
	r := p.rng
	who := "the " + pick(r, people)
	what := "the " + pick(r, kinds) + " " + pick(r, things)
	where := "near the " + pick(r, places)
	var s string
	switch r.IntN(4) {
	case 0:
		s = pick(r, times) + ", " + who + " " + pick(r, deeds) + " " + what + " " + where
	case 1:
		s = who + " " + pick(r, deeds) + " " + what + " " + where + " " + pick(r, reasons)
	case 2:
		s = where + ", " + who + " " + pick(r, deeds) + " " + what + " " + pick(r, times)
	default:
		s = pick(r, times) + " " + who + " from the " + pick(r, places) + " " + pick(r, deeds) + " " + what + " " + pick(r, reasons)
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// Sentences returns n sentences in a row.
func (p *Prose) Sentences(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = p.Sentence()
	}
	return strings.Join(out, " ")
}

// TokensPerSentence is about what a sentence costs in common tokenizers; the server's
// own count decides where it matters.
const TokensPerSentence = 15
