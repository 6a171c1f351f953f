package faultproxy

// changeRuns is rewriteRuns for changes that are rare: the events of a run that stays
// as it is go out as they came. change is asked more than once about a run.
func changeRuns(want func(channel) bool, least int, change func(run string) string) filter {
	f := &runFilter{want: want, least: least, change: change, open: map[slot]string{}}
	f.inner = rewriteText(want, func() rewriter { return rewriteRuns(least, change) })
	return filter{event: f.event, end: f.end, body: f.inner.body}
}

type runFilter struct {
	want   func(channel) bool
	least  int
	change func(run string) string
	inner  filter
	open   map[slot]string // runs that may go on
	held   []*event        // since one of them began
	wrong  bool            // one of the held runs changes
}

func (f *runFilter) event(e *event, out outlet) {
	f.held = append(f.held, e)
	for _, p := range parts(e.doc) {
		for _, t := range p.texts() {
			if f.want(t.channel) {
				f.read(t.slot, t.text)
			}
		}
		for s := range f.open {
			if s.choice == p.index() && p.finish() != "" {
				f.close(s)
			}
		}
	}
	if len(f.open) == 0 {
		f.release(out)
	}
}

func (f *runFilter) read(s slot, text string) {
	for _, c := range text {
		if isDigit(c) {
			f.open[s] += string(c)
		} else {
			f.close(s)
		}
	}
}

func (f *runFilter) close(s slot) {
	if run := f.open[s]; len(run) >= f.least && f.change(run) != run {
		f.wrong = true
	}
	delete(f.open, s)
}

func (f *runFilter) release(out outlet) {
	for _, e := range f.held {
		if f.wrong {
			f.inner.event(e, out)
		} else {
			out.send(e)
		}
	}
	f.held, f.wrong = nil, false
}

// end covers streams without a finish reason.
func (f *runFilter) end(out outlet) {
	for s := range f.open {
		f.close(s)
	}
	f.release(out)
	f.inner.end(out)
}
