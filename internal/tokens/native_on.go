//go:build cgo && hftokenizers

package tokens

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"

	"github.com/daulet/tokenizers"
)

const (
	nativeBuilt   = true
	nativeVersion = "1.24.0" // of the module; a test compares it with go.mod
)

// native is the Rust tokenizer; native/tokenizers/build.sh makes the library that
// it links against. Its C interface cuts text at a NUL and reports
// an error or a panic as no ids; the first is refused here, the second by
// [Tokenizer.Encode]. It may be used by several goroutines at once.
type native struct{ t *tokenizers.Tokenizer }

func newNative(data []byte) (encoder, error) {
	data, err := withoutTruncation(data)
	if err != nil {
		return nil, err
	}
	t, err := tokenizers.FromBytes(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrUnsupported, err)
	}
	n := &native{t}
	runtime.AddCleanup(n, func(t *tokenizers.Tokenizer) { _ = t.Close() }, t)
	return n, nil
}

// withoutTruncation removes two settings that the library would obey: a count is
// of the whole text, and of nothing else.
func withoutTruncation(data []byte) ([]byte, error) {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil {
		return nil, fmt.Errorf("not a JSON object: %w", err)
	}
	changed := false
	for _, key := range []string{"truncation", "padding"} {
		if v, ok := top[key]; ok && string(v) != "null" {
			delete(top, key)
			changed = true
		}
	}
	if !changed {
		return data, nil
	}
	return json.Marshal(top)
}

func (*native) impl() string { return "daulet/" + nativeVersion }

func (n *native) encode(text string) ([]uint32, error) {
	if strings.IndexByte(text, 0) >= 0 {
		return nil, ErrNUL
	}
	ids := n.t.EncodeWithOptions(text, false).IDs
	runtime.KeepAlive(n)
	return ids, nil
}
