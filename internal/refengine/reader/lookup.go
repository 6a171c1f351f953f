package reader

import (
	"strconv"
	"strings"
	"sync"
)

// world holds what every child knows, as statements.
var world = sync.OnceValue(func() []note {
	return takeNotes(nil, worldText, source{message: -1})
})

const worldText = `The capital of France is Paris. The capital of Germany is Berlin. The capital of Italy is Rome.
The capital of Spain is Madrid. The capital of Portugal is Lisbon. The capital of Japan is Tokyo.
The capital of China is Beijing. The capital of Norway is Oslo. The capital of Sweden is Stockholm.
The capital of Finland is Helsinki. The capital of Denmark is Copenhagen. The capital of Poland is Warsaw.
The capital of Austria is Vienna. The capital of Greece is Athens. The capital of Egypt is Cairo.
The capital of Ireland is Dublin. The capital of Hungary is Budapest. The capital of Kenya is Nairobi.
The capital of Peru is Lima. The capital of Chile is Santiago. The capital of Canada is Ottawa.
The capital of Australia is Canberra. The capital of India is New Delhi. The capital of Russia is Moscow.
The capital of England is London. The capital of the United Kingdom is London. The capital of Belgium is Brussels.
The capital of the United States is Washington. The capital of the Netherlands is Amsterdam.
The capital of Switzerland is Bern. The capital of Brazil is Brasilia. The capital of Argentina is Buenos Aires.
The day after Monday is Tuesday. The day after Tuesday is Wednesday. The day after Wednesday is Thursday.
The day after Thursday is Friday. The day after Friday is Saturday. The day after Saturday is Sunday.
The day after Sunday is Monday. The opposite of hot is cold. The opposite of cold is hot.
The opposite of up is down. The opposite of down is up. The opposite of big is small. The opposite of small is big.
The opposite of left is right. The opposite of right is left. The opposite of day is night.
The opposite of night is day. The opposite of black is white. The opposite of white is black.
The opposite of fast is slow. The opposite of slow is fast. The opposite of open is closed.
The color of the sky is blue. The colour of the sky is blue. The color of grass is green. The colour of grass is green.
The color of snow is white. The colour of snow is white.
The number of days in a week is 7. The number of months in a year is 12. The number of hours in a day is 24.`

// find returns the note that a description points at. Its words must all belong to
// the note: most of all to its own description, else to what stands around it. The
// closest description wins, and among equals the latest statement.
func (c *conversation) find(description string) (note, bool) {
	if n, ok := c.findIn(c.notes, description); ok {
		return n, true
	}
	return c.findIn(world(), description)
}

func (c *conversation) findIn(notes []note, description string) (note, bool) {
	asked := unfilled(keywords(description))
	if len(asked) == 0 { // "What is my name?" has nothing else to go by
		for _, w := range keywords(description) {
			if nouns[w] {
				asked = append(asked, w)
			}
		}
	}
	if n, ok := best(notes, asked, anywhere); ok {
		return n, true
	}
	if k, ok := ordinal(description, c.results()); ok {
		if n, ok := best(notes, withoutOrdinals(asked), func(s source) bool { return s.result == k }); ok {
			return n, true
		}
	}
	if phrase, ok := nounPhrase(description); ok {
		return best(notes, unfilled(keywords(phrase)), anywhere)
	}
	return note{}, false
}

func anywhere(source) bool { return true }

// nouns are the fillers that can be the thing that is asked for.
var nouns = set("name number word value text message document list line sentence digit")

// unfilled drops the words that point at the text.
func unfilled(list []string) []string {
	var out []string
	for _, w := range list {
		if !fillers[w] && !fillers[w+"s"] {
			out = append(out, w)
		}
	}
	return out
}

func best(notes []note, asked []string, from func(source) bool) (found note, ok bool) {
	if len(asked) == 0 {
		return note{}, false
	}
	score := 1 << 30
	for i := len(notes) - 1; i >= 0; i-- { // backwards: the latest of equals is met first
		if n := &notes[i]; from(n.source) {
			if s, fits := n.distance(asked); fits && s < score {
				score, found, ok = s, *n, true
			}
		}
	}
	return found, ok
}

// distance is how far the note's description is from the words asked for.
func (n *note) distance(asked []string) (score int, fits bool) {
	own := 0
	for _, w := range asked {
		if has(n.core, w) {
			own++
		}
	}
	if own == 0 {
		return 0, false
	}
	outside := len(asked) - own
	if outside > 0 {
		near := keywords(n.around)
		for _, w := range asked {
			if !has(n.core, w) && !has(near, w) {
				return 0, false
			}
		}
	}
	missing := 0
	for _, w := range n.core {
		if !has(asked, w) && !fillers[w] {
			missing++
		}
	}
	return missing*8 + outside, true
}

var ordinals = map[string]int{"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10}

// ordinal reads which tool result is meant: "the first result", "turn 3", "the
// latest lookup".
func ordinal(description string, results int) (int, bool) {
	list := words(description)
	for i, w := range list {
		if k, ok := ordinals[w]; ok {
			return k, true
		}
		switch w {
		case "last", "latest", "previous", "newest":
			return results, results > 0
		case "turn", "result", "step", "lookup", "page", "call", "response":
			if i+1 < len(list) {
				if k, err := strconv.Atoi(list[i+1]); err == nil {
					return k, true
				}
			}
		}
	}
	return 0, false
}

func withoutOrdinals(list []string) []string {
	var out []string
	for i, w := range list {
		_, isOrdinal := ordinals[w]
		switch w {
		case "last", "latest", "previous", "newest", "turn", "result", "step", "lookup", "page", "call", "response", "tool":
			continue
		}
		if _, err := strconv.Atoi(w); err == nil && i > 0 || isOrdinal {
			continue
		}
		out = append(out, w)
	}
	return out
}

// nounPhrase returns the description proper of a question that goes on about where
// it was stated: "the secret code that I told you before".
func nounPhrase(s string) (string, bool) {
	low := fold(s)
	start := -1
	for _, det := range []string{"the ", "my ", "your "} {
		if i := strings.Index(low, det); i >= 0 && (i == 0 || low[i-1] == ' ') && (start < 0 || i < start) {
			start = i
		}
	}
	if start < 0 {
		return "", false
	}
	end := len(low)
	for _, stop := range []string{" that ", " which ", " mentioned", " stated", " given", " hidden", " i ", " you ", ", ", "?"} {
		if i := strings.Index(low[start:], stop); i > 0 && start+i < end {
			end = start + i
		}
	}
	return s[start:end], end < len(low)
}

// tell makes the answer out of a note.
func (n note) tell() string {
	return subjectOf(n.subject) + " " + n.verb + " " + n.value + "."
}

// subjectOf turns a description into the subject of an answer.
func subjectOf(s string) string {
	first, rest, _ := strings.Cut(s, " ")
	switch strings.ToLower(first) {
	case "my":
		return "Your " + rest
	case "your":
		return "My " + rest
	case "the", "a", "an", "one", "this", "that", "our", "his", "her", "their":
		return upperFirst(s)
	case "its":
		return "The " + rest
	}
	if n := strings.IndexByte(s, ' '); n < 0 && s != strings.ToLower(s) || strings.Contains(s, "'") {
		return s // a name
	}
	return "The " + lowerFirst(s)
}
