package gates_test

import (
	"strings"
	"testing"

	"infbench/gates"
)

// says returns "hard", "soft" or "" for one detector.
func says(id, text string, in gates.TextContext) string {
	for _, s := range gates.Degenerate(text, in) {
		if s.ID != id {
			continue
		}
		if s.Hard {
			return "hard"
		}
		return "soft"
	}
	return ""
}

func rep(s string, n int) string { return strings.Repeat(s, n) }

// glued is a text of the given number of letters in which Latin and Cyrillic letters
// meet without a separator the given number of times.
func glued(events, letters int) string {
	var b strings.Builder
	for range events {
		b.WriteString("aб ")
	}
	return b.String() + rep("c", letters-2*events)
}

func TestDetectorLimits(t *testing.T) {
	t.Parallel()
	cut, ended := gates.TextContext{CutShort: true}, gates.TextContext{}
	unit25 := "one two three four five. "     // 25 characters
	unit30 := "one two three four five six 7" // 29
	fourScripts := "alpha бета مدينة שלום "
	tests := []struct {
		name string
		id   string
		text string
		in   gates.TextContext
		want string
	}{
		{"8 repeats, 200 characters, cut", "D1", rep(unit25, 8) + "o", cut, "hard"},
		{"8 repeats, 200 characters, ended", "D1", rep(unit25, 8) + "o", ended, "soft"},
		{"7 repeats, 203 characters", "D1", rep(unit30, 7), cut, ""},
		{"8 repeats, 198 characters", "D1", rep(unit25, 8)[2:], cut, ""},
		{"loop is half of the text", "D1", strings.ReplaceAll(prose[:200], "o", "0") + rep(unit25, 8) + "o", cut, "hard"},
		{"loop is less than half of the text", "D1", strings.ReplaceAll(prose[:320], "o", "0") + rep(unit25, 8) + "o", cut, ""},
		{"period 400", "D1", rep(prose[:399]+"\n", 8) + "The", cut, "hard"},
		{"period 401", "D1", rep(prose[:400]+"\n", 8) + "The", cut, ""},
		{"a loop far behind the start of a long text", "D1", rep(prose, 100) + rep(unit25, 400), cut, "hard"},
		{"spaces are collapsed", "D1", rep("a b c d e f g   h ", 20) + rep("a b  c d e f g h ", 20), cut, "hard"},
		{"blanks behind the loop", "D1", rep(unit25, 20) + "\n\n\t ", cut, "hard"},
		{"a ruled line", "D1", "Results\n" + rep("-", 300), cut, ""},
		{"a ruled line of zeros", "D1", rep("0", 300), cut, ""},
		{"a rule that never ends", "D1", rep("-", 1100), cut, "hard"},
		{"a table's ruled line", "D1", rep("+------", 60), cut, ""},
		{"the same token of three letters", "D1", rep("the", 70), cut, "hard"},
		{"period of two without letters", "D1", rep("!?", 100), cut, "hard"},

		{"63 in a row", "D2", rep("!", 63), ended, ""},
		{"64 in a row", "D2", rep("!", 64), ended, "soft"},
		{"127 in a row", "D2", "x" + rep("G", 127) + "x", ended, "soft"},
		{"128 in a row, in the middle", "D2", "x" + rep("G", 128) + "x", ended, "hard"},
		{"a row of a rule character", "D2", rep("=", 400), ended, ""},
		{"a row of box drawing", "D2", rep("─", 400), ended, ""},
		{"a row of blanks", "D2", "x" + rep(" ", 400) + "x", ended, ""},
		{"a row of an ideograph", "D2", rep("的", 128), ended, "hard"},

		{"compression supports a hard sign", "D3", rep("G", 4096), ended, "soft"},
		{"compression below 1,024 characters", "D3", rep("G", 1023), ended, ""},
		{"compression never stands alone", "D3", rep("=", 4096), ended, ""},

		{"4 glued in 400 letters", "D4", glued(4, 400), ended, "hard"},
		{"4 glued in 401 letters", "D4", glued(4, 401), ended, ""},
		{"3 glued in 30 letters", "D4", glued(3, 30), ended, ""},
		{"glued, but several languages were asked for", "D4", glued(40, 400), gates.TextContext{Multilingual: true}, ""},
		{"Latin beside Greek", "D4", rep("kΩ ", 50), ended, ""},
		{"Latin beside the micro sign", "D4", rep("12µs ", 50), ended, ""},
		{"Latin beside Han and Kana", "D4", rep("APIを使うGPU的 ", 50), ended, ""},
		{"Cyrillic beside Han", "D4", rep("да的", 50), ended, ""},
		{"Korean endings", "D4", rep("API를 ", 50), ended, ""},
		{"Hebrew prefixes", "D4", rep("הAPI ", 50), ended, ""},
		{"Thai writes no blanks", "D4", rep("ใช้APIได้ ", 50), ended, ""},
		{"written-out line breaks", "D4", rep(`\nПривет`, 50), ended, ""},
		{"an escaped backslash is no escape", "D4", rep(`\\nПривет `, 50), ended, "hard"},
		{"combining marks do not separate", "D4", rep("a\u0301б ", 50), ended, "hard"},

		{"four scripts in turn", "D5", rep(fourScripts, 25), ended, "hard"},
		{"four scripts in turn, 511 characters", "D5", string([]rune(rep(fourScripts, 25))[:511]), ended, ""},
		{"four scripts in turn, 512 characters", "D5", string([]rune(rep(fourScripts, 25))[:512]), ended, "hard"},
		{"four scripts were asked for", "D5", rep(fourScripts, 25), gates.TextContext{Multilingual: true}, ""},
		{"three scripts in turn", "D5", rep("alpha бета مدينة ", 40), ended, ""},
		{"four scripts, one after the other", "D5", rep("alpha ", 50) + rep("бета ", 50) + rep("مدينة ", 50) + rep("שלום ", 50), ended, ""},

		{"no broken character", "D6", "fine é 漢", ended, ""},
		{"1 broken character", "D6", "a\ufffdb", ended, "soft"},
		{"2 broken characters, one of them bytes", "D6", "a\ufffdb\xffc", ended, "soft"},
		{"3 broken characters, two of them bytes", "D6", "a\ufffdb\xe4\xb8c", ended, "hard"},

		{"tab, line feed, return, form feed", "D7", "a\tb\nc\rd\fe", ended, ""},
		{"1 control character", "D7", "a\x1bb", ended, "soft"},
		{"1 NUL", "D7", "a\x00b", ended, "hard"},
		{"2 control characters, C0 and C1", "D7", "a\x07b\u009bc", ended, "hard"},
		{"DEL twice", "D7", "\x7f\x7f", ended, "hard"},

		{"2 characters decoded twice", "D8", "cafÃ© and thÃ©", ended, ""},
		{"3 characters decoded twice", "D8", "cafÃ© and thÃ© or dÃ©jeuner", ended, "hard"},
		{"decoded twice as Windows-1252", "D8", "â€œItâ€™sâ€\u009d", ended, "hard"},
		{"one run without ASCII", "D8", misread("红砖的外墙上爬满了常春藤"), ended, "hard"},
		{"one run that the token limit cut", "D8", misread("红砖的外墙上爬满了常春藤")[:55], ended, "hard"},
		{"ordinary accents", "D8", rep("déjà vu à l'été, Größe, ÄÖÜ, naïve, señor ", 9), ended, ""},
		{"sharp s before a closing quote", "D8", "„groß“, „Spaß“, „weiß“, „heiß“, Fuß– Gruß…", ended, ""},

		{"15 line breaks", "D9", "x" + rep("\n", 15), cut, ""},
		{"16 line breaks", "D9", "x" + rep("\n", 16), cut, "hard"},
		{"399 blanks", "D9", "x" + rep(" ", 399), cut, ""},
		{"400 blanks", "D9", "x" + rep("\t", 400), cut, "hard"},
		{"150 wide blanks are 150", "D9", "x" + rep("\u3000", 150), cut, ""},
		{"blanks of a text that ended by itself", "D9", "x" + rep("\n", 900), ended, ""},

		{"marker in content", "D10", "The answer is 4.<|im_end|>", ended, "hard"},
		{"marker in a code span", "D10", "The tag `</think>` ends it.", ended, "soft"},
		{"marker in a fenced block", "D10", "So:\n```xml\n<tool_call>\n```\n", ended, "soft"},
		{"marker in a code span and outside", "D10", "The tag `</think>` ends it.</think>", ended, "hard"},
		{"one marker in a code span, another outside", "D10", "`<|im_start|>` opens it.</s>", ended, "hard"},
		{"marker that the prompt held", "D10", "It is <|im_end|>.", gates.TextContext{Prompt: "What does <|im_end|> mean?"}, ""},
		{"another marker than the prompt held", "D10", "It is <|im_end|>.<|im_start|>", gates.TextContext{Prompt: "What does <|im_end|> mean?"}, "hard"},
		{"byte token of a line feed", "D10", "one<0x0A>two", ended, "hard"},
		{"byte token of another byte", "D10", "one<0xE4><0xB8><0x80>two", ended, "hard"},
		{"a hexadecimal comparison", "D10", "if x <0x10 && y > 3", ended, ""},
		{"BPE blanks", "D10", "TheĠcatĠsatĠonĠit.", ended, "hard"},
		{"SentencePiece blanks in Chinese", "D10", "我们▁因此▁数据▁不", ended, "hard"},
		{"Maltese", "D10", "Il-Ġimgħa Ġorġ, Ġużeppi u Ġwanni marru; l-ĠENERALI, ĠIMGĦA", ended, ""},
		{"bar chart", "D10", "load ▁▂▃▄▅▆▇█ ▁▁▂ cpu ▁a ▁b ▁c", ended, ""},
	}
	for _, tt := range tests {
		t.Run(tt.id+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			if got := says(tt.id, tt.text, tt.in); got != tt.want {
				t.Errorf("%s says %q, want %q\nall: %v", tt.id, got, tt.want, gates.Degenerate(tt.text, tt.in))
			}
		})
	}
}

