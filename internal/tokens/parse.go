package tokens

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// parseBPE makes the Go tokenizer from a tokenizer.json, or says what it cannot do.
func parseBPE(data []byte) (*bpe, error) {
	// json.Valid also bounds the nesting, which gjson does not.
	if !utf8.Valid(data) || !json.Valid(data) {
		return nil, errors.New("not a JSON document in UTF-8")
	}
	root, err := parseObject("tokenizer", gjson.ParseBytes(data), "version", "truncation", "padding",
		"added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder", "model")
	if err != nil {
		return nil, err
	}
	if v := root.fields["version"]; v.Exists() && v.String() != "1.0" {
		return nil, fmt.Errorf("%w: tokenizer file of version %.20q", ErrUnsupported, v.String())
	}
	b := new(bpe)
	vocab, err := parseModel(&b.model, root.fields["model"])
	if err != nil {
		return nil, err
	}
	if b.pre, err = parsePreTokenizer(root.fields["pre_tokenizer"]); err != nil {
		return nil, err
	}
	if b.nfc, err = parseNormalizer(root.fields["normalizer"]); err != nil {
		return nil, err
	}
	list, err := root.list("added_tokens")
	if err != nil {
		return nil, err
	}
	added, err := parseAdded(list, vocab)
	if err != nil {
		return nil, err
	}
	b.enter(added)
	return b, nil
}

// enter sorts the added tokens into the two matchers. Special ones come first:
// of two that are alike once normalized, the reference takes that one.
func (b *bpe) enter(added []addedToken) {
	for _, special := range []bool{true, false} {
		for _, t := range added {
			switch {
			case t.special != special:
			case !t.normalized:
				b.written.add(t.content, t)
			case b.nfc:
				b.normalized.add(nfc(t.content), t)
			default:
				b.normalized.add(t.content, t)
			}
		}
	}
}

// typed reads the "type" of a step before its fields are known.
func typed(name string, v gjson.Result) (string, error) {
	t := v.Get("type")
	if !v.IsObject() || t.Type != gjson.String {
		return "", fmt.Errorf("%w: %s without a type", ErrUnsupported, name)
	}
	return t.String(), nil
}

// parseAdded gives each token the id that the reference would: that of the
// vocabulary, else the next free one. A file that says otherwise is refused.
func parseAdded(list []gjson.Result, vocab map[string]uint32) ([]addedToken, error) {
	next := uint32(len(vocab))
	seen := make(map[string]bool, len(list))
	var out []addedToken
	for _, v := range list {
		t, err := parseAddedToken(v)
		if err != nil {
			return nil, err
		}
		if t.content == "" {
			continue
		}
		want, known := vocab[t.content]
		if !known {
			want = next
			next++
		}
		switch {
		case seen[t.content]:
			return nil, fmt.Errorf("added token %.40q is there twice", t.content)
		case t.id != want:
			return nil, fmt.Errorf("%w: added token %.40q has id %d where %d would be given", ErrUnsupported, t.content, t.id, want)
		}
		seen[t.content] = true
		out = append(out, t)
	}
	return out, nil
}

func parseAddedToken(v gjson.Result) (addedToken, error) {
	o, err := parseObject("added token", v, "id", "content", "single_word", "lstrip", "rstrip", "normalized", "special")
	if err != nil {
		return addedToken{}, err
	}
	var t addedToken
	var ok bool
	if t.content, ok, err = o.text("content"); err != nil || !ok {
		return addedToken{}, errors.New("added token without content")
	}
	if t.id, err = id(o.fields["id"]); err != nil {
		return addedToken{}, fmt.Errorf("added token %.40q: %w", t.content, err)
	}
	for key, to := range map[string]*bool{
		"single_word": &t.singleWord, "lstrip": &t.lstrip, "rstrip": &t.rstrip,
		"normalized": &t.normalized, "special": &t.special,
	} {
		if *to, err = o.mustFlag(key); err != nil {
			return addedToken{}, fmt.Errorf("added token %.40q: %w", t.content, err)
		}
	}
	return t, nil
}
