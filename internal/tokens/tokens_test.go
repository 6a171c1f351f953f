package tokens

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLoad(t *testing.T) {
	t.Parallel()
	tok, err := Load("testdata/bytelevel.json")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := tok.Encode("func main")
	n, errCount := tok.Count("func main")
	if err != nil || errCount != nil || n != len(ids) || n == 0 {
		t.Errorf("ids %v (%v), count %d (%v)", ids, err, n, errCount)
	}
	if f := tok.Fingerprint(); !strings.HasPrefix(f, "sha256:") || len(f) != 7+64 {
		t.Errorf("fingerprint %q", f)
	}
}

func TestLoadRefusesFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	big := filepath.Join(dir, "big.json")
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, maxFile+1); err != nil { // sparse: nothing may read it
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir:                          "not a regular file",
		big:                          "at most",
		filepath.Join(dir, "absent"): "no such file",
	} {
		if tok, err := Load(path); err == nil || !strings.Contains(err.Error(), want) || tok != (Tokenizer{}) {
			t.Errorf("Load(%s) = %v, %v, want %q", path, tok, err, want)
		}
	}
}

// A sound file of another kind is told apart from a broken one.
func TestLoadUnsupported(t *testing.T) {
	t.Parallel()
	if nativeBuilt {
		t.Skip("this build takes such files")
	}
	path := cachedFile(t, "bert-base-uncased.json") // an old file: its model has no type
	tok, err := Load(path)
	if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "without a type") || tok != (Tokenizer{}) {
		t.Errorf("Load(%s) = %v, %v", path, tok, err)
	}
}

func TestZeroTokenizer(t *testing.T) {
	t.Parallel()
	var tok Tokenizer
	if n, err := tok.Count("text"); err == nil || n != 0 {
		t.Errorf("Count = %d, %v", n, err)
	}
	if tok.Impl() != "" || tok.Fingerprint() != "" {
		t.Errorf("names itself %q, %q", tok.Impl(), tok.Fingerprint())
	}
}

func TestEncodeRefusesText(t *testing.T) {
	t.Parallel()
	tok := mustParse(t, mustRead("testdata/bytelevel.json"))
	if _, err := tok.Encode("a\xffb"); !errors.Is(err, ErrNotUTF8) {
		t.Errorf("broken UTF-8: %v", err)
	}
	removed := change(mustRead("testdata/bytelevel.json"), map[string]json.RawMessage{"pre_tokenizer": json.RawMessage(
		`{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"String":" "},"behavior":"Removed","invert":false},
		{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]}`)})
	if n, err := mustParse(t, removed).Count("   "); !errors.Is(err, ErrNoTokens) || n != 0 {
		t.Errorf("no tokens: %d, %v", n, err)
	}
}

