package hardware

import (
	"errors"
	"strings"
	"testing"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

// wrote is an answer that was written between two moments, in milliseconds from one origin.
func wrote(sent, first, last int) step {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	var t step
	t.answer.Timing = endpoint.Timing{Began: time.Unix(0, 0).Add(ms(sent)), FirstToken: ms(first - sent), LastToken: ms(last - sent), Ended: ms(last - sent)}
	return t
}

// Counted by hand: how many intervals lie over each other.
func TestOverlap(t *testing.T) {
	t.Parallel()
	broken := wrote(0, 10, 90)
	broken.err = errors.New("x")
	for name, c := range map[string]struct {
		steps []step
		want  int
	}{
		"none":                   {nil, 0},
		"one":                    {[]step{wrote(0, 5, 9)}, 1},
		"one after another":      {[]step{wrote(0, 1, 10), wrote(0, 10, 20), wrote(0, 20, 30)}, 1},
		"two of three":           {[]step{wrote(0, 1, 10), wrote(0, 9, 20), wrote(0, 19, 30)}, 2},
		"all":                    {[]step{wrote(0, 1, 30), wrote(5, 9, 29), wrote(7, 19, 28)}, 3},
		"a failed one not":       {[]step{wrote(0, 1, 30), broken}, 1},
		"in one piece, by waits": {[]step{wrote(0, 30, 30), wrote(1, 20, 20)}, 2},
	} {
		if got := overlap(c.steps); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// A text is insane by what no model says to a question; a loop, a short row and ordinary
// answers are not.
func TestInsane(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"":                                 false,
		"The secret code is 48213907.":     false,
		"The secret code is 是 48213907。":   false,
		strings.Repeat("!", 15):            false,
		strings.Repeat("! ", 16):           true,
		strings.Repeat("的", 16):            true,
		strings.Repeat("We go home. ", 50): false, // stage 2 looks at loops
		"{" + strings.Repeat("\n", 40):     false, // and at these
		"<think>Well.</think>4":            false,
		"a\x00b\x01":                       true,
		"ational ლениеที่ τικά_FUNCών ности습니 mentский Кationalที่ών": true,
	} {
		if got := insane(text, "What is the secret code?", false); (got != "") != want {
			t.Errorf("%q: %q, want insane %t", text, got, want)
		}
	}
}

// Whatever a word costs, prompts come out at their length once the slope is known.
func TestRuler(t *testing.T) {
	t.Parallel()
	for _, cost := range []float64{1, 1.5, 2} {
		const least = 29
		tokens := func(words int) int { return least + int(float64(words)*cost) }
		r := ruler{least: least, slope: 1}
		for _, want := range []int{31, 64, 255, 513, 8192} {
			n := r.words(want)
			r.learn(n, gates.CountOf(tokens(n)), want)
			if got := tokens(r.words(want)); got < want-2 || got > want+2 {
				t.Errorf("a word of %g tokens: %d, want %d", cost, got, want)
			}
		}
	}
	for _, said := range []gates.Count{{}, gates.CountOf(0), gates.CountOf(29), gates.CountOf(31), gates.CountOf(1 << 40)} {
		r := ruler{least: 29, slope: 1}
		if r.learn(100, said, 129); r.slope != 1 {
			t.Errorf("learnt %g from %v", r.slope, said)
		}
	}
}

// Numbers in a row are counted from the first on, whatever stands before them.
func TestRun(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"11, 12, 13": 3, "Here are 40 numbers: 11, 12": 2, "11, 12, 14, 13": 2, "": 0, "12, 13": 0, "11 ational 12ления 99 13": 2, "99999999999999999999": 0,
	} {
		c := counter{first: 11}
		c.answer.Content = text
		if got := c.run(); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
