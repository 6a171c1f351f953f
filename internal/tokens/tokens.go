// Package tokens counts the tokens of a text the way a served model does, from
// the model's own tokenizer.json.
//
// A count is a number only together with its tokenizer, so a [Tokenizer] also
// says which code made the count ([Tokenizer.Impl]) and of which file
// ([Tokenizer.Fingerprint]); both belong in the record beside it.
//
// The one rule: never a guess. Byte-level BPE is done in Go, id for id like the
// reference, the Hugging Face library tokenizers. Whatever else a file asks for (Unigram, WordPiece, Metaspace, an
// unknown step or field) is [ErrUnsupported], unless the program was built with
// cgo and the tag hftokenizers, which hands such files to the Rust tokenizer.
//
// The limit: letters and digits are those of Go's Unicode tables. A code point
// that is newer than they are (Unicode 15 as of Go 1.26) may be split differently.
package tokens

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"
)

var (
	// ErrUnsupported means that the file may be sound, but asks for something
	// that no tokenizer of this build does.
	ErrUnsupported = errors.New("not supported by this build's tokenizers")
	// ErrNotUTF8 means that the text is not valid UTF-8. References disagree on
	// how many replacement characters a broken byte is.
	ErrNotUTF8 = errors.New("text is not valid UTF-8")
	// ErrNUL means that the text holds a NUL byte and the tokenizer takes C strings.
	ErrNUL = errors.New("text holds a NUL byte, which this tokenizer cannot take")
	// ErrNoTokens means that a text which is not empty gave no tokens: the Rust
	// tokenizer fails in this way, and a count of 0 would hide it.
	ErrNoTokens = errors.New("text that is not empty gave no tokens")
	// ErrTimeout means that a split pattern of the file took too long on the text.
	ErrTimeout = errors.New("split pattern took too long")

	errZero = errors.New("tokenizer was not loaded")
)

// maxFile bounds what is read into memory: the largest vocabularies in use
// (256k entries) make files of some 35 MB.
const maxFile = 128 << 20

// encoder is one implementation. The text given to it is valid UTF-8.
type encoder interface {
	encode(text string) ([]uint32, error)
	impl() string
}

// A Tokenizer turns text into the token ids of one model. Only [Load] makes
// one; the zero Tokenizer counts nothing and says so. It is safe for
// concurrent use.
type Tokenizer struct {
	enc encoder
	sum string
}

// Load reads a tokenizer.json. The Go implementation is taken where it knows
// everything the file asks for, the Rust one where it does not and is built in;
// else the error is an [ErrUnsupported]. Truncation and padding of the file are
// ignored: a count is of the whole text.
func Load(path string) (Tokenizer, error) {
	data, err := readFile(path, maxFile)
	if err != nil {
		return Tokenizer{}, err
	}
	t, err := fromBytes(data)
	if err != nil {
		return Tokenizer{}, fmt.Errorf("load tokenizer %s: %w", path, err)
	}
	return t, nil
}

func fromBytes(data []byte) (Tokenizer, error) {
	sum := sha256.Sum256(data)
	t := Tokenizer{sum: "sha256:" + hex.EncodeToString(sum[:])}
	pure, err := parseBPE(data)
	switch {
	case err == nil:
		t.enc = pure
		return t, nil
	case !nativeBuilt || !errors.Is(err, ErrUnsupported):
		return Tokenizer{}, err
	}
	if t.enc, err = newNative(data); err != nil {
		return Tokenizer{}, err
	}
	return t, nil
}

// readFile refuses what is not a regular file of a sane size before it reads.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("read %s: not a regular file", path)
	case info.Size() > limit:
		return nil, fmt.Errorf("read %s: %d bytes, a tokenizer has at most %d", path, info.Size(), limit)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("read %s: grew over %d bytes while it was read", path, limit)
	}
	return data, nil
}

// Encode returns the ids of the text alone: special tokens written in the text
// are recognised, none is added (no BOS), as a chat template adds its own. The
// empty text has no ids; any other text without ids is [ErrNoTokens].
func (t Tokenizer) Encode(text string) ([]uint32, error) {
	switch {
	case t.enc == nil:
		return nil, errZero
	case text == "":
		return nil, nil
	case !utf8.ValidString(text):
		return nil, ErrNotUTF8
	}
	ids, err := t.enc.encode(text)
	switch {
	case err != nil:
		return nil, err
	case len(ids) == 0:
		return nil, ErrNoTokens
	}
	return ids, nil
}

// Count returns the number of ids that [Tokenizer.Encode] returns.
func (t Tokenizer) Count(text string) (int, error) {
	ids, err := t.Encode(text)
	return len(ids), err
}

// Impl names the code that counts and its version: "go-bpe/1" or
// "daulet/1.24.0". The first number grows when ids may have changed. It is
// empty for the zero Tokenizer.
func (t Tokenizer) Impl() string {
	if t.enc == nil {
		return ""
	}
	return t.enc.impl()
}

// Fingerprint is "sha256:" and the hash of the tokenizer file's bytes. It is
// empty for the zero Tokenizer.
func (t Tokenizer) Fingerprint() string { return t.sum }
