package faultproxy

import "encoding/json"

// reword changes the place of an answer: what is said there, and the scores beside it.
// A change that says another word returns it.
func reword(x *exchange, words int, change func(word string, score object) (instead string)) filter {
	f := &rewording{change: change, open: map[int]*wording{}, fresh: func() *wording { return &wording{prompt: x.prompt, words: words} }}
	return filter{event: f.event, end: f.release, body: f.body}
}

type rewording struct {
	change func(word string, score object) string
	fresh  func() *wording
	open   map[int]*wording // by choice

	held *event // ends with a word that may be the place
	at   place  // in its text
	of   int    // its choice
}

func (f *rewording) wording(choice int) *wording {
	w := f.open[choice]
	if w == nil {
		w = f.fresh()
		f.open[choice] = w
	}
	return w
}

func (f *rewording) event(e *event, out outlet) {
	if f.held != nil {
		f.decide(e, out)
	}
	for _, p := range parts(e.doc) {
		w := f.wording(p.index())
		at, ok, open := w.find(p.visible(), p.covers)
		switch {
		case ok && open && p.finish() == "":
			f.held, f.at, f.of = e, at, p.index()
			return
		case ok:
			w.found = true
			f.apply(e, p, at)
		}
	}
	out.send(e)
}

// decide lets go the event that waits, now that it is known what follows.
func (f *rewording) decide(next *event, out outlet) {
	follows := ""
	for _, p := range parts(next.doc) {
		if p.index() == f.of {
			follows = p.visible()
		}
	}
	e := f.held
	f.held = nil
	for _, p := range parts(e.doc) {
		if p.index() == f.of && !f.wording(f.of).goesOn(follows) {
			f.apply(e, p, f.at)
		}
	}
	out.send(e)
}

func (f *rewording) release(out outlet) {
	if f.held != nil {
		f.decide(&event{}, out)
	}
}

func (f *rewording) apply(e *event, p part, at place) {
	if f.replace(p, at) {
		e.changed()
	}
}

func (f *rewording) body(doc object) (changed bool) {
	for _, p := range parts(doc) {
		if at, ok, _ := f.wording(p.index()).find(p.visible(), p.covers); ok {
			changed = f.replace(p, at) || changed
		}
	}
	return changed
}

func (f *rewording) replace(p part, at place) bool {
	text := p.visible()
	score := p.scoreAt(at)
	instead := f.change(text[at.from:at.to], score)
	if instead != "" {
		p.setVisible(text[:at.from] + instead + text[at.to:])
	}
	return instead != "" || score != nil
}

// covers: the word is a token of its own, as far as the tokens are told. Where ids are
// told there is none for another word.
func (p part) covers(at place) bool {
	if ids, ok := p.choice["token_ids"].([]any); ok && len(ids) > 0 {
		return false
	}
	return p.choice["logprobs"] == nil || p.scoreAt(at) != nil
}

// scoreAt is the entry of the token that is the word, with a space before it or not.
func (p part) scoreAt(at place) object {
	from := 0
	for _, entry := range scores(p) {
		token := toText(entry["token"])
		to := from + len(token)
		if to == at.to && (from == at.from || from == at.from-1 && token[0] == ' ') {
			return entry
		}
		from = to
	}
	return nil
}

// asksScores: the request wants log probabilities.
func asksScores(x *exchange) bool {
	v := x.asked("logprobs")
	var n int
	return string(v) == "true" || json.Unmarshal(v, &n) == nil && string(v) != "null"
}
