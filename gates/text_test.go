package gates_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"infbench/gates"
)

func TestPrintable(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"empty", "", ""},
		{"plain", "plain text ~", "plain text ~"},
		{"letters of the world", "é 漢字 한국 мир 🙂 ½ √2", "é 漢字 한국 мир 🙂 ½ √2"},
		{"line ends and tab", "a\nb\r\nc\td", `a\nb\r\nc\td`},
		{"CSI: clear the screen", "\x1b[2J\x1b[1;31mred", `\u{1b}[2J\u{1b}[1;31mred`},
		{"OSC: set the title", "\x1b]0;owned\x07", `\u{1b}]0;owned\u{7}`},
		{"C1 CSI", "a\u009b31mb", `a\u{9b}31mb`},
		{"C1 byte", "a\x9b31mb", `a\x9b31mb`},
		{"NUL, DEL, backspace", "a\x00b\x7fc\bd", `a\u{0}b\u{7f}c\u{8}d`},
		{"bidi override", "user\u202egnp.exe\u202c", `user\u{202e}gnp.exe\u{202c}`},
		{"bidi isolate", "\u2066x\u2069", `\u{2066}x\u{2069}`},
		{"zero-width joiner and space", "a\u200db\u200bc\ufeff", `a\u{200d}b\u{200b}c\u{feff}`},
		{"soft hyphen", "co\u00adop", `co\u{ad}op`},
		{"line and paragraph separators", "a\u2028b\u2029c\u0085d", `a\u{2028}b\u{2029}c\u{85}d`},
		{"tag characters", "a\U000e0041b", `a\u{e0041}b`},
		{"variation selectors hide text", "a\ufe01\U000e0102b", `a\u{fe01}\u{e0102}b`},
		{"invisible fillers", "\u3164\u115f\u034f", `\u{3164}\u{115f}\u{34f}`},
		{"private use", "\ue000", `\u{e000}`},
		{"unassigned", "\U0010ffff", `\u{10ffff}`},
		{"broken UTF-8", "a\xffb\xe4\xb8", `a\xffb\xe4\xb8`},
		{"an encoded surrogate", "\xed\xa0\x80", `\xed\xa0\x80`},
		{"overlong NUL", "\xc0\x80", `\xc0\x80`},
		{"U+FFFD itself", "a\ufffdb", "a\ufffdb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := gates.Printable(tt.in, 0); got != tt.want {
				t.Errorf("Printable(%q, 0) = %s, want %s", tt.in, got, tt.want)
			}
		})
	}
}

func TestPrintableCutsTheMiddle(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   string
		max  int
		want string
	}{
		{"fits", "abcdef", 6, "abcdef"},
		{"fits in runes, not in bytes", "日本語日本語", 6, "日本語日本語"},
		{"one too many", "abcdefg", 6, "abc …(1 more)… efg"},
		{"odd limit keeps more of the head", "abcdefgh", 5, "abc …(3 more)… gh"},
		{"runes", "日本語日本語日", 4, "日本 …(3 more)… 語日"},
		{"broken bytes count one each", "\xff\xff\xff\xff\xffab", 4, `\xff\xff …(3 more)… ab`},
		{"limit of one", "abc", 1, "a …(2 more)… "},
		{"no limit", "abc", 0, "abc"},
		{"negative limit", "abc", -3, "abc"},
		{"a million", rep("x", 1_000_000), 10, "xxxxx …(999990 more)… xxxxx"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := gates.Printable(tt.in, tt.max); got != tt.want {
				t.Errorf("Printable(%.40q, %d) = %q, want %q", tt.in, tt.max, got, tt.want)
			}
		})
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	if got, want := gates.Quote("say \"hi\"\n", 0), `"say \"hi\"\n"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := gates.Quote(rep("q", 9), 4), `"qq …(5 more)… qq"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// unprintable returns the first rune of an output that a terminal or a page must
// not get, or an error text about it.
func unprintable(out string) string {
	if !utf8.ValidString(out) {
		return "broken UTF-8"
	}
	for _, r := range out {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Cs, unicode.Co, unicode.Zl, unicode.Zp) {
			return fmt.Sprintf("%U", r)
		}
	}
	return ""
}

// checkPrintable holds what is true of every output. An escape has at most ten
// characters, so a text cut at max has at most ten times as many and the mark.
func checkPrintable(t interface{ Errorf(string, ...any) }, in string, limit int) {
	out := gates.Printable(in, limit)
	if bad := unprintable(out); bad != "" {
		t.Errorf("Printable(%q, %d) = %q holds %s", in, limit, out, bad)
	}
	if mark := len(" …( more)… ") + 20; limit > 0 && utf8.RuneCountInString(out) > 10*limit+mark {
		t.Errorf("Printable(%q, %d) has %d characters", in, limit, utf8.RuneCountInString(out))
	}
	if whole := gates.Printable(in, 0); gates.Printable(whole, 0) != whole {
		t.Errorf("what is printable is escaped again: %q", whole)
	}
}

func TestPrintableProperties(t *testing.T) {
	t.Parallel()
	nasty := rapid.SampledFrom([]string{
		"\x1b[2J", "\x1b]8;;http://x\x07", "\x00", "\u202e", "\u200d", "\u2028", "\xff", "\xe4\xb8", "a", "漢", "🙂",
		"\n", "\u009b", "\ufe0f", "\U000e0001", "\U0010ffff",
	})
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.OneOf(
			rapid.String(),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.Map(rapid.SliceOf(nasty), func(s []string) string { return strings.Join(s, "") }),
		).Draw(t, "text")
		checkPrintable(t, in, rapid.IntRange(-1, 40).Draw(t, "limit"))
	})
}

func FuzzPrintable(f *testing.F) {
	f.Add("\x1b]0;t\x07\u202e\u2028\xff", 3)
	f.Add(rep("漢\xe4", 50), 7)
	f.Add("plain", 0)
	f.Fuzz(func(t *testing.T, in string, limit int) { checkPrintable(t, in, min(limit, 1<<20)) })
}
