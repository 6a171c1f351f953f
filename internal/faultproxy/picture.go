package faultproxy

import (
	"encoding/json"
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
