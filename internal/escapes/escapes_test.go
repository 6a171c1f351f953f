package escapes

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// An escaped secret does not hide behind the end of a body that was cut, a stray quote, or
// a string that was begun before.
func TestASecretInHalfAText(t *testing.T) {
	t.Parallel()
	const secret = "sk-0123456789"
	redact := strings.NewReplacer(secret, "«API key»").Replace
	var escaped string
	for _, c := range secret {
		escaped += fmt.Sprintf(`\u%04x`, c)
	}
	twice := strings.ReplaceAll(escaped, `\`, `\\`)
	for text, want := range map[string]string{
		`{"error":"bad key ` + escaped:                            `{"error":"bad key «API key»`,
		`{"error":"bad key ` + escaped + ` for`:                   `{"error":"bad key «API key» for`,
		`{"error":"bad key ` + escaped + `\u00`:                   `{"error":"bad key «API key»\\u00`,
		`{"error":"bad key ` + escaped + `\`:                      `{"error":"bad key «API key»\\`,
		`5" and {"key":"` + escaped + `"}`:                        `5" and {"key":"«API key»"}`,
		escaped + `"}`:                                            `«API key»"}`,
		`{"arguments":"{\"key\":\"` + twice:                       `{"arguments":"{\"key\":\"«API key»`,
		`{"a":"` + "\n" + escaped + `","b":"\u0041\ud83d\ude00"}`: `{"a":"\n«API key»","b":"\u0041\ud83d\ude00"}`,
		`"\ud83d ` + escaped + `"`:                                `"� «API key»"`,
	} {
		if got := Hide(text, redact); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

// The escapes are those of the library.
func FuzzUnescaped(f *testing.F) {
	f.Add(`a\"\\\/\b\f\n\r\t\u00e4\ud83d\ude00\ud83dx\ud83d\u0041\udc00`)
	f.Fuzz(func(t *testing.T, text string) {
		var want string
		if json.Unmarshal([]byte(`"`+text+`"`), &want) != nil {
			_ = unescaped(text) // no string of JSON: it only must come back
			return
		}
		if got := unescaped(strings.ToValidUTF8(text, "�")); strings.ToValidUTF8(text, "�") == text && got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	})
}

// A text made of quotes is not looked at again from each of them.
func TestHidingTakesTimeInProportion(t *testing.T) {
	t.Parallel()
	looks := 0
	text := strings.Repeat(`\"`, 1<<19)
	if got := Hide(text, func(s string) string { looks += len(s); return s }); got != text {
		t.Error("it was changed")
	}
	if looks > 40*len(text) {
		t.Errorf("%d bytes were looked at for %d", looks, len(text))
	}
}
