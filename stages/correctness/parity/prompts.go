package parity

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Made for this, of nobody's text. They are the same in every run: a recording made today
// is compared with one made next year. Many short ones, since an answer can be compared
// only as far as both sides agree; of several kinds, since a fault may show in one alone.

// promptSeed makes the prompts; another one makes old recordings useless.
const promptSeed = 1

// MostPrompts is how many prompts there are.
const MostPrompts = 128

// prompt is one question, and of what kind it is.
type prompt struct{ kind, text string }

// id names a prompt in evidence, without its text.
func (p prompt) id() string { return shortHash(p.text) }

func shortHash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:4])
}

// prompts returns the first n prompts; a larger n begins with those of a smaller one.
func prompts(n int) []prompt {
	rng := rand.New(rand.NewPCG(promptSeed, 0))
	seen := map[string]bool{}
	var out []prompt
	for len(out) < min(n, MostPrompts) {
		k := kinds[len(out)%len(kinds)]
		if p := (prompt{k.name, k.make(rng)}); !seen[p.text] {
			seen[p.text] = true
			out = append(out, p)
		}
	}
	return out
}

// promptSet names the prompts and the tools: recordings of other sets do not compare.
func promptSet() string {
	var parts []string
	for _, p := range prompts(MostPrompts) {
		parts = append(parts, p.text)
	}
	for _, c := range toolPrompts {
		parts = append(parts, c.text)
	}
	return shortHash(parts...)
}

var kinds = []struct {
	name string
	make func(*rand.Rand) string
}{
	{"prose", prose},
	{"code", code},
	{"numbers", numbers},
	{"language", language},
	{"question", questions},
}

func pick(rng *rand.Rand, list string) string {
	items := strings.Split(list, "|")
	return items[rng.IntN(len(items))]
}

func prose(rng *rand.Rand) string {
	place := pick(rng, "The harbour|The old mill|The station|The market square|The lighthouse|The library|The valley|The kitchen")
	state := pick(rng, "was quiet|lay under snow|smelled of rain|was full of voices|had been closed for years|stood in the evening sun")
	who := pick(rng, "the keeper|a stranger|my sister|the baker|an old sailor|the youngest child|nobody")
	return fmt.Sprintf("Continue the story: %s %s, and %s", place, state, who)
}

func code(rng *rand.Rand) string {
	if rng.IntN(3) == 0 {
		return "Complete the code:\n" + pick(rng, "def fibonacci(n):|def is_prime(n):|for i in range(10):|func max(a, b int) int {|SELECT name, age FROM|<ul>\\n  <li>|while queue:|int main(void) {|class Stack:|import json")
	}
	language := pick(rng, "Python|JavaScript|Go|C")
	what := pick(rng, "adds two numbers|reverses a list|counts the vowels in a word|finds the largest number|removes duplicates|reads a file line by line|sorts names by length|checks for a palindrome|sums the digits of a number")
	return fmt.Sprintf("Write a %s function that %s.", language, what)
}

func numbers(rng *rand.Rand) string {
	a, d := 1+rng.IntN(90), 1+rng.IntN(9)
	switch rng.IntN(4) {
	case 0:
		return fmt.Sprintf("Count from %d to %d, separated by commas.", a, a+20)
	case 1:
		return fmt.Sprintf("Continue the sequence: %d, %d, %d, %d,", a, a+d, a+2*d, a+3*d)
	case 2:
		return fmt.Sprintf("What is %d plus %d?", a, 10*d)
	}
	return fmt.Sprintf("Write the first ten multiples of %d.", d+1)
}

func language(rng *rand.Rand) string {
	if rng.IntN(2) == 0 {
		return "Continue: " + pick(rng, "Der alte Mann ging langsam|Am Morgen lag der Hafen|Meine Schwester wohnt in einem|Il était une fois un petit|Le matin, la ville est|Nous avons mangé du pain et|Había una vez en un pueblo|La casa de mi abuela tiene|Por la tarde los niños|C'era una volta un|Domani mattina andiamo")
	}
	into := pick(rng, "French|German|Spanish|Italian|Portuguese|Dutch")
	what := pick(rng, "The house is red.|Good morning, my friend.|I would like a cup of coffee.|Where is the station?|The children play in the garden.|It is raining today.|We are going home.")
	return fmt.Sprintf("Translate to %s: %s", into, what)
}

func questions(rng *rand.Rand) string {
	switch rng.IntN(3) {
	case 0:
		return "What is the capital of " + pick(rng, "Italy|Spain|Japan|Egypt|Canada|Norway|Peru|Kenya|Greece|India") + "?"
	case 1:
		return "Explain in one sentence " + pick(rng, "why the sky is blue|how bread is made|what a lighthouse is for|why leaves fall|how a bicycle stays upright|what a map is|why ice floats|what a teacher does|how rain forms") + "."
	}
	return pick(rng, "List three|Name two|Give five examples of") + " " + pick(rng, "animals that live in the sea|fruits|tools of a carpenter|musical instruments|colours|countries in Europe|planets|things found in a kitchen") + "."
}
