package refengine

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"golang.org/x/image/draw"

	"infbench/internal/drawn"
)

// Every capital is read as itself, also when the picture is enlarged; without a word, and
// in noise, nothing is.
func TestReadsWords(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"ABCDEFGHI", "JKLMNOPQ", "RSTUVWXYZ", "TIGER", "I", ""} {
		file := drawn.Picture(color.RGBA{R: 220, A: 255}, word)
		m, err := png.Decode(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if got := wordOf(m); got != word {
			t.Errorf("read %q, drawn was %q", got, word)
		}
		twice := image.NewRGBA(image.Rect(0, 0, 2*drawn.Side, 2*drawn.Side))
		draw.NearestNeighbor.Scale(twice, twice.Bounds(), m, m.Bounds(), draw.Src, nil)
		if got := wordOf(twice); got != word {
			t.Errorf("twice as large read %q, drawn was %q", got, word)
		}
		words, ok := see("data:image/png;base64," + base64.StdEncoding.EncodeToString(file))
		if !ok || !strings.Contains(words, "colour in the image is red") || strings.Contains(words, "word") != (word != "") {
			t.Errorf("%q is seen as %q, %t", word, words, ok)
		}
	}
	noise := image.NewGray(image.Rect(0, 0, 90, 90))
	for i := range noise.Pix {
		noise.Pix[i] = uint8((i * 2654435761) >> 13)
	}
	if got := wordOf(noise); got != "" {
		t.Errorf("read %q in noise", got)
	}
}
