package faultproxy

import "strings"

// A rewriter changes one text as it streams by. It may hold back what it cannot
// judge yet.
type rewriter struct {
	feed func(s string) string
	rest func() string // at the end of the text; nil: nothing
}

// rewriteText filters the texts of the wanted channels, each with a rewriter of its
// own. Events keep their number; a text that is held back leaves with a later one.
func rewriteText(want func(channel) bool, fresh func() rewriter) filter {
	f := &textFilter{want: want, fresh: fresh, open: map[slot]*rewriter{}}
	return filter{event: f.event, end: f.end, body: f.body}
}

func onlyVisible(c channel) bool { return c == visible }

func onlyArguments(c channel) bool { return c == arguments }

func everyText(channel) bool { return true }

type textFilter struct {
	want  func(channel) bool
	fresh func() rewriter
	open  map[slot]*rewriter
	order []slot // of open, as they appeared
	last  *event // the form of an event to add
}

func (f *textFilter) rewriter(s slot) *rewriter {
	r, ok := f.open[s]
	if !ok {
		fresh := f.fresh()
		r = &fresh
		f.open[s] = r
		f.order = append(f.order, s)
	}
	return r
}

func (f *textFilter) event(e *event, out outlet) {
	if len(parts(e.doc)) > 0 {
		f.last = e
	}
	for _, p := range parts(e.doc) {
		f.change(e, p)
		if p.finish() != "" {
			f.close(e, p.texts(), out, p.index())
		}
	}
	out.send(e)
}

func (f *textFilter) change(e *event, p part) {
	for _, t := range p.texts() {
		if !f.want(t.channel) || t.text == "" {
			continue
		}
		r := f.rewriter(t.slot)
		if r == nil {
			continue // this text is closed: more of it is not ours
		}
		if s := r.feed(t.text); s != t.text {
			t.set(s)
			e.changed()
		}
	}
}

// close lets go what the rewriters of a choice still have: into the finishing event
// where that has a place for it, before it otherwise.
func (f *textFilter) close(e *event, here []piece, out outlet, choice int) {
	for _, s := range f.order {
		r := f.open[s]
		if s.choice != choice || r == nil || r.rest == nil {
			continue
		}
		f.open[s] = nil
		rest := r.rest()
		if rest == "" {
			continue
		}
		if i := indexOf(here, s); i >= 0 && here[i].text != "" {
			here[i].set(here[i].text + rest)
			e.changed()
			continue
		}
		out.send(e.like(s, rest))
	}
}

func indexOf(list []piece, s slot) int {
	for i, p := range list {
		if p.slot == s {
			return i
		}
	}
	return -1
}

// end covers streams without a finish reason.
func (f *textFilter) end(out outlet) {
	for _, s := range f.order {
		if r := f.open[s]; r != nil && r.rest != nil {
			if rest := r.rest(); rest != "" {
				out.send(f.last.like(s, rest))
			}
		}
	}
}

func (f *textFilter) body(doc object) bool {
	changed := false
	for _, p := range parts(doc) {
		for _, t := range p.texts() {
			if !f.want(t.channel) || t.text == "" {
				continue
			}
			r := f.fresh()
			s := r.feed(t.text)
			if r.rest != nil {
				s += r.rest()
			}
			if s != t.text {
				t.set(s)
				changed = true
			}
		}
	}
	return changed
}

// changedFirst changes each document before f sees it.
func changedFirst(f filter, change func(doc object) bool) filter {
	return filter{
		open: f.open,
		event: func(e *event, out outlet) {
			if e.doc != nil && change(e.doc) {
				e.changed()
			}
			f.event(e, out)
		},
		end:  f.end,
		body: func(doc object) bool { changed := change(doc); return f.body(doc) || changed },
	}
}

// asIs is the rewriter that leaves a text as it is.
func asIs(s string) string { return s }

// streamed leaves answers without stream alone.
func streamed(f filter) filter {
	f.body = nil
	return f
}

// rewriteRuns changes runs of at least least digits, wherever events cut them.
func rewriteRuns(least int, change func(run string) string) rewriter {
	held := ""
	turn := func(run string) string {
		if len(run) < least {
			return run
		}
		return change(run)
	}
	return rewriter{
		feed: func(s string) string {
			var out strings.Builder
			for _, c := range s {
				if isDigit(c) {
					held += string(c)
					continue
				}
				out.WriteString(turn(held))
				held = ""
				out.WriteRune(c)
			}
			return out.String()
		},
		rest: func() string {
			s := turn(held)
			held = ""
			return s
		},
	}
}

func isDigit(c rune) bool { return c >= '0' && c <= '9' }

// digitRuns lists the runs of at least least digits, each once, in order.
func digitRuns(s string, least int) []string {
	var out []string
	seen := map[string]bool{}
	for _, run := range strings.FieldsFunc(s, func(c rune) bool { return !isDigit(c) }) {
		if len(run) >= least && !seen[run] {
			seen[run] = true
			out = append(out, run)
		}
	}
	return out
}
