package baseline

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
)

// Counter counts the tokens of a rendered conversation with one user message, as the server
// does. The text is one that no measured prompt begins with.
type Counter func(ctx context.Context, text string) (tokens int, err error)

// Prompt is one depth of a suite, made to the length that it should have.
type Prompt struct {
	Depth
	body string
	// TrueTokens is what the counter said of it.
	TrueTokens int
}

// Text returns the prompt of a repeat, without its question: its first words are the repeat's
// own, so that nothing of it is in a prefix cache.
func (p Prompt) Text(s Suite, repeat int, salt string) string {
	return words(nonceSeed(s.seed, p.PromptTokens, repeat)+salt, nonceWords) + " " + p.body
}

const (
	// nonceWords are 88 bits.
	nonceWords = 8
	// mostProbes bounds the search for a length.
	mostProbes = 32
	// filler is a word of one token in every tokenizer that is about.
	filler = " the"
)

// Materialise makes the prompts of a suite to their exact lengths: the question that follows
// each is counted with it. It returns how often the counter was asked. A length that cannot be
// hit is no error: the true one is told.
func Materialise(ctx context.Context, s Suite, question string, count Counter) (prompts []Prompt, probes int, err error) {
	perWord := 0.0
	for _, d := range s.depths {
		p, n, per, err := fitLength(ctx, s, d, question, perWord, count)
		probes += n
		if err != nil {
			return nil, probes, fmt.Errorf("a prompt of %d tokens: %w", d.PromptTokens, err)
		}
		prompts, perWord = append(prompts, p), per
	}
	return prompts, probes, nil
}

// fitLength looks for the number of words that gives the length, by the secant of what was
// counted, and fills up with single tokens.
func fitLength(ctx context.Context, s Suite, d Depth, question string, perWord float64, count Counter) (p Prompt, probes int, per float64, err error) {
	all := newDraw(s.seed + "/body/" + fmt.Sprint(d.PromptTokens))
	var list []string
	body := func(words, fill int) string {
		for len(list) < words {
			list = append(list, wordList[all.next()])
		}
		return strings.Join(list[:words], " ") + strings.Repeat(filler, fill)
	}
	nonce := words(s.seed+"/probe", nonceWords)
	ask := func(words, fill int) (int, error) {
		probes++
		return count(ctx, nonce+" "+body(words, fill)+question)
	}
	if perWord == 0 {
		perWord = 2
	}
	best, bestOff := Prompt{}, math.MaxInt
	words := max(1, int(float64(d.PromptTokens)/perWord*0.9))
	lastWords, lastCount := 0, 0
	for probes < mostProbes {
		n, err := ask(words, 0)
		if err != nil {
			return p, probes, perWord, err
		}
		if lastWords == 0 {
			perWord = max(0.5, float64(n)/float64(words))
		}
		if lastWords > 0 && words != lastWords {
			if slope := float64(n-lastCount) / float64(words-lastWords); slope > 0.2 && slope < 20 {
				perWord = slope
			}
		}
		off := d.PromptTokens - n
		if off >= 0 && off < bestOff {
			best, bestOff = Prompt{d, body(words, 0), n}, off
		}
		lastWords, lastCount = words, n
		if off >= 0 && float64(off) < 4*perWord {
			break
		}
		step := int(math.Floor(float64(off) / perWord))
		if step == 0 {
			step = -1
		}
		if words == 1 && off < 0 {
			return p, probes, perWord, fmt.Errorf("the template and the question alone have %d tokens", n)
		}
		// A counter that is beside itself must not make prompts without end: no word has less than a
		// half of a token.
		words = min(max(1, words+step), 2*d.PromptTokens)
	}
	if bestOff == math.MaxInt {
		return p, probes, perWord, fmt.Errorf("no shorter prompt was found in %d probes", probes)
	}
	for fill := bestOff; bestOff > 0 && fill >= 0 && probes < mostProbes; {
		n, err := ask(lastWords, fill)
		if err != nil {
			return p, probes, perWord, err
		}
		off := d.PromptTokens - n
		if abs(off) < abs(bestOff) {
			best, bestOff = Prompt{d, body(lastWords, fill), n}, off
		}
		if off == 0 {
			break
		}
		fill += off
	}
	return best, probes, perWord, nil
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

// Materialised returns the digest of the prompts as they came out, with what tells the
// tokenizer: equal suites with different digests are of different tokenizers or word lists.
func Materialised(prompts []Prompt, tokenizer string) string {
	h := sha256.New()
	part := func(b string) {
		_ = binary.Write(h, binary.BigEndian, uint64(len(b))) // a hash takes everything
		h.Write([]byte(b))
	}
	for _, p := range prompts {
		part(p.body)
		part(fmt.Sprint(p.TrueTokens))
	}
	part(tokenizer)
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// Order returns the order in which the depths are sent in a repeat: frozen with the suite, and
// another one each time, so that what drifts does not stand for depth.
func (s Suite) Order(repeat int) []int {
	out := make([]int, len(s.depths))
	for i := range out {
		out[i] = i
	}
	d := newDraw(fmt.Sprintf("%s/order/%d", s.seed, repeat))
	for i := len(out) - 1; i > 0; i-- {
		j := d.next() % (i + 1)
		out[i], out[j] = out[j], out[i]
	}
	return out
}