func TestDegenerateOrderAndText(t *testing.T) {
	t.Parallel()
	if got := gates.Degenerate("", gates.TextContext{CutShort: true}); got != nil {
		t.Errorf("empty text has %v, want nothing", got)
	}
	// A soft marker and a hard run: the hard one comes first.
	got := gates.Degenerate("`<s>` "+rep("G", 200)+"\x1b", gates.TextContext{})
	if len(got) < 3 || got[0].ID != "D2" || !got[0].Hard || got[1].Hard {
		t.Errorf("symptoms %v, want the hard D2 first and soft ones behind it", got)
	}
	if want := `"G" 200 times in a row`; got[0].Detail != want {
		t.Errorf("detail %q, want %q", got[0].Detail, want)
	}
	loop := gates.Degenerate(rep("Ja \x1b. ", 100), gates.TextContext{CutShort: true})
	for _, s := range loop {
		if strings.ContainsAny(s.Detail, "\x1b\n") {
			t.Errorf("%s quotes raw control characters: %q", s.ID, s.Detail)
		}
	}
}

func FuzzDegenerate(f *testing.F) {
	f.Add("<|im_end|>", "", true)
	f.Add(rep("a\xff", 300), "a", false)
	f.Add(misread("红砖的外墙")+"\xc3", "", true)
	f.Add(rep("\u3000\n", 900), "", true)
	f.Fuzz(func(t *testing.T, text, prompt string, cut bool) {
		softSeen := false
		for _, s := range gates.Degenerate(text, gates.TextContext{Prompt: prompt, CutShort: cut}) {
			if s.ID == "" || s.Detail == "" {
				t.Errorf("a symptom without name or detail: %+v", s)
			}
			if s.Detail != gates.Printable(s.Detail, 0) {
				t.Errorf("%s is not printable: %q", s.ID, s.Detail)
			}
			if softSeen && s.Hard {
				t.Errorf("%s is hard and stands behind a soft symptom", s.ID)
			}
			softSeen = softSeen || !s.Hard
		}
	})
}
