package tokens

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// pieces is a vocabulary turned round: the bytes of each id. It is read from the
// file apart from the code under test.
func pieces(file []byte) map[uint32]string {
	var doc struct {
		Model struct{ Vocab map[string]uint32 }
		Added []struct {
			ID      uint32
			Content string
		} `json:"added_tokens"`
	}
	mustUnmarshal(file, &doc)
	out := make(map[uint32]string)
	for token, id := range doc.Model.Vocab {
		var b []byte
		for _, c := range token {
			switch { // the inverse of the spelling, written out
			case c >= 0x100 && c <= 0x120:
				b = append(b, byte(c-0x100))
			case c >= 0x121 && c <= 0x142:
				b = append(b, byte(c-0x121+0x7F))
			case c == 0x143:
				b = append(b, 0xAD)
			default:
				b = append(b, byte(c))
			}
		}
		out[id] = string(b)
	}
	for _, a := range doc.Added {
		out[a.ID] = a.Content
	}
	return out
}

func decode(t interface{ Fatalf(string, ...any) }, of map[uint32]string, ids []uint32) string {
	var b strings.Builder
	for _, id := range ids {
		p, ok := of[id]
		if !ok {
			t.Fatalf("id %d is not in the vocabulary", id)
		}
		b.WriteString(p)
	}
	return b.String()
}

// texts mixes any characters with the ones that tokenizers care about.
func texts() *rapid.Generator[string] {
	salt := rapid.SampledFrom([]string{
		" ", "  ", "\n", "\r\n", "\t", "'s", "'LL", "<|im_end|>", "<|im", "infbench", "err != nil",
		"123", "日本", "👍🏽", "e\u0301", "\u00a0", "\x00", "aaaa",
	})
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.OneOf(rapid.String(), salt), 0, 12).Draw(t, "parts")
		return strings.Join(parts, "")
	})
}

func TestIDsSpellTheText(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bytelevel", "llama3", "digits"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := mustRead("testdata/" + name + ".json")
			tok, of := mustParse(t, file), pieces(file)
			rapid.Check(t, func(t *rapid.T) {
				text := texts().Draw(t, "text")
				ids, err := tok.Encode(text)
				if err != nil {
					t.Fatal(err)
				}
				if got := decode(t, of, ids); got != text {
					t.Fatalf("ids spell %q, text is %q", got, text)
				}
				if n, err := tok.Count(text); err != nil || n != len(ids) {
					t.Fatalf("count %d (%v), %d ids", n, err, len(ids))
				}
			})
		})
	}
}

// With a cache or without, the ids of a word are the same.
func TestCacheKeepsIDs(t *testing.T) {
	t.Parallel()
	warm, err := parseBPE(mustRead("testdata/bytelevel.json"))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringN(1, 20, -1).Draw(t, "word")
		cold := merger{merges: warm.model.merges, bytes: warm.model.bytes}
		for range 2 {
			a, b := warm.model.append(nil, word), cold.append(nil, word)
			if !slices.Equal(a, b) {
				t.Fatalf("%q: warm %v, cold %v", word, a, b)
			}
		}
	})
}

// Composing by hand is what norm does, wherever norm stays within plain NFC.
func TestNFCByHand(t *testing.T) {
	t.Parallel()
	marks := rapid.SampledFrom([]rune("\u0301\u0308\u0363\u0323\u0327\u030a\u0345\u0f71\u0f72\u05b0\u3099\u1161\u11a8"))
	chars := rapid.OneOf(rapid.Rune(), marks, rapid.RuneFrom([]rune("aeouEO가각ᄀ\u1100か\u212b\u0344\u0958")))
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOfN(chars, 0, 25).Draw(t, "runes"))
		if manyMarks(text) || strings.ContainsFunc(text, newer) {
			t.Skip("where the two are meant to differ")
		}
		if got, want := composeNFC(decompose(text)), norm.NFC.String(text); got != want {
			t.Fatalf("%+q: got %+q, want %+q", text, got, want)
		}
	})
}

