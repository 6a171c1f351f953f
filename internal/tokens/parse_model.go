package tokens

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

// parseModel fills m and returns the vocabulary by spelled token.
func parseModel(m *merger, v gjson.Result) (map[string]uint32, error) {
	kind, err := typed("model", v)
	switch {
	case err != nil:
		return nil, err
	case kind != "BPE":
		return nil, fmt.Errorf("%w: model %.40q", ErrUnsupported, kind)
	}
	o, err := parseObject("model", v, "type", "dropout", "unk_token", "continuing_subword_prefix",
		"end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges")
	if err != nil {
		return nil, err
	}
	if err := refuseVariants(o); err != nil {
		return nil, err
	}
	if m.fuseUnk, err = o.flag("fuse_unk", false); err != nil {
		return nil, err
	}
	vocab, err := parseVocab(o.fields["vocab"])
	if err != nil {
		return nil, err
	}
	if m.merges, err = parseMerges(o.fields["merges"], vocab); err != nil {
		return nil, err
	}
	whole, err := o.flag("ignore_merges", false)
	if err != nil {
		return nil, err
	}
	if whole {
		m.words = make(map[string]uint32, len(vocab))
		for token, id := range vocab {
			if raw, ok := unspell(token); ok {
				m.words[raw] = id
			}
		}
	}
	return vocab, fillBytes(m, o, vocab)
}

// refuseVariants names the kinds of BPE that are not done here.
func refuseVariants(o object) error {
	if v := o.fields["dropout"]; o.set("dropout") && v.Raw != "0" && v.Raw != "0.0" {
		return fmt.Errorf("%w: dropout, which makes ids random", ErrUnsupported)
	}
	fallback, err := o.flag("byte_fallback", false)
	switch {
	case err != nil:
		return err
	case fallback:
		return fmt.Errorf("%w: byte_fallback", ErrUnsupported)
	}
	for _, key := range []string{"continuing_subword_prefix", "end_of_word_suffix"} {
		s, _, err := o.text(key)
		switch {
		case err != nil:
			return err
		case s != "":
			return fmt.Errorf("%w: %s", ErrUnsupported, key)
		}
	}
	return nil
}

// fillBytes finds the token of each single byte. Vocabularies may lack some
// that their corpus never had.
func fillBytes(m *merger, o object, vocab map[string]uint32) error {
	complete := true
	for b, c := range runeOf {
		id, ok := vocab[string(c)]
		m.bytes[b] = byteToken{id, ok}
		complete = complete && ok
	}
	unk, named, err := o.text("unk_token")
	if err != nil || !named {
		return err
	}
	if m.unk, m.hasUnk = vocab[unk]; !m.hasUnk && !complete {
		return fmt.Errorf("unknown token %.40q is not in the vocabulary", unk)
	}
	return nil
}

func parseVocab(v gjson.Result) (map[string]uint32, error) {
	if !v.IsObject() {
		return nil, errors.New("model without a vocabulary")
	}
	vocab := make(map[string]uint32, strings.Count(v.Raw, ","))
	var err error
	v.ForEach(func(k, v gjson.Result) bool {
		token := k.String()
		n, bad := id(v)
		if _, twice := vocab[token]; bad != nil || twice {
			err = fmt.Errorf("vocabulary: %.40q is there twice or without an id", token)
			return false
		}
		vocab[token] = n
		return true
	})
	return vocab, err
}

// parseMerges reads pairs in either spelling, "a b" or ["a","b"], not mixed.
// The rank of a pair that is there twice is its last.
func parseMerges(v gjson.Result, vocab map[string]uint32) (map[uint64]merge, error) {
	if !v.IsArray() {
		return nil, errors.New("model without merges")
	}
	merges := make(map[uint64]merge, strings.Count(v.Raw, ",")/2)
	var spelling gjson.Type
	var rank uint32
	var err error
	v.ForEach(func(_, v gjson.Result) bool {
		if rank > 0 && v.Type != spelling {
			err = errors.New("merges in two spellings")
			return false
		}
		spelling = v.Type
		left, right, ok := mergePair(v)
		a, okA := vocab[left]
		b, okB := vocab[right]
		to, okTo := vocab[left+right]
		if !ok || !okA || !okB || !okTo {
			err = fmt.Errorf("merge %d is no pair of tokens that makes a token", rank)
			return false
		}
		merges[pair(a, b)] = merge{rank, to}
		rank++
		return true
	})
	return merges, err
}

func mergePair(v gjson.Result) (left, right string, ok bool) {
	if v.Type == gjson.String {
		left, right, ok = strings.Cut(v.String(), " ")
		return left, right, ok && !strings.Contains(right, " ")
	}
	if !v.IsArray() {
		return "", "", false
	}
	both := v.Array()
	if len(both) != 2 || both[0].Type != gjson.String || both[1].Type != gjson.String {
		return "", "", false
	}
	return both[0].String(), both[1].String(), true
}
