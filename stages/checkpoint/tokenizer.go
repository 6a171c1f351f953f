package checkpoint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// An AddedToken is a token that was added to the vocabulary by hand.
type AddedToken struct {
	ID   int64
	Text string
	// File says where it stands.
	File string
}

// Tokenizer is what the tokenizer's files say.
type Tokenizer struct {
	files    []string
	template string
	eosText  string
	eosID    int64
	special  []SpecialToken
	broken   []string
	added    []AddedToken
}

// A SpecialToken is what one of the tokenizer's files calls its "eos_token",
// "bos_token" or "pad_token".
type SpecialToken struct {
	Key, Text, File string
}

// Broken returns the tokenizer's files that are here and cannot be read, each with the
// reason.
func (t Tokenizer) Broken() []string { return append([]string(nil), t.broken...) }

// Special returns what the small files call the special tokens, key by key.
func (t Tokenizer) Special() []SpecialToken { return append([]SpecialToken(nil), t.special...) }

// vocabularyFiles are the files of which one holds a tokenizer's vocabulary.
var vocabularyFiles = []string{
	"tokenizer.json", "tokenizer.model", "tekken.json", "spiece.model", "sentencepiece.bpe.model",
	"sentencepiece.model", "tokenizer.model.v3", "vocab.txt", "vocab.model", "tokenizer.tok.json",
}

// Files returns the files that hold a vocabulary; none means that there is no
// tokenizer.
func (t Tokenizer) Files() []string { return append([]string(nil), t.files...) }

// Template returns where the chat template is, "" when there is none.
func (t Tokenizer) Template() string { return t.template }

// EOS returns the text of the end token and its id, which is -1 when the small
// files do not tell it.
func (t Tokenizer) EOS() (text string, id int64) { return t.eosText, t.eosID }

// Added returns the tokens added by hand, in the order of their ids.
func (t Tokenizer) Added() []AddedToken { return append([]AddedToken(nil), t.added...) }

func (c *contents) tokenizerFiles() []string {
	var out []string
	has := func(n string) bool { _, ok := c.files[n]; return ok }
	for _, n := range vocabularyFiles {
		if has(n) {
			out = append(out, n)
		}
	}
	if has("vocab.json") && has("merges.txt") {
		out = append(out, "vocab.json", "merges.txt")
	}
	for _, n := range c.order {
		if strings.HasSuffix(n, ".tiktoken") {
			out = append(out, n)
		}
	}
	return out
}

func (c *contents) tokenizer(docs *documents) Tokenizer {
	t := Tokenizer{files: c.tokenizerFiles(), eosID: -1}
	tc := docs.document(tokenizerConfig, maxTokenizer)
	t.template = c.templatePlace(tc)
	files := []Doc{tc}
	if docs.src.Near() {
		files = append(files, docs.document(tokenizerFile, maxTokenizer))
	}
	for _, d := range files {
		if p, ok := d.Problem(); ok {
			t.broken = append(t.broken, d.Name()+": "+p.Detail)
		}
	}
	t.eosText = tokenText(tc.Get("eos_token"))
	for _, key := range []string{"eos_token", "bos_token", "pad_token"} {
		for _, d := range []Doc{tc, docs.document(specialTokensMap, maxDoc)} {
			if text := tokenText(d.Get(key)); text != "" {
				t.special = append(t.special, SpecialToken{key, text, d.Name()})
			}
		}
	}
	ids := map[int64]AddedToken{}
	add := func(id int64, text, file string) {
		if _, ok := ids[id]; !ok && id >= 0 {
			ids[id] = AddedToken{id, text, file}
		}
	}
	tc.Get("added_tokens_decoder").ForEach(func(k, v gjson.Result) bool {
		if id, err := strconv.ParseInt(k.Str, 10, 64); err == nil {
			add(id, v.Get("content").Str, tokenizerConfig)
		}
		return true
	})
	docs.document("added_tokens.json", maxDoc).Get("@this").ForEach(func(k, v gjson.Result) bool {
		if v.Type == gjson.Number {
			add(v.Int(), k.Str, "added_tokens.json")
		}
		return true
	})
	docs.addedTokens(len(ids) > 0).ForEach(func(_, v gjson.Result) bool {
		add(v.Get("id").Int(), v.Get("content").Str, tokenizerFile)
		return true
	})
	for _, a := range ids {
		t.added = append(t.added, a)
		if a.Text == t.eosText && a.Text != "" {
			t.eosID = a.ID
		}
	}
	slices.SortFunc(t.added, func(a, b AddedToken) int { return int(a.ID - b.ID) })
	return t
}

const (
	tokenizerFile    = "tokenizer.json"
	specialTokensMap = "special_tokens_map.json"
)

// tokenizerHead is how much of a far tokenizer.json is read, in bytes: writers put
// the added tokens before the vocabulary, which takes megabytes.
const tokenizerHead = 64 << 10

// addedTokens returns the added tokens of tokenizer.json. Of a far one only the
// beginning is read, and nothing when other files have told already.
func (d *documents) addedTokens(told bool) gjson.Result {
	if d.src.Near() { // read and remembered above
		return d.document(tokenizerFile, maxTokenizer).Get("added_tokens")
	}
	listed, ok := d.files[tokenizerFile]
	if !ok || told || !listed.held {
		return gjson.Result{}
	}
	f, r, err := d.src.Open(d.ctx, tokenizerFile, tokenizerHead)
	if err != nil {
		return gjson.Result{} // an absent tokenizer.json tells nothing
	}
	defer r.Close()
	head := make([]byte, min(max(f.size, 0), tokenizerHead))
	n, _ := r.ReadAt(head, 0) // what came before an error is what is known
	sc := scanner{s: string(head[:n])}
	var found gjson.Result
	_ = sc.object(func(key string) error { // it ends where the head ends, in the middle of something
		start := sc.i
		if err := sc.skip(maxDepth); err != nil {
			return err
		}
		if key == "added_tokens" {
			found = gjson.Parse(sc.s[start:sc.i])
		}
		return nil
	})
	return found
}

// tokenText returns a token that is written as text or as an object with content.
func tokenText(r gjson.Result) string {
	if r.IsObject() {
		return r.Get("content").Str
	}
	return r.Str
}

// templatePlace returns where the chat template stands.
func (c *contents) templatePlace(tc Doc) string {
	if r := tc.Get("chat_template"); r.Str != "" || r.IsArray() && len(r.Array()) > 0 {
		return tokenizerConfig
	}
	for _, n := range []string{"chat_template.jinja", "chat_template.json", "tekken.json"} {
		if _, ok := c.files[n]; ok {
			return n
		}
	}
	if c.folders["additional_chat_templates"] {
		return "additional_chat_templates/"
	}
	return ""
}