// Where order and blocking decide; the right-hand sides are from the standard (UAX #15).
func TestNFCBlocking(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"u\u0363\u0308":                      "u\u0363\u0308", // same class between: blocked
		"u\u0323\u0308":                      "\u1ee5\u0308",
		"a\u0308\u0323":                      "\u1ea1\u0308", // reordered, then joined
		"\u1100\u1161\u11a8":                 "\uac01",
		"\u0958":                             "\u0915\u093c", // excluded from composition
		"e" + strings.Repeat("\u0301", 40):   "\u00e9" + strings.Repeat("\u0301", 39),
		strings.Repeat("\u0344", 20) + "end": strings.Repeat("\u0308\u0301", 20) + "end",
	} {
		if got := composeNFC(decompose(in)); got != want {
			t.Errorf("%+q: got %+q, want %+q", in, got, want)
		}
		if got := nfc(in); got != want {
			t.Errorf("nfc(%+q) = %+q, want %+q", in, got, want)
		}
	}
}

// Marks that the reference does not know stay where they are written.
func TestNFCOfNewerMarks(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"\u1715\u0338", "a\u0898\u0323", "\U0001e08f\u0316", "\U00011938", "\U00011935\U00011930"} {
		if got := nfc(text); got != text {
			t.Errorf("%+q became %+q", text, got)
		}
	}
	if got := nfc("\U0001e08f e\u0301"); got != "\U0001e08f \u00e9" {
		t.Errorf("beside such a mark: %+q", got)
	}
}

// Joined back together, the pieces of every behavior but Removed are the text.
func TestBehaviorsKeepTheText(t *testing.T) {
	t.Parallel()
	for name, b := range behaviors {
		if b == removed {
			continue
		}
		find, err := pattern(`[\s\-]`, matchTimeout)
		if err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(t *rapid.T) {
			text := rapid.StringMatching(`[ab \-é]{0,20}`).Draw(t, "text")
			s := splitter{find: find, behavior: b, invert: rapid.Bool().Draw(t, "invert")}
			var got strings.Builder
			_ = s.split(text, func(p string) error { got.WriteString(p); return nil })
			if got.String() != text {
				t.Fatalf("%s: %q became %q", name, text, got.String())
			}
		})
	}
}

func FuzzEncode(f *testing.F) {
	for _, text := range readGolden().Texts {
		f.Add(text)
	}
	file := mustRead("testdata/llama3.json")
	tok, of := mustParse(f, file), pieces(file)
	f.Fuzz(func(t *testing.T, text string) {
		ids, err := tok.Encode(text)
		if errors.Is(err, ErrNotUTF8) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := decode(t, of, ids); got != text {
			t.Fatalf("ids spell %q, text is %q", got, text)
		}
	})
}

// FuzzLoad: a file is refused or gives a tokenizer whose ids its file names.
func FuzzLoad(f *testing.F) {
	small := mustRead("testdata/partial.json")
	f.Add(small)
	for _, c := range refusals {
		f.Add(change(small, map[string]json.RawMessage{c.at: json.RawMessage(c.value)}))
	}
	for _, s := range readGolden().Sets {
		s.Tokenizer = "partial.json"
		f.Add(s.file())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := parseBPE(data)
		if (b == nil) == (err == nil) {
			t.Fatalf("tokenizer %v with error %v", b, err)
		}
		if err != nil {
			return
		}
		ids, err := b.encode("The quick  <|im_end|> fox's 12 É\n日")
		if errors.Is(err, ErrTimeout) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		known := namedIDs(data)
		for _, id := range ids {
			if !known[id] {
				t.Fatalf("id %d is nowhere in the file", id)
			}
		}
	})
}

// namedIDs lists the ids that a file names.
func namedIDs(data []byte) map[uint32]bool {
	var doc struct {
		Model struct{ Vocab map[string]uint32 }
		Added []struct{ ID uint32 } `json:"added_tokens"`
	}
	mustUnmarshal(data, &doc)
	out := make(map[uint32]bool)
	for _, id := range doc.Model.Vocab {
		out[id] = true
	}
	for _, a := range doc.Added {
		out[a.ID] = true
	}
	return out
}
