package faultproxy_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"infbench/internal/faultproxy"
)

// What reaches the model of two requests with a picture each.
func TestPictures(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string][2]string{
		"image-dropped": {"", ""}, "image-stale": {"data:one", "data:one"}, "comments": {"data:one", "data:two"},
	} {
		var seen []string
		up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			_, after, _ := strings.Cut(string(b), `"url":"`)
			picture, _, _ := strings.Cut(after, `"`)
			seen = append(seen, picture)
			if !strings.Contains(string(b), "what is it") {
				t.Errorf("%s: the words are gone: %s", spec, b)
			}
			_, _ = io.WriteString(w, `{}`)
		})
		p, err := faultproxy.ForHandler(up, []string{spec}, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, picture := range []string{"data:one", "data:two"} {
			body := `{"messages":[{"role":"user","content":[{"type":"text","text":"what is it"},{"type":"image_url","image_url":{"url":"` + picture + `"}}]}]}`
			p.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body)))
		}
		if len(seen) != 2 || seen[0] != want[0] || seen[1] != want[1] {
			t.Errorf("%s: the model sees %q, want %q", spec, seen, want)
		}
	}
}
