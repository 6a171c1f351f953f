package refengine

import (
	"image"

	"golang.org/x/image/font/basicfont"
)

// The one script that a clock model reads: capitals of a fixed-width bitmap font, white
// on a colour, enlarged by a whole number.

// letterSize are the width and height of a letter's cell in the font's own pixels.
const letterWidth, letterHeight = 7, 13

// wordOf reads the word in a picture, "" where there is none or it is in another hand.
func wordOf(m image.Image) string {
	ink := inkOf(m)
	if ink.Empty() {
		return ""
	}
	for scale := 1; scale <= 16; scale++ {
		// The ink of the first letter begins somewhere in its cell, that of the highest
		// somewhere below its top.
		for left := range letterWidth {
			for top := range letterHeight {
				at := image.Pt(ink.Min.X-left*scale, ink.Min.Y-top*scale)
				if text := line(m, at, scale, ink); text != "" {
					return text
				}
			}
		}
	}
	return ""
}

func isInk(m image.Image, x, y int) bool {
	r, g, b, _ := m.At(x, y).RGBA()
	return min(r, g, b) > 0xf000
}

// inkOf returns the bounds of what is white. A picture that is white in a corner has none.
func inkOf(m image.Image) image.Rectangle {
	var out image.Rectangle
	b := m.Bounds()
	if isInk(m, b.Min.X, b.Min.Y) {
		return out
	}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if isInk(m, x, y) {
				out = out.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return out
}

// line reads letters from cells that begin at a point, "" where one is no letter.
func line(m image.Image, at image.Point, scale int, ink image.Rectangle) string {
	var text []byte
	for x := at.X; x < ink.Max.X; x += letterWidth * scale {
		c := letter(m, image.Pt(x, at.Y), scale)
		if c == 0 || len(text) > 12 {
			return ""
		}
		text = append(text, c)
	}
	if at.Y+letterHeight*scale < ink.Max.Y {
		return ""
	}
	return string(text)
}

// letter returns the capital whose every pixel is that of a cell, 0 for none.
func letter(m image.Image, at image.Point, scale int) byte {
	face := basicfont.Face7x13
	mask, ok := face.Mask.(*image.Alpha)
	if !ok {
		return 0
	}
next:
	for c := byte('A'); c <= 'Z'; c++ {
		top := (int(c) - int(face.Ranges[0].Low) + face.Ranges[0].Offset) * letterHeight
		for y := range letterHeight {
			for x := range letterWidth {
				want := x < face.Width && mask.AlphaAt(x, top+y).A > 127
				if isInk(m, at.X+x*scale+scale/2, at.Y+y*scale+scale/2) != want {
					continue next
				}
			}
		}
		return c
	}
	return 0
}
