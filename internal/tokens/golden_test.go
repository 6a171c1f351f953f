package tokens

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// golden holds ids made by the Python package; testdata/make.py writes it.
type golden struct {
	MadeWith string `json:"made_with"`
	Texts    []string
	Sets     []goldenSet
	Long     []struct {
		Unit   string
		Times  int
		Count  int
		SHA256 string
	}
	// Shipped are real models in the module cache, known by their hash.
	Shipped []struct {
		Name   string
		SHA256 string
		IDs    [][]uint32
	}
}

// goldenSet is a tokenizer file with some of its fields changed ("model.x" is nested).
type goldenSet struct {
	Name      string
	Tokenizer string
	Changes   map[string]json.RawMessage
	IDs       [][]uint32
	// Words says for each text where its words end, in characters; only some sets have it.
	Words [][]int
}

var readGolden = sync.OnceValue(func() golden {
	var g golden
	mustUnmarshal(mustRead("testdata/golden.json"), &g)
	return g
})

func mustRead(path string) []byte {
	b, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	return b
}

func mustUnmarshal(b []byte, v any) {
	if err := json.Unmarshal(b, v); err != nil {
		panic(err)
	}
}

// file returns the tokenizer.json of the set.
func (s goldenSet) file() []byte {
	return change(mustRead(filepath.Join("testdata", s.Tokenizer)), s.Changes)
}

func change(doc []byte, changes map[string]json.RawMessage) []byte {
	var top, model map[string]json.RawMessage
	mustUnmarshal(doc, &top)
	mustUnmarshal(top["model"], &model)
	for key, v := range changes {
		if k, nested := strings.CutPrefix(key, "model."); nested {
			model[k] = v
		} else {
			top[key] = v
		}
	}
	if _, whole := changes["model"]; !whole {
		top["model"] = mustMarshal(model)
	}
	return mustMarshal(top)
}

func mustMarshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func mustParse(tb testing.TB, file []byte) Tokenizer {
	tb.Helper()
	tok, err := fromBytes(file)
	if err != nil {
		tb.Fatal(err)
	}
	return tok
}

// encodeLikeReference forgives the one difference that is meant: where the reference
// drops all of a text, Encode says so.
func encodeLikeReference(t *testing.T, tok Tokenizer, text string) []uint32 {
	t.Helper()
	ids, err := tok.Encode(text)
	if err != nil && !errors.Is(err, ErrNoTokens) {
		t.Fatalf("Encode(%q): %v", text, err)
	}
	return ids
}

func TestGolden(t *testing.T) {
	t.Parallel()
	g := readGolden()
	for _, set := range g.Sets {
		t.Run(set.Name, func(t *testing.T) {
			t.Parallel()
			tok := mustParse(t, set.file())
			if got := tok.Impl(); got != "go-bpe/1" {
				t.Fatalf("impl %s, want the Go one", got)
			}
			checkGolden(t, tok, g.Texts, set.IDs)
		})
	}
}

// A small vocabulary has the same ids for many ways to split, so the words
// themselves are compared too.
func TestGoldenWords(t *testing.T) {
	t.Parallel()
	g, sets := readGolden(), 0
	for _, set := range g.Sets {
		if set.Words == nil {
			continue
		}
		sets++
		b, err := parseBPE(set.file())
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range g.Texts {
			ends, at := []int{}, 0
			if err := b.pre.split(text, func(w string) error {
				at += utf8.RuneCountInString(w)
				ends = append(ends, at)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(set.Words[i], ends); diff != "" {
				t.Errorf("%s, %q: -want +got\n%s", set.Name, text, diff)
			}
		}
	}
	if sets == 0 {
		t.Error("no set has words")
	}
}

func checkGolden(t *testing.T, tok Tokenizer, texts []string, want [][]uint32) {
	t.Helper()
	if len(texts) != len(want) || len(texts) < 100 {
		t.Fatalf("%d texts and %d lists of ids", len(texts), len(want))
	}
	for i, text := range texts {
		got := encodeLikeReference(t, tok, text)
		if len(got) == 0 && len(want[i]) == 0 {
			continue
		}
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Errorf("%q: -want +got\n%s", text, diff)
		}
		if n, err := tok.Count(text); err != nil || n != len(want[i]) {
			t.Errorf("Count(%q) = %d, %v, want %d", text, n, err, len(want[i]))
		}
	}
}

// One pre-token of 100,000 letters: a merge that rescans the word takes minutes here.
func TestGoldenLong(t *testing.T) {
	t.Parallel()
	tok := mustParse(t, mustRead("testdata/bytelevel.json"))
	for _, c := range readGolden().Long {
		ids, err := tok.Encode(strings.Repeat(c.Unit, c.Times))
		if err != nil {
			t.Fatal(err)
		}
		words := make([]string, len(ids))
		for i, id := range ids {
			words[i] = strconv.Itoa(int(id))
		}
		sum := sha256.Sum256([]byte(strings.Join(words, ",")))
		if got := hex.EncodeToString(sum[:]); len(ids) != c.Count || got != c.SHA256 {
			t.Errorf("%q x %d: %d ids (%s), want %d (%s)", c.Unit, c.Times, len(ids), got, c.Count, c.SHA256)
		}
	}
}

const daulet = "github.com/daulet/tokenizers"

// cachedFile returns a file that ships with a module, from the module cache.
func cachedFile(tb testing.TB, elem ...string) string {
	tb.Helper()
	out, err := exec.CommandContext(tb.Context(), "go", "list", "-m", "-f", "{{.Dir}}", daulet).Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		tb.Skipf("module cache has no %s (%v): go mod download %s", daulet, err, daulet)
	}
	path := filepath.Join(append([]string{dir, "test", "data"}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("%s does not ship this file: %v", daulet, err)
	}
	return path
}

const llama3File = "Meta-Llama-3-8B-Instruct.json"

func TestGoldenShipped(t *testing.T) {
	t.Parallel()
	g := readGolden()
	if len(g.Shipped) == 0 {
		t.Error("no ids for the shipped models")
	}
	for _, m := range g.Shipped {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			tok, err := Load(cachedFile(t, m.Name))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := tok.Fingerprint(), "sha256:"+m.SHA256; got != want {
				t.Skipf("the file is %s, the ids were made for %s", got, want)
			}
			checkGolden(t, tok, g.Texts, m.IDs)
		})
	}
}

// The cache must not change an answer, nor may goroutines disturb each other.
func TestConcurrentAndCached(t *testing.T) {
	t.Parallel()
	g := readGolden()
	set := g.Sets[0]
	tok := mustParse(t, set.file())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i, text := range g.Texts {
				ids, err := tok.Encode(text)
				if err != nil || !slices.Equal(ids, set.IDs[i]) {
					t.Errorf("Encode(%q): %v, %v, want %v", text, ids, err, set.IDs[i])
				}
			}
		})
	}
	wg.Wait()
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	var c wordCache
	for i := range 3 * cacheWords {
		c.put(strconv.Itoa(i), []uint32{uint32(i)})
		if len(c.ids) > cacheWords {
			t.Fatalf("%d words, at most %d", len(c.ids), cacheWords)
		}
	}
	c.put(strings.Repeat("a", cacheWordLen+1), nil)
	for w := range maps.Keys(c.ids) {
		if len(w) > cacheWordLen {
			t.Fatalf("a word of %d bytes is kept", len(w))
		}
	}
}
