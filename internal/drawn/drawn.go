// Package drawn makes the pictures that a model is asked about: one colour, and on it,
// where wanted, a word in large letters.
package drawn

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

// Side is the width and height of a picture in pixels: several patches of every known
// image encoder.
const Side = 336

// scale enlarges the letters: those of Face are 13 pixels high.
const scale = 5

// Face is the font of the words, fixed in width.
var Face = basicfont.Face7x13

// Picture returns a PNG of one colour with a word in white in its upper third; the middle
// of the picture is plain. A word of up to nine capital letters fits; "" leaves it out.
func Picture(background color.RGBA, word string) []byte {
	small := image.NewAlpha(image.Rect(0, 0, Side/scale, Side/scale))
	d := font.Drawer{Dst: small, Src: image.Opaque, Face: Face}
	x := (small.Bounds().Dx() - font.MeasureString(Face, word).Ceil()) / 2
	d.Dot = fixed.P(x, 4+Face.Ascent)
	d.DrawString(word)
	m := image.NewRGBA(image.Rect(0, 0, Side, Side))
	draw.Draw(m, m.Bounds(), image.NewUniform(background), image.Point{}, draw.Src)
	for y := range Side {
		for x := range Side {
			if small.AlphaAt(x/scale, y/scale).A > 127 {
				m.SetRGBA(x, y, color.RGBA{R: 255, G: 255, B: 255, A: 255})
			}
		}
	}
	var b bytes.Buffer
	_ = png.Encode(&b, m) // to memory: it cannot fail
	return b.Bytes()
}
