package refengine

import (
	"bytes"
	"encoding/base64"
	"image/png"
	"math"
	"strings"
)

// maxPicture bounds a picture, in bytes of its file and in pixels of a side.
const maxPicture, maxSide = 4 << 20, 4096

// see says in words what a picture shows: the colour in its middle and, where it can be
// read, a word. It takes PNG in a data URL, and nothing else.
func see(url string) (words string, ok bool) {
	text, ok := strings.CutPrefix(url, "data:image/png;base64,")
	if !ok || len(text) > maxPicture {
		return "", false
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", false
	}
	head, err := png.DecodeConfig(bytes.NewReader(raw))
	if err != nil || head.Width > maxSide || head.Height > maxSide {
		return "", false
	}
	m, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		return "", false
	}
	middle := m.Bounds().Min.Add(m.Bounds().Size().Div(2))
	r, g, b, _ := m.At(middle.X, middle.Y).RGBA()
	words = " The colour in the image is " + colourOf(float64(r>>8), float64(g>>8), float64(b>>8)) + ". "
	if w := wordOf(m); w != "" {
		words += "The word in the image is " + w + ". "
	}
	return words, true
}

var colours = []struct {
	name    string
	r, g, b float64
}{
	{"red", 220, 0, 0}, {"green", 0, 160, 0}, {"blue", 0, 0, 220}, {"yellow", 230, 220, 0}, {"white", 255, 255, 255}, {"black", 0, 0, 0},
}

func colourOf(r, g, b float64) string {
	best, at := "", math.Inf(1)
	for _, c := range colours {
		if d := math.Hypot(math.Hypot(r-c.r, g-c.g), b-c.b); d < at {
			best, at = c.name, d
		}
	}
	return best
}
