package endpoint

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"infbench/gates"
)

// A key that a server says back is gone before anything is cut, wherever the cut falls: no
// six characters of it are left, in front or behind, plain or in escapes.
func TestNoPieceOfAKeyIsQuoted(t *testing.T) {
	t.Parallel()
	const key = "sk-QUJDREVGR0hJSktMTU5PUFFS"
	var escaped string
	for _, c := range key {
		escaped += fmt.Sprintf(`\u%04x`, c)
	}
	var body string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/models"):
			fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
		case strings.HasSuffix(r.URL.Path, "/completions"):
			fmt.Fprint(w, body)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	target, err := ParseTarget(s.URL, TargetOptions{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	ep, err := Open(t.Context(), target, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ep.Close)
	for _, form := range []string{key, escaped} {
		for before := 60; before < 135; before++ {
			text := strings.Repeat("x", before) + form + strings.Repeat("y", 120)
			body = `{"error":"` + text
			_, said, err := ep.Post(t.Context(), "{}")
			if err != nil {
				t.Fatal(err)
			}
			shown := []string{gates.Quote(string(said), 120)}
			body = `{"choices":[{"index":0,"message":{"content":"` + text + `","tool_calls":[{"id":"` + text + `","function":{"name":"` + text + `","arguments":"` + text +
				`"}}]},"finish_reason":"` + text + `"}],"model":"` + text + `","id":"` + text + `","usage":{"prompt_tokens":"` + text + `"}}`
			a := ep.Complete(t.Context(), Chat("x"))
			x := ep.Exchange(t.Context(), PrepareBody([]byte("{}"), false, 0))
			shown = append(shown, gates.Quote(a.Content, 120), gates.Quote(a.Calls[0].Arguments, 120), a.Says(), a.Finish, a.Model, a.ID, fmt.Sprint(a.Broke))
			body = "data: " + text + "\n\ndata: {\"choices\":[\"" + text + "\"]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" + text + "\"}}]}\n\n"
			b := ep.Stream(t.Context(), Chat("x"))
			shown = append(shown, fmt.Sprint(b.Broke), gates.Quote(b.Content, 120))
			for _, line := range shown {
				for i := range len(key) - 6 {
					if piece := key[i : i+6]; strings.Contains(line, piece) {
						t.Fatalf("%d before it: %q is left in %s", before, piece, line)
					}
				}
				if strings.Contains(line, `\u00`) {
					t.Fatalf("%d before it: escapes are left in %s", before, line)
				}
			}
			if !x.Redacted {
				t.Fatal("the exchange does not say that it was changed")
			}
		}
	}
}

// A value that is a word of an answer stays one there.
func TestAWordIsNoSecretOfAnAnswer(t *testing.T) {
	t.Parallel()
	target, err := ParseTarget("http://127.0.0.1:1", TargetOptions{Key: "secret", Headers: map[string]string{"X-Team": "default"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, was := target.hideIn("The secret code is the default."); was || got != "The secret code is the default." {
		t.Errorf("%q", got)
	}
	if got := string(target.hide([]byte("bad key: secret"))); got != "bad key: «API key»" {
		t.Errorf("%q", got)
	}
}
