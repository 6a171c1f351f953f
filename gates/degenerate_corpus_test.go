package gates_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"infbench/gates"
)

// windowSizes are the lengths, in characters, at which the detectors are measured.
var windowSizes = []int{256, 1024, 4096}

// window is a piece of text of which is known whether it is garbage, and of which kind.
type window struct {
	from string // the file, or the kind of garbage
	text string
}

// legitimateWindows returns the windows of a size, each a quarter further, over the corpus.
func legitimateWindows(t testing.TB, size int) []window {
	t.Helper()
	var out []window
	for name, text := range legitimateTexts(t) {
		r := []rune(text)
		for i := 0; i+size <= len(r); i += size / 4 {
			out = append(out, window{name, string(r[i : i+size])})
		}
	}
	if len(out) < 50 {
		t.Fatalf("only %d legitimate windows of %d characters", len(out), size)
	}
	return out
}

func legitimateTexts(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/legitimate/*")
	if err != nil || len(files) < 30 {
		t.Fatalf("the corpus has %d files (%v), want at least 30", len(files), err)
	}
	out := map[string]string{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(f)] = string(b)
	}
	return out
}

// A kind of garbage. make returns one text of at least n characters, which ends in
// the garbage; least is the recall that the hard detectors together must reach from
// the size from on.
type garbageKind struct {
	name     string
	detector []string // those meant to catch it
	cutShort bool
	from     int
	least    float64
	make     func(r *rand.Rand, n int) string
}

const prose = "The harbour wakes early. Long before the sun is up the first boats cross the dark water, and the men on the quay " +
	"stamp their feet and count the boxes of ice. A price is called, a hand goes up, and the morning has begun. Nobody hurries, " +
	"because the tide does not; but nobody stands still either. By nine the market is empty, the floor is washed, and two cats " +
	"divide what was left over. Then the town begins its other life, with shutters, bread, and the sound of a school bell. "

var sentences = []string{
	"The answer depends on the temperature of the water. ",
	"I am sorry, but I cannot help with that request. ",
	"In conclusion, the model is able to answer the question. ",
	"Der Zug nach Hamburg hat heute leider etwas Verspätung. ",
	"Это предложение повторяется снова и снова без конца. ",
	"今日は天気がいいので、川沿いを長く散歩しようと思います。",
	"return nil, fmt.Errorf(\"open %s: %w\", path, err)\n",
	"Let me think about this step by step before I answer it. ",
}

// lead returns up to share of n characters of prose, and so where the decay begins.
func lead(r *rand.Rand, n int, share float64) string {
	return strings.Repeat(prose, 1+n/len(prose))[:r.IntN(1+int(share*float64(n)))]
}

// loop returns lead and then unit until n characters are full.
func loop(r *rand.Rand, n int, share float64, unit string) string {
	out := lead(r, n, share)
	return out + strings.Repeat(unit, 1+(n-utf8.RuneCountInString(out))/utf8.RuneCountInString(unit))
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// saladTokens are pieces of a vocabulary, by script, with the weight of the script.
var saladTokens = []struct {
	weight int
	tokens []string
}{
	{50, strings.Fields("ing the ation pre )); Config await ible ous http der <div> ment _id schen tion ality = return qu Wort eau 's 403 que")},
	{20, strings.Fields("的 我们 因此 数据 不 城市 開発 経済 这个 体育 官方 下载 問題")},
	{9, strings.Fields("ов ение при Москва что лись ском перед")},
	{6, strings.Fields("ال في من على كان مدينة")},
	{5, strings.Fields("는 하고 서울 습니다 에서")},
	{4, strings.Fields("の です カード から ました")},
	{2, strings.Fields("การ ที่ ไทย")},
	{2, strings.Fields("של את ים")},
	{2, strings.Fields("के में नमस्ते")},
}

func salad(r *rand.Rand, n int, spaced float64) string {
	var b strings.Builder
	for count := 0; count < n; {
		at := r.IntN(100)
		for _, s := range saladTokens {
			if at -= s.weight; at < 0 {
				tok := pick(r, s.tokens)
				if r.Float64() < spaced {
					tok = " " + tok
				}
				b.WriteString(tok)
				count += utf8.RuneCountInString(tok)
				break
			}
		}
	}
	return b.String()
}

// misread returns the bytes of a text read as Latin-1.
func misread(s string) string {
	r := make([]rune, len(s))
	for i := range len(s) {
		r[i] = rune(s[i])
	}
	return string(r)
}

// misread1252 returns the bytes of a text read as Windows-1252.
func misread1252(s string) string {
	const high = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ"
	table := []rune(high)
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c >= 0x80 && c < 0xa0 {
			b.WriteRune(table[c-0x80])
		} else {
			b.WriteRune(rune(c))
		}
	}
	return b.String()
}

var accented = []string{
	"Où étaient passés les élèves ? L'école était fermée depuis Noël, et la cour, déserte, ne servait plus qu'aux pigeons. ",
	"Der Müller ließ die Mühle stehen, ging über die Brücke und grüßte die Gänse, die im hohen Gras schliefen. ",
	"Старый маяк стоял на самом краю мыса, там, где скалы обрываются прямо в море. ",
	"港の朝は早い。まだ空が暗いうちから、船のエンジンの音が静かな水面に響きはじめる。",
	"城里的老图书馆建于一百多年前，红砖的外墙上爬满了常春藤。每天早上八点，管理员打开沉重的木门。",
	"في المدينة القديمة سوق صغير لا يعرفه كثير من الزوار. ",
	"“It’s late,” she said — “and we’re tired…” He didn’t answer; he’d left. ",
}

// sprinkle puts bits at random places of prose, about one in every 100 characters.
func sprinkle(r *rand.Rand, n int, bits ...string) string {
	var b strings.Builder
	text := strings.Repeat(prose, 1+n/len(prose))[:n]
	for i := 0; i < n; i += 50 {
		end := min(n, i+50)
		at := i + r.IntN(end-i)
		b.WriteString(text[i:at])
		if i%100 == 0 {
			b.WriteString(pick(r, bits))
		}
		b.WriteString(text[at:end])
	}
	return b.String()
}

var garbage = []garbageKind{
	{"one token", []string{"D1", "D2"}, true, 1024, 1, func(r *rand.Rand, n int) string {
		return loop(r, n, 0, pick(r, []string{"!", "G", " the", "的", "0,", "-", "\n-", "…", "<pad", " and and"}))
	}},
	{"token loop", []string{"D1"}, true, 1024, 1, func(r *rand.Rand, n int) string {
		unit := ""
		for range 2 + r.IntN(5) {
			unit += pick(r, saladTokens[0].tokens) + pick(r, []string{"", " "})
		}
		return loop(r, n, .3, unit+"x")
	}},
	{"cell loop", []string{"D1"}, true, 1024, 1, func(r *rand.Rand, n int) string {
		return loop(r, n, .3, pick(r, []string{"| yes ", "| 0.0 ", "| n/a | n/a |\n", "| alpha | 17 | ok |\n", "<td></td>", "0x00, "}))
	}},
	{"sentence loop", []string{"D1"}, true, 1024, 1, func(r *rand.Rand, n int) string { return loop(r, n, .2, pick(r, sentences)) }},
	{"paragraph loop", []string{"D1"}, true, 4096, 1, func(r *rand.Rand, n int) string {
		return loop(r, n, .15, prose[:300+r.IntN(100)]+"\n")
	}},
	{"glued salad", []string{"D4", "D5"}, false, 1024, .93, func(r *rand.Rand, n int) string { return salad(r, n, .3) }},
	{"spaced salad", []string{"D4", "D5"}, false, 1024, .93, func(r *rand.Rand, n int) string { return salad(r, n, .9) }},
	{"mojibake", []string{"D8"}, false, 1024, 1, func(r *rand.Rand, n int) string {
		s := pick(r, accented)
		return pick(r, []func(string) string{misread, misread1252})(strings.Repeat(s, 1+n/utf8.RuneCountInString(s)))
	}},
	{"U+FFFD", []string{"D6"}, false, 1024, 1, func(r *rand.Rand, n int) string { return sprinkle(r, n, "\ufffd", "\ufffd\ufffd", "\xe4\xb8") }},
	{"control bytes", []string{"D7"}, false, 1024, 1, func(r *rand.Rand, n int) string {
		return sprinkle(r, n, "\x00", "\x01", "\x1b[2J", "\x7f", "\u0085", "\b")
	}},
	{"whitespace tail", []string{"D9"}, true, 1024, 1, func(r *rand.Rand, n int) string {
		return loop(r, n, .5, pick(r, []string{"\n", " ", "\t", " \n", "\u3000"}))
	}},
	{"leaked marker", []string{"D10"}, false, 1024, 1, func(r *rand.Rand, n int) string {
		m := pick(r, []string{"<|im_end|>", "<|eot_id|>", "</think>", "<tool_call>", "<｜tool▁calls▁begin｜>", "<0x0A>", "<0xE4>", "[TOOL_CALLS]", "<end_of_turn>", "BPE"})
		text := strings.Repeat(prose, 1+n/len(prose))[:n]
		if m == "BPE" {
			return strings.ReplaceAll(text, " ", pick(r, []string{"Ġ", "▁"}))
		}
		at := r.IntN(n + 1 - utf8.RuneCountInString(m))
		return text[:at] + m + text[at:]
	}},
}

// garbageWindows returns many windows of one kind; equal seeds give equal windows.
func garbageWindows(k garbageKind, size, many int) []window {
	r := rand.New(rand.NewPCG(uint64(size), uint64(len(k.name))<<8|uint64(k.name[0])))
	out := make([]window, many)
	for i := range out {
		text := []rune(k.make(r, size))
		if !utf8.ValidString(k.make(r, 64)) || k.name == "U+FFFD" {
			out[i] = window{k.name, k.make(r, size)} // []rune would mend the broken bytes
			continue
		}
		// Loops are cut at the end, as the token limit cuts them.
		out[i] = window{k.name, string(text[:size])}
	}
	return out
}

// hard returns the ids of the hard symptoms.
func hard(text string, in gates.TextContext) []string {
	var out []string
	for _, s := range gates.Degenerate(text, in) {
		if s.Hard && !slices.Contains(out, s.ID) {
			out = append(out, s.ID)
		}
	}
	return out
}

// TestDetectorsOnCorpus measures every detector on legitimate text and on garbage.
// docs/decisions/0006-degenerate-text.md holds the table that it logs.
func TestDetectorsOnCorpus(t *testing.T) {
	t.Parallel()
	const many = 100
	detectors := []string{"D1", "D2", "D4", "D5", "D6", "D7", "D8", "D9", "D10"}
	type tally struct{ alarms, meant, caught int }
	var b strings.Builder
	fmt.Fprintf(&b, "\n| detector | characters | legitimate windows | false alarms | garbage meant for it | caught | precision | recall |\n|---|---|---|---|---|---|---|---|\n")
	var kinds strings.Builder
	fmt.Fprintf(&kinds, "\n| garbage | %s |\n|---|---|---|---|\n", "recall at 256 | at 1,024 | at 4,096")
	perKind := map[string][]string{}
	for _, size := range windowSizes {
		count := map[string]*tally{}
		for _, d := range detectors {
			count[d] = &tally{}
		}
		legit := legitimateWindows(t, size)
		for _, w := range legit {
			for _, id := range hard(w.text, gates.TextContext{}) {
				count[id].alarms++
				if size >= 512 {
					t.Errorf("%s fires on legitimate %s at %d characters: %v", id, w.from, size, gates.Degenerate(w.text, gates.TextContext{}))
				}
			}
		}
		for _, k := range garbage {
			caught := 0
			for _, w := range garbageWindows(k, size, many) {
				ids := hard(w.text, gates.TextContext{CutShort: k.cutShort})
				if len(ids) > 0 {
					caught++
				}
				for _, d := range k.detector {
					count[d].meant++
					if slices.Contains(ids, d) {
						count[d].caught++
					}
				}
			}
			recall := float64(caught) / many
			perKind[k.name] = append(perKind[k.name], fmt.Sprintf("%.2f", recall))
			if size >= k.from && recall < k.least {
				t.Errorf("%s at %d characters: recall %.2f, want at least %.2f", k.name, size, recall, k.least)
			}
		}
		for _, d := range detectors {
			c := count[d]
			precision := "–"
			if c.caught+c.alarms > 0 {
				precision = fmt.Sprintf("%.2f", float64(c.caught)/float64(c.caught+c.alarms))
			}
			fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %s | %.2f |\n", d, size, len(legit), c.alarms, c.meant, c.caught, precision, float64(c.caught)/float64(c.meant))
		}
	}
	for _, k := range garbage {
		fmt.Fprintf(&kinds, "| %s | %s |\n", k.name, strings.Join(perKind[k.name], " | "))
	}
	t.Log(b.String())
	t.Log(kinds.String())
}

// TestLegitimateTextCutShort holds the same windows against the stricter reading of
// a text that ended at the token limit: only the zero table, in which every line is
// the same, may then look like a loop.
func TestLegitimateTextCutShort(t *testing.T) {
	t.Parallel()
	for _, size := range []int{512, 1024, 2048, 4096} {
		for _, w := range legitimateWindows(t, size) {
			if ids := hard(w.text, gates.TextContext{CutShort: true}); len(ids) > 0 && w.from != "zero_table.txt" {
				t.Errorf("%v fires on legitimate %s at %d characters: %v", ids, w.from, size, gates.Degenerate(w.text, gates.TextContext{CutShort: true}))
			}
		}
	}
	for name, text := range legitimateTexts(t) {
		if s := gates.Degenerate(text, gates.TextContext{}); len(s) > 0 && s[0].Hard {
			t.Errorf("the whole of %s is called degenerate: %v", name, s)
		}
	}
}

// TestDetectorsAreBlindToFluentNonsense records what they cannot do: known answers
// decide, these only support.
func TestDetectorsAreBlindToFluentNonsense(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	words, dots, count := strings.Fields(prose), "", ""
	var random []string
	for i := range 300 {
		random = append(random, pick(r, words))
		dots += pick(r, []string{".", ",", ";", ":", "?!", " - ", "("})
		count += fmt.Sprintf("Step %d: done. ", i)
	}
	for name, text := range map[string]string{"random words": strings.Join(random, " "), "punctuation": dots, "counting": count} {
		if s := hard(text, gates.TextContext{CutShort: true}); len(s) > 0 {
			t.Errorf("%s: %v; good news, but the pages say that it is not caught", name, s)
		}
	}
}

func BenchmarkDegenerate(b *testing.B) {
	texts := map[string]string{
		"prose":    strings.Repeat(prose, 9)[:4096],
		"loop":     strings.Repeat(sentences[0], 80)[:4096],
		"rule":     strings.Repeat("-", 4096),
		"japanese": string([]rune(strings.Repeat(sentences[5], 150))[:4096]),
		"salad":    salad(rand.New(rand.NewPCG(3, 4)), 4096, .5),
	}
	for name, text := range texts {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				gates.Degenerate(text, gates.TextContext{CutShort: true})
			}
		})
	}
}
