package faultproxy

import (
	"slices"
	"sync"
)

// Prefix caches that answer wrongly, each on one kind of hit.

var _ = register(fault{
	Info: Info{
		ID: "evicted-wrong", Stage: 3, Modes: []string{"CAC-05"},
		Doc: "numbers of five or more digits are wrong where a prompt begins like an earlier one that other prompts have pushed out of the cache since",
		Params: []Param{
			number("after-characters", "60000", "characters of other prompts that push one out"),
			oneOf("how", "slip: one digit is wrong; foreign: the number is one of another prompt", "slip", "foreign"),
		},
	},
	build: func(o options) acts {
		last := &lastCodes{}
		return acts{answer: func(x *exchange) filter {
			codes := last.swap(x)
			switch {
			case !x.warm || x.away < o.number("after-characters"):
				return filter{}
			case o.text("how") == "slip" || len(codes) == 0:
				return digits(everyText, slip)(x)
			}
			return changeRuns(everyText, longRun, func(run string) string { return counterpart(run, x.runs, codes) })
		}}
	},
})

// lastCodes are the long numbers of the latest prompt that had any. Safe for concurrent
// use.
type lastCodes struct {
	mu   sync.Mutex
	head string
	runs []string
}

// swap returns those of another beginning than x has, and remembers those of x.
func (l *lastCodes) swap(x *exchange) (other []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.head != x.head || x.head == "" {
		other = l.runs
	}
	if len(x.runs) > 0 {
		l.head, l.runs = x.head, x.runs
	}
	return other
}

var _ = register(fault{
	Info: Info{
		ID: "partial-hit-wrong", Stage: 3, Modes: []string{"CAC-01", "CAC-02"},
		Doc: "one digit is wrong in every number of five or more where a prompt begins like an earlier one and goes on differently; repeats are right",
	},
	build: always(acts{
		scope:  func(x *exchange) bool { return x.generates && x.warm && !x.again },
		answer: digits(everyText, slip),
	}),
})

var _ = register(fault{
	Info: Info{
		ID: "remembers", Stage: 3, Modes: []string{"CAC-03"},
		Doc: "a prompt without a long number, which begins like an earlier one with some, is read as if it told the earlier one's as well",
	},
	build: always(acts{request: func(x *exchange) {
		list := x.messages()
		if len(x.runs) > 0 || len(x.stale) == 0 || len(list) == 0 {
			return
		}
		last := list[len(list)-1]
		last.setText("My secret code is " + x.stale[0] + ". " + last.text())
		x.set("messages", list)
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "tenant-tail", Stage: 3, Modes: []string{"CAC-02", "CAC-03"},
		Doc: "a prompt that begins like an earlier one and goes on differently gets the long number that the earlier one was answered with",
	},
	build: func(options) acts {
		t := &tenants{answers: map[string][]tenant{}}
		return acts{
			scope:  func(x *exchange) bool { return x.generates && x.head != "" },
			answer: t.answer,
		}
	},
})

// tenants remember what prompts with one beginning were answered. Safe for concurrent
// use.
type tenants struct {
	mu      sync.Mutex
	answers map[string][]tenant // by beginning, the latest first
}

type tenant struct {
	prompt uint64
	runs   []string
}

// mostTenants is how many a beginning keeps.
const mostTenants = 8

func (t *tenants) answer(x *exchange) filter {
	own := hashOf(x.prompt)
	earlier := t.other(x.head, own)
	heard := &listener{}
	remember := func() { t.add(x.head, tenant{own, heard.runs()}) }
	f := filter{
		event: func(e *event, out outlet) { out.send(e) },
		end:   func(outlet) {},
		body:  func(object) bool { return false },
	}
	if len(earlier) > 0 {
		f = changeRuns(everyText, longRun, func(run string) string { return alike(run, earlier) })
	}
	// What is remembered is the upstream's: a wrong number is not handed on.
	f = changedFirst(f, heard.listen)
	return filter{
		event: f.event,
		end: func(out outlet) {
			f.end(out)
			remember()
		},
		body: func(doc object) bool {
			defer remember()
			return f.body(doc)
		},
	}
}

// alike is the first of the numbers that is as long as run, or else the first.
func alike(run string, numbers []string) string {
	return numbers[max(slices.IndexFunc(numbers, func(n string) bool { return len(n) == len(run) }), 0)]
}

// other returns the numbers of the latest answer to another prompt.
func (t *tenants) other(head string, own uint64) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.answers[head], func(a tenant) bool { return a.prompt != own })
	if i < 0 {
		return nil
	}
	return t.answers[head][i].runs
}

func (t *tenants) add(head string, a tenant) {
	if len(a.runs) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	list := slices.DeleteFunc(t.answers[head], func(b tenant) bool { return b.prompt == a.prompt })
	list = slices.Insert(list, 0, a)
	t.answers[head] = list[:min(len(list), mostTenants)]
}

// A listener gathers the texts of an answer.
type listener struct {
	slots []slot
	texts map[slot]string
}

// listen takes in a document and leaves it as it is.
func (l *listener) listen(doc object) bool {
	for _, p := range parts(doc) {
		for _, t := range p.texts() {
			if t.channel == thought {
				continue
			}
			if l.texts == nil {
				l.texts = map[slot]string{}
			}
			if _, ok := l.texts[t.slot]; !ok {
				l.slots = append(l.slots, t.slot)
			}
			l.texts[t.slot] += t.text
		}
	}
	return false
}

// runs are the long numbers in what was said, each once.
func (l *listener) runs() (out []string) {
	for _, s := range l.slots {
		for _, run := range digitRuns(l.texts[s], longRun) {
			if !slices.Contains(out, run) {
				out = append(out, run)
			}
		}
	}
	return out
}
