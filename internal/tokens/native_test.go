//go:build cgo && hftokenizers

package tokens

import (
	"encoding/json"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func mustNative(tb testing.TB, file []byte) Tokenizer {
	tb.Helper()
	n, err := newNative(file)
	if err != nil {
		tb.Fatal(err)
	}
	return Tokenizer{enc: n}
}

// Both implementations give the same ids over the corpus, for every tokenizer.
func TestConformance(t *testing.T) {
	t.Parallel()
	g := readGolden()
	for _, set := range g.Sets {
		t.Run(set.Name, func(t *testing.T) {
			t.Parallel()
			file := set.file()
			conform(t, mustParse(t, file), mustNative(t, file), g.Texts)
		})
	}
	for _, m := range g.Shipped {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			file := mustRead(cachedFile(t, m.Name))
			conform(t, mustParse(t, file), mustNative(t, file), g.Texts)
		})
	}
}

// Random texts, beyond those that someone thought of.
func TestConformanceRandom(t *testing.T) {
	t.Parallel()
	for _, set := range readGolden().Sets {
		t.Run(set.Name, func(t *testing.T) {
			t.Parallel()
			pure, rust := mustParse(t, set.file()), mustNative(t, set.file())
			rapid.Check(t, func(t *rapid.T) {
				text := strings.ReplaceAll(texts().Draw(t, "text"), "\x00", "")
				a, errA := pure.Encode(text)
				b, errB := rust.Encode(text)
				if !errors.Is(errB, errA) || !slices.Equal(a, b) {
					t.Fatalf("%q: go %v (%v), rust %v (%v)", text, a, errA, b, errB)
				}
			})
		})
	}
}

func conform(t *testing.T, pure, rust Tokenizer, texts []string) {
	t.Helper()
	compared := 0
	for _, text := range texts {
		if strings.Contains(text, "\x00") {
			if _, err := rust.Encode(text); !errors.Is(err, ErrNUL) {
				t.Errorf("%q: %v, want ErrNUL", text, err)
			}
			continue
		}
		a, errA := pure.Encode(text)
		b, errB := rust.Encode(text)
		if !errors.Is(errB, errA) {
			t.Errorf("%q: %v and %v", text, errA, errB)
		}
		if diff := cmp.Diff(b, a); diff != "" {
			t.Errorf("%q: -rust +go\n%s", text, diff)
		}
		compared++
	}
	if compared < 100 {
		t.Errorf("only %d texts compared", compared)
	}
}

// What the Go tokenizer refuses as unsupported goes to the Rust one.
func TestNativeTakesTheRest(t *testing.T) {
	t.Parallel()
	tok, err := Load(cachedFile(t, "bert-base-uncased.json"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tok.Impl(), "daulet/1.24.0"; got != want {
		t.Errorf("impl %q, want %q", got, want)
	}
	// bert-base-uncased: hello 7592, "," 1010, world 2088, and no [CLS], [SEP].
	ids, err := tok.Encode("Hello, world")
	if diff := cmp.Diff([]uint32{7592, 1010, 2088}, ids); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestNativeRefuses(t *testing.T) {
	t.Parallel()
	base := mustRead("testdata/bytelevel.json")
	broken := change(base, map[string]json.RawMessage{"pre_tokenizer": json.RawMessage(`{"type":"NoSuch"}`)})
	if _, err := fromBytes(broken); !errors.Is(err, ErrUnsupported) {
		t.Errorf("unknown to both: %v", err)
	}
	if n, err := mustNative(t, base).Count("ab\x00cd"); !errors.Is(err, ErrNUL) || n != 0 {
		t.Errorf("NUL: %d, %v", n, err)
	}
}

// The count is of the whole text, whatever the file says about lengths.
func TestNativeIgnoresTruncation(t *testing.T) {
	t.Parallel()
	base := mustRead("testdata/bytelevel.json")
	cut := change(base, map[string]json.RawMessage{
		"truncation": json.RawMessage(`{"direction":"Right","max_length":3,"strategy":"LongestFirst","stride":0}`),
		"padding": json.RawMessage(`{"strategy":{"Fixed":9},"direction":"Right","pad_to_multiple_of":null,"pad_id":0,
			"pad_type_id":0,"pad_token":"<|endoftext|>"}`),
	})
	text := strings.Repeat("many words ", 20)
	want, err := mustParse(t, base).Count(text)
	if err != nil {
		t.Fatal(err)
	}
	for name, tok := range map[string]Tokenizer{"go": mustParse(t, cut), "rust": mustNative(t, cut)} {
		if got, err := tok.Count(text); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", name, got, err, want)
		}
		if n, err := tok.Count("a"); err != nil || n != 1 {
			t.Errorf("%s: one letter is %d tokens, %v", name, n, err)
		}
	}
}

func TestNativeVersion(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", daulet).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(out)); got != "v"+nativeVersion {
		t.Errorf("go.mod has %s, the name says %s", got, nativeVersion)
	}
}

func BenchmarkNative(b *testing.B) {
	encodeMany(b, mustNative(b, mustRead(cachedFile(b, llama3File))), corpus(b))
}

func BenchmarkNativeShort(b *testing.B) {
	encodeMany(b, mustNative(b, mustRead("testdata/llama3.json")), "What is 17 + 25? Answer with the number only.")
}
