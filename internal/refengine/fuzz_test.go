package refengine_test

import (
	"net/http"
	"testing"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// Whatever is sent, the answer is a JSON document, valid UTF-8, and either a
// completion or a refusal of the client's making.
func FuzzRequest(f *testing.F) {
	for _, b := range bodies() {
		f.Add([]byte(b))
	}
	f.Add([]byte(`{"messages":[{"role":"tool","content":null},{"role":"assistant","tool_calls":[{"function":{"name":"x","arguments":{}}}]}],"tools":[{"type":"function","function":{"name":"lookup"}}],"max_tokens":3}`))
	f.Add([]byte("{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\\ud800 \\\"\"}],\"stop\":[\"a\"]}"))
	f.Add([]byte(`{"messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_schema","json_schema":{"schema":{"$ref":"#"}}}}`))
	e := fast(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if gjson.GetBytes(b, "stream").Bool() || gjson.GetBytes(b, "ignore_eos").Bool() {
			t.Skip() // other shape; too long
		}
		w := post(t.Context(), e, chat, string(b))
		if !gjson.ValidBytes(w.Body.Bytes()) || !utf8.Valid(w.Body.Bytes()) {
			t.Fatalf("%q: got %q", b, w.Body)
		}
		r := gjson.ParseBytes(w.Body.Bytes())
		if w.Code == http.StatusOK && !r.Get("choices.0.finish_reason").Exists() || w.Code != http.StatusOK && (w.Code/100 != 4 || !r.Get("error").Exists()) {
			t.Fatalf("%q: got %d %s", b, w.Code, w.Body)
		}
	})
}