// A pattern that backtracks without end is an error in time, and the error does
// not quote the text.
func TestPatternTimeout(t *testing.T) {
	t.Parallel()
	find, err := pattern(`(a+)+b`, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	s := splitter{find: find}
	err = s.split(strings.Repeat("a", 40), func(string) error { return nil })
	if !errors.Is(err, ErrTimeout) || strings.Contains(err.Error(), "aaa") {
		t.Errorf("got %v", err)
	}
}

// The patterns that run without a bound are the ones in real files, and no others.
func TestTimeoutOf(t *testing.T) {
	t.Parallel()
	llama := readGolden().Sets[1].file()
	var doc struct {
		Pre struct {
			Steps []struct{ Pattern struct{ Regex string } } `json:"pretokenizers"`
		} `json:"pre_tokenizer"`
	}
	mustUnmarshal(llama, &doc)
	if got := timeoutOf(doc.Pre.Steps[0].Pattern.Regex); got == matchTimeout {
		t.Error("the Llama 3 pattern is not known")
	}
	if got := timeoutOf(llama3Pattern + "|x"); got != matchTimeout {
		t.Errorf("another pattern has %v", got)
	}
}

const noRegex = `{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}`

// Each refusal: where in the file, what is put there, what the error says.
var refusals = []struct {
	at, value, want string
	unsupported     bool
}{
	{"version", `"2.0"`, "version", true},
	{"more", `1`, "unknown field", true},
	{"model", `{"type":"Unigram","vocab":[["a",0]]}`, "Unigram", true},
	{"model", `{"type":"WordPiece","vocab":{}}`, "WordPiece", true},
	{"model", `{"vocab":{},"merges":[]}`, "without a type", true},
	{"model", `[]`, "without a type", true},
	{"model", `{"type":"BPE","merges":[]}`, "without a vocabulary", false},
	{"model", `{"type":"BPE","vocab":{}}`, "without merges", false},
	{"model", `{"type":"BPE","type":"BPE","vocab":{},"merges":[]}`, "twice", false},
	{"model.byte_fallback", `true`, "byte_fallback", true},
	{"model.byte_fallback", `"yes"`, "not true or false", false},
	{"model.dropout", `0.1`, "dropout", true},
	{"model.continuing_subword_prefix", `"##"`, "continuing_subword_prefix", true},
	{"model.end_of_word_suffix", `"</w>"`, "end_of_word_suffix", true},
	{"model.novelty", `true`, "unknown field", true},
	{"model.unk_token", `7`, "not a string", false},
	{"model.vocab", `{"a":0,"a":1}`, "twice", false},
	{"model.vocab", `{"a":-1}`, "without an id", false},
	{"model.vocab", `{"a":1.5}`, "without an id", false},
	{"model.vocab", `{"a":"1"}`, "without an id", false},
	{"model.vocab", `{"a":4294967295}`, "without an id", false},
	{"model.merges", `["a b c"]`, "no pair", false},
	{"model.merges", `["ab"]`, "no pair", false},
	{"model.merges", `[["a"]]`, "no pair", false},
	{"model.merges", `[7]`, "no pair", false},
	{"model.merges", `["a \u0000"]`, "no pair", false},
	{"model.merges", `["e r",["e","r"]]`, "two spellings", false},
	{"normalizer", `{"type":"NFKC"}`, "NFKC", true},
	{"normalizer", `{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Lowercase"}]}`, "Lowercase", true},
	{"normalizer", `{}`, "without a type", true},
	{"pre_tokenizer", `null`, "ByteLevel", true},
	{"pre_tokenizer", `{"type":"Metaspace","replacement":"▁"}`, "ByteLevel", true},
	{"pre_tokenizer", `{"type":"Sequence","pretokenizers":[]}`, "ByteLevel", true},
	{"pre_tokenizer", `{"type":"Sequence","pretokenizers":[` + noRegex + `,` + noRegex + `]}`, "only ByteLevel", true},
	{"pre_tokenizer", `{"type":"Sequence","pretokenizers":[{"type":"Punctuation"},` + noRegex + `]}`, "Punctuation", true},
	{"pre_tokenizer", `{"type":"ByteLevel"}`, "add_prefix_space", false},
	{"pre_tokenizer", splitStep(`{"Regex":"a"}`, "Sideways"), "Sideways", true},
	{"pre_tokenizer", splitStep(`{"Regex":"a","String":"a"}`, "Isolated"), "one of Regex and String", false},
	{"pre_tokenizer", splitStep(`{}`, "Isolated"), "one of Regex and String", false},
	{"pre_tokenizer", splitStep(`"a"`, "Isolated"), "not an object", false},
	{"pre_tokenizer", splitStep(`{"Regex":7}`, "Isolated"), "not a string", false},
	{"pre_tokenizer", splitStep(`{"String":""}`, "Isolated"), "empty split pattern", true},
	{"pre_tokenizer", splitStep(`{"Regex":"\\w+"}`, "Isolated"), "unknown escape", true},
	{"pre_tokenizer", `{"type":"Sequence","pretokenizers":{}}`, "not a list", false},
	{"added_tokens", `{}`, "not a list", false},
	{"added_tokens", `[{"id":0}]`, "without content", false},
	{"added_tokens", `[{"id":9,"content":"x","special":true}]`, "is missing", false},
	{"added_tokens", `[` + addedX("2001") + `]`, "would be given", true},
	{"added_tokens", `[` + addedX("2000") + `,` + addedX("2000") + `]`, "twice", false},
}

func splitStep(pattern, behavior string) string {
	return `{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":` + pattern + `,"behavior":"` + behavior +
		`","invert":false},` + noRegex + `]}`
}

func addedX(id string) string {
	return `{"id":` + id + `,"content":"<x>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}`
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	base := mustRead("testdata/bytelevel.json")
	for _, c := range refusals {
		b, err := parseBPE(change(base, map[string]json.RawMessage{c.at: json.RawMessage(c.value)}))
		if b != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %s: %v, want %q", c.at, c.value, err, c.want)
		}
		if errors.Is(err, ErrUnsupported) != c.unsupported {
			t.Errorf("%s = %s: unsupported is %v: %v", c.at, c.value, !c.unsupported, err)
		}
	}
	for _, doc := range []string{"", "{", "[]", "null", "\xff", strings.Repeat("[", 1<<20)} {
		if _, err := parseBPE([]byte(doc)); err == nil {
			t.Errorf("%.9q was taken", doc)
		}
	}
}

// What both engines read alike is let through, the rest is not.
func TestTranslate(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		gpt2Pattern, `a|b`, `[^\r\n\p{L}\p{N}]?\p{L}+`, `[a-z\-]`, `[-a]`, `[a-]`, `[^\S]`, `\p{N}{1,3}`, `x{2}|y{3,}`,
		`(?<=a)b(?!c)(?=d)(?<!e)`, `.*?a+?b??`, `[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_{|}~][A-Za-z]+`, `[一-龥]+`, `\p{Han}`, `[()]`,
	} {
		if got, err := translate(good); err != nil || got != good {
			t.Errorf("%s: %s, %v", good, got, err)
		}
	}
	for bad, want := range map[string]string{
		`^a`: "unescaped", `a$`: "unescaped", `\w+`: "escape", `\bx`: "escape", `\1`: "escape", `\x41`: "escape", `a\`: "backslash",
		`a++`: "operand", `a**`: "operand", `a{2}?`: "operand", `*a`: "operand", `a|+`: "operand", `a{,3}`: "repetition", `a{`: "repetition",
		`a{x}`: "repetition", `a{1,2`: "repetition", `[a[b]]`: "unescaped", `[[:alpha:]]`: "unescaped", `[a&&b]`: "intersection",
		`[]a]`: "unescaped", `[a`: "unclosed", `[`: "unclosed", `[a-`: "unclosed", `[z-a]`: "range", `[\s-z]`: "range", `[a-z-9]`: "dash",
		`[\S\p{L}]`: "negated set", `[\s\P{N}]`: "negated set", `(?i)a`: "group", `(?i:ab)`: "group", `(?>a)`: "group", `(?P<n>a)`: "group",
		`(a`: "unclosed", `a)`: "unopened", `\p{C}`: "property", `\p{^L}`: "property", `\pL`: "property", `\p{L`: "property",
	} {
		if got, err := translate(bad); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v, want %q", bad, got, err, want)
		}
	}
}
