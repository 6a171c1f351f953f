package drawn_test

import (
	"bytes"
	"image/color"
	"image/png"
	"testing"

	"infbench/internal/drawn"
)

// The middle keeps the colour, and a word adds white within the borders and nothing else.
func TestPicture(t *testing.T) {
	t.Parallel()
	blue := color.RGBA{B: 220, A: 255}
	for _, word := range []string{"", "TIGER", "WWWWWWWWW"} {
		m, err := png.Decode(bytes.NewReader(drawn.Picture(blue, word)))
		if err != nil {
			t.Fatal(err)
		}
		if m.Bounds().Dx() != drawn.Side || m.Bounds().Dy() != drawn.Side {
			t.Errorf("%q: %v", word, m.Bounds())
		}
		white := 0
		for y := range drawn.Side {
			for x := range drawn.Side {
				r, g, b, _ := m.At(x, y).RGBA()
				switch c := (color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 255}); {
				case c == color.RGBA{255, 255, 255, 255}:
					white++
					if x < 5 || x > drawn.Side-6 || y > drawn.Side/2-20 {
						t.Fatalf("%q: ink at %d, %d", word, x, y)
					}
				case c != blue:
					t.Fatalf("%q: %v at %d, %d", word, c, x, y)
				}
			}
		}
		// A letter of the font has from 9 (I) to 24 pixels, each enlarged to 5 by 5.
		if n := len(word); white < n*9*25 || white > n*30*25 {
			t.Errorf("%q: %d white pixels", word, white)
		}
	}
}
