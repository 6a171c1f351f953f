package endpoint

import (
	"testing"

	"github.com/tidwall/gjson"

	"infbench/gates"
)

func TestFlatUsage(t *testing.T) {
	t.Parallel()
	n := gates.CountOf
	for text, want := range map[string]Usage{
		`{"prompt_tokens":9,"completion_tokens":12,"total_tokens":21}`: {Prompt: n(9), Completion: n(12), Total: n(21)},
		`{"completion_tokens": 0, "reasoning_tokens": 1234567890}`:     {Completion: n(0), Reasoning: n(1234567890)},
		`{"completion_tokens":3,"completion_tokens":4}`:                {Completion: n(4)},
	} {
		if got, ok := flat([]byte(text)); !ok || got != want {
			t.Errorf("%s: %+v, %v", text, got, ok)
		}
	}
	for _, text := range []string{
		"", "{", "{}", `{"`, `{"completion_tokens`, `{"completion_tokens"`, `{"completion_tokens":`, `{"completion_tokens":}`, `{"completion_tokens":4`, `{"completion_tokens":4}}`,
		`{"completion_tokens":4,}`, `{"completion_tokens":04}`, `{"completion_tokens":-4}`, `{"completion_tokens":4.5}`, `{"completion_tokens":4e2}`, `{"completion_tokens":"4"}`,
		`{"completion_tokens":null}`, `{"completion_tokens":12345678901}`, `{"other":4}`, `{"prompt_tokens":4,"prompt_tokens_details":{"cached_tokens":1}}`, ` {"completion_tokens":4}`,
	} {
		if got, ok := flat([]byte(text)); ok {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// Whatever is taken is JSON, and says the same to the parser.
func FuzzFlatUsage(f *testing.F) {
	f.Add([]byte(`{"prompt_tokens":9,"completion_tokens": 12}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, ok := flat(b)
		if !ok {
			return
		}
		a := Answer{}
		s := assembly{answer: &a}
		s.usage(gjson.ParseBytes(b))
		if !gjson.ValidBytes(b) || a.Usage != got || len(a.Broke) > 0 {
			t.Fatalf("%s: %+v, the parser says %+v %v", b, got, a.Usage, a.Broke)
		}
	})
}
