package gates

import (
	"fmt"
	"testing"
)

func TestForeignWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, prompt, want string }{
		{"The lamp is on the table.", "Where is the lamp?", "[]"},
		{"The лампа is on the table.", "Where is the lamp?", "[лампа]"},
		{"The lamp is 桌子 on the table.", "Where is the lamp?", "[桌子]"},
		{"The lamp is 桌 on the table.", "Where is the lamp?", "[]"}, // one letter
		{"The angle αβγ and π.", "Name the angle.", "[]"},
		{"ロボット", "何ですか", "[]"},
		{"로봇 robot", "What is 机器人 in Korean?", "[]"},
		{"лампа", "Translate lamp into Russian: привет", "[]"},
		{"The café is naïve.", "Where?", "[]"},
		{"مرحبا and สวัสดี", "Hello", "[مرحبا สวัสดี]"},
		{"", "", "[]"},
	} {
		if got := fmt.Sprint(foreignWords(c.text, c.prompt)); got != c.want {
			t.Errorf("%q over %q: %s, want %s", c.text, c.prompt, got, c.want)
		}
	}
}

func TestScriptTally(t *testing.T) {
	t.Parallel()
	var tally ScriptTally
	tally.Add("One two three.", "Count.")
	tally.Add("One два три.", "Count.")
	tally.Add("", "Count.")
	if want := (ScriptTally{Answers: 3, Words: 6, Foreign: 2, Odd: 1, Example: "два"}); tally != want {
		t.Errorf("got %+v, want %+v", tally, want)
	}
}
