package faultproxy

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"strings"
	"sync"
)

// A picture is a part of a message's content.
type contentPart map[string]json.RawMessage

func (p contentPart) kind() string {
	var s string
	_ = json.Unmarshal(p["type"], &s)
	return s
}

// pictures changes the parts of the messages that have any.
func (x *exchange) pictures(change func(p contentPart) (keep bool)) {
	list := x.messages()
	changed := false
	for _, m := range list {
		var all, kept []contentPart
		if json.Unmarshal(m["content"], &all) != nil {
			continue
		}
		for _, p := range all {
			if p.kind() != "image_url" || change(p) {
				kept = append(kept, p)
			}
		}
		m["content"] = encode(kept)
		changed = true
	}
	if changed {
		x.set("messages", list)
	}
}

var _ = register(fault{
	Info: Info{
		ID: "image-dropped", Stage: 2, Modes: []string{"TPL-05"},
		Doc: "pictures never reach the model",
	},
	build: always(acts{request: func(x *exchange) { x.pictures(func(contentPart) bool { return false }) }}),
})

var _ = register(fault{
	Info: Info{
		ID: "image-stale", Stage: 2, Modes: []string{"CAC-01"},
		Doc: "every picture is taken for the first one",
	},
	build: func(options) acts {
		var first firstPicture
		return acts{request: func(x *exchange) {
			x.pictures(func(p contentPart) bool {
				p["image_url"] = first.of(p["image_url"])
				return true
			})
		}}
	},
})

// firstPicture remembers the first picture that came.
type firstPicture struct {
	mu   sync.Mutex
	kept json.RawMessage
}

func (f *firstPicture) of(now json.RawMessage) json.RawMessage {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept == nil {
		f.kept = now
	}
	return f.kept
}

var _ = register(fault{
	Info: Info{
		ID: "image-blurred", Stage: 2, Modes: []string{"TPL-05"},
		Doc: "of a picture nothing but its average colour reaches the model",
	},
	build: always(acts{request: func(x *exchange) {
		x.pictures(func(p contentPart) bool {
			var address struct {
				URL string `json:"url"`
			}
			if json.Unmarshal(p["image_url"], &address) == nil {
				if url, ok := blurred(address.URL); ok {
					address.URL = url
					p["image_url"] = encode(address)
				}
			}
			return true
		})
	}}),
})

const dataPNG = "data:image/png;base64,"

// blurred returns a data URL's picture in its average colour; ok is false for what is no
// PNG of usual size.
func blurred(url string) (out string, ok bool) {
	text, ok := strings.CutPrefix(url, dataPNG)
	if !ok {
		return "", false
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", false
	}
	head, err := png.DecodeConfig(bytes.NewReader(raw))
	if err != nil || head.Width > 4096 || head.Height > 4096 {
		return "", false
	}
	m, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		return "", false
	}
	flat := image.NewRGBA(m.Bounds())
	draw.Draw(flat, flat.Bounds(), image.NewUniform(average(m)), image.Point{}, draw.Src)
	var b bytes.Buffer
	_ = png.Encode(&b, flat) // to memory: it cannot fail
	return dataPNG + base64.StdEncoding.EncodeToString(b.Bytes()), true
}

func average(m image.Image) color.Color {
	var r, g, b, n uint64
	for y := m.Bounds().Min.Y; y < m.Bounds().Max.Y; y++ {
		for x := m.Bounds().Min.X; x < m.Bounds().Max.X; x++ {
			pr, pg, pb, _ := m.At(x, y).RGBA()
			r, g, b, n = r+uint64(pr), g+uint64(pg), b+uint64(pb), n+1
		}
	}
	n = max(n, 1) << 8
	return color.RGBA{uint8(r / n), uint8(g / n), uint8(b / n), 255}
}
