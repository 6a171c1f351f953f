package tokens

import (
	"strings"
	"testing"
)

// corpus is some 600 kB of code, prose and scripts, so that caches are met as in use.
func corpus(tb testing.TB) string {
	tb.Helper()
	one := strings.Join(readGolden().Texts, "\n") + string(mustRead("testdata/make.py")) +
		string(mustRead("merge.go")) + string(mustRead("parse_steps.go"))
	one = strings.ReplaceAll(one, "\x00", "") // the Rust side refuses it
	return strings.Repeat(one, 600_000/len(one)+1)
}

func BenchmarkEncode(b *testing.B) {
	text := corpus(b)
	b.Run("llama3", func(b *testing.B) {
		encodeMany(b, mustParse(b, mustRead(cachedFile(b, llama3File))), text)
	})
	b.Run("small", func(b *testing.B) {
		encodeMany(b, mustParse(b, mustRead("testdata/bytelevel.json")), text)
	})
}

func encodeMany(b *testing.B, tok Tokenizer, text string) {
	b.Helper()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tok.Count(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkShort(b *testing.B) {
	encodeMany(b, mustParse(b, mustRead("testdata/llama3.json")), "What is 17 + 25? Answer with the number only.")
}

// One word of 100,000 letters: n log n, not n².
func BenchmarkOneLetter(b *testing.B) {
	encodeMany(b, mustParse(b, mustRead("testdata/bytelevel.json")), strings.Repeat("a", 100_000))
}

func BenchmarkLoad(b *testing.B) {
	path := cachedFile(b, llama3File)
	for b.Loop() {
		if _, err := Load(path); err != nil {
			b.Fatal(err)
		}
	}
}
