package faultproxy_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
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
		"image-dropped": {"", ""}, "image-stale": {"data:one", "data:one"}, "comments": {"data:one", "data:two"}, "image-blurred": {"data:one", "data:two"},
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

// Black letters on white become grey, by as much as they cover; what is no picture stays.
func TestBlurredPicture(t *testing.T) {
	t.Parallel()
	m := image.NewGray(image.Rect(0, 0, 10, 10))
	for i := range m.Pix {
		m.Pix[i] = 255
		if i < 40 {
			m.Pix[i] = 0
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	var seen image.Image
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all, _ := io.ReadAll(r.Body)
		_, after, _ := strings.Cut(string(all), `base64,`)
		picture, _, _ := strings.Cut(after, `"`)
		raw, err := base64.StdEncoding.DecodeString(picture)
		if err == nil {
			seen, err = png.Decode(bytes.NewReader(raw))
		}
		if err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, `{}`)
	})
	p, err := faultproxy.ForHandler(up, []string{"image-blurred"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + base64.StdEncoding.EncodeToString(b.Bytes()) + `"}}]}]}`
	p.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body)))
	if seen == nil || seen.Bounds() != m.Bounds() {
		t.Fatalf("the model sees %v", seen)
	}
	for y := range 10 {
		for x := range 10 { // 60 of 100 points are white
			if r, g, b, _ := seen.At(x, y).RGBA(); r>>8 != 153 || g>>8 != 153 || b>>8 != 153 {
				t.Fatalf("%d, %d, %d at %d, %d, want 153", r>>8, g>>8, b>>8, x, y)
			}
		}
	}
}
