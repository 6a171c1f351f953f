package reader

import (
	"math/rand/v2"
	"strings"
)

// A prose writer makes up English sentences from a grammar: fluent, about nothing,
// and never in a loop. The seed is the whole story.
type prose struct {
	rng  *rand.Rand
	last [4]int // templates used lately, so that neighbours differ in shape
	n    int
}

func newProse(seed uint64) *prose {
	return &prose{rng: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)), last: [4]int{-1, -1, -1, -1}}
}

// sentence returns the next sentence, with its full stop.
func (p *prose) sentence() string {
	t := p.rng.IntN(len(templates))
	for p.last[0] == t || p.last[1] == t || p.last[2] == t || p.last[3] == t {
		t = p.rng.IntN(len(templates))
	}
	p.last[p.n%len(p.last)] = t
	p.n++
	return upperFirst(p.expand(templates[t]))
}

// expand replaces each {slot} by a word of that list.
func (p *prose) expand(t string) string {
	var b strings.Builder
	for {
		open := strings.IndexByte(t, '{')
		if open < 0 {
			b.WriteString(t)
			return b.String()
		}
		b.WriteString(t[:open])
		end := open + strings.IndexByte(t[open:], '}')
		list := slots[t[open+1:end]]
		b.WriteString(list[p.rng.IntN(len(list))])
		t = t[end+1:]
	}
}

// text returns prose of about n words in paragraphs.
func (p *prose) text(n int) string {
	var b strings.Builder
	count, paragraph := 0, 0
	for count < n {
		if b.Len() > 0 {
			if paragraph >= 4+p.rng.IntN(4) {
				b.WriteString("\n\n")
				paragraph = 0
			} else {
				b.WriteByte(' ')
			}
		}
		s := p.sentence()
		b.WriteString(s)
		count += strings.Count(s, " ") + 1
		paragraph++
	}
	return b.String()
}

// pick returns one of the nouns.
func (p *prose) noun() string {
	list := slots["n"]
	return list[p.rng.IntN(len(list))]
}

var templates = strings.Split(strings.TrimSpace(`
The {a} {n} {v} the {n} {p} the {n}.
{t}, the {w} {v} a {n} that nobody had {s}.
Nobody in the {l} could say why the {n} was so {a}.
When the {n} {i}, the {w} {v} the {n} and {c}.
It was {a} in the {l}, and the {n} {i} {d}.
"We should keep the {n}," said the {w}, "before the {n} {i}."
Beyond the {l} there was a {n}, {a} and {a}, where the {n} {i} {d}.
{t} a {w} came to the {l} with a {n} and a {a} {n}.
The {w} had {s} the {n} for years, yet the {l} still seemed {a}.
Of all the things in the {l}, only the {n} was {a}.
Some people {c} while others {v} the {n}.
The {n} of the {w} stood {p} the {n}, and {t} it {i}.
What the {w} wanted was simple: a {n}, a {a} {n}, and time.
As the {n} {i}, the {l} grew {a} and the {w} {c}.
Every {n} in the {l} had its own {n}, and each of them was {a}.
There are {u} reasons to trust a {w}, and the {n} is one of them.
The {w} {v} the {n} {d}, then {c}.
Although the {n} looked {a}, it had {s} the {l} {d}.
In the end the {w} and the {w} {c}, and the {n} {i}.
A {n} can be {a} without being {a}, as the {w} liked to say.
{u} lanterns hung {p} the {n}, and the {w} counted them {d}.
Word of the {n} reached the {l} before the {w} had {s} it.
`), "\n")

var slots = map[string][]string{
	"n": strings.Fields(`lantern river bridge garden letter harbour clock mountain window market orchard compass
		violin kettle ladder mirror blanket engine island feather hammer journal candle curtain meadow pebble
		anchor basket chimney doorway fountain glacier hillside kitchen library mill needle oar painting quarry
		railway sail tower umbrella valley wagon workshop archive barrel cellar drum envelope furnace gate
		hedge inkwell kite lighthouse map notebook oven pathway quilt rope staircase telescope veranda well`),
	"w": strings.Fields(`baker sailor teacher gardener painter clerk widow carpenter doctor farmer fisherman girl
		historian inventor judge keeper librarian miller musician neighbour officer pilot potter reporter shepherd
		smith soldier student surveyor tailor traveller weaver watchman botanist courier engineer`),
	"l": strings.Fields(`village valley harbour town city forest street square monastery district station county
		kingdom settlement quarter courtyard bay plain suburb province hamlet port museum school`),
	"a": strings.Fields(`quiet old bright narrow patient heavy pale curious gentle distant broken careful crooked deep
		dusty empty familiar faint golden green hidden honest humble icy lonely long modest new odd plain proud rare
		rough silent slow small soft stubborn sudden tall tired uncertain warm weary wide wild wooden young`),
	"v": strings.Fields(`carried watched repaired found followed described crossed measured remembered sold painted
		noticed borrowed guarded opened hid admired polished studied lifted drew mended photographed chose
		returned weighed rebuilt covered moved examined`),
	"s": strings.Fields(`seen known understood visited owned mentioned avoided wanted kept touched heard described lost
		named questioned loved shared explored recorded ignored`),
	"i": strings.Fields(`moved waited changed disappeared glowed trembled settled returned sank rose faded shone drifted
		creaked froze opened closed rested vanished stirred`),
	"d": strings.Split("slowly|without a sound|all night long|before dawn|in the rain|with great care|for no clear reason|by the old road|until the evening|as it always had|under a grey sky|in plain sight|for the last time|at the turn of the tide|with a kind of patience", "|"),
	"p": strings.Split("beside|behind|above|below|near|opposite|against|beyond|under|across from", "|"),
	"t": strings.Split("that morning|years later|in the early spring|after the storm|on the third day|at noon|long before the war|one evening|by the end of summer|in those days|when the bells had stopped|shortly after midnight|on market days|during the first frost|at low tide", "|"),
	"c": strings.Split("went home|laughed quietly|kept walking|sat down to think|asked for tea|closed the door|began to sing|wrote it all down|turned north|said nothing more|waited for news|shook hands|started again|looked out to sea|forgot the rest", "|"),
	"u": strings.Split("two|three|four|five|six|seven|eight|nine|ten|a dozen|several|many", "|"),
}
