package tokens

// bpe is the tokenizer in Go. Text passes, in this order: added tokens that
// match it as written, the normalizer, added tokens that match it normalized,
// the pre-tokenizer, and the merges.
type bpe struct {
	written    matcher
	nfc        bool
	normalized matcher
	pre        preTokenizer
	model      merger
}

func (*bpe) impl() string { return "go-bpe/1" }

func (b *bpe) encode(text string) ([]uint32, error) {
	var ids []uint32
	token := func(id uint32) { ids = append(ids, id) }
	word := func(w string) error {
		ids = b.model.append(ids, w)
		return nil
	}
	words := func(plain string) error { return b.pre.split(plain, word) }
	err := b.written.split(text, func(plain string) error {
		if b.nfc {
			plain = nfc(plain)
		}
		return b.normalized.split(plain, words, token)
	}, token)
	return ids, err
}
