package faultproxy

import "slices"

// Conditions are the parameters that every fault takes. Several must hold together.
// A fault that names one of them among its own parameters only gives it a default.
func Conditions() []Param {
	return []Param{
		number("above", "", "only for requests during which more than this many were in flight"),
		number("after", "", "only after this many generation requests"),
		number("depth", "", "only when the prompt text has more characters than this"),
		{Name: "warm", Doc: "1: only when the prompt shares its first 200 characters with an earlier one; 0: only when not", kind: choice, choices: []string{"0", "1"}},
		number("every", "", "only every n-th generation request"),
		{Name: "stream", Doc: "1: only streamed answers; 0: only the others", kind: choice, choices: []string{"0", "1"}},
	}
}

// byDefault is a condition that holds for a fault unless its spec says otherwise.
func byDefault(name, value string) Param {
	list := Conditions()
	p := list[slices.IndexFunc(list, func(p Param) bool { return p.Name == name })]
	p.Default = value
	return p
}

// The two conditions that faults have most.
var (
	inCompany = byDefault("above", "1")
	whenWarm  = byDefault("warm", "1")
)

// conditions say when a fault acts. A negative number is not asked.
type conditions struct {
	above, after, depth, warm, every, stream int
}

// newConditions leaves out what the fault asks itself.
func newConditions(o options, params []Param) conditions {
	ask := func(name string) int {
		own := slices.ContainsFunc(params, func(p Param) bool { return p.Name == name && p.own })
		if _, given := o[name]; !given || own {
			return -1
		}
		return o.number(name)
	}
	return conditions{
		above: ask("above"), after: ask("after"), depth: ask("depth"),
		warm: ask("warm"), every: ask("every"), stream: ask("stream"),
	}
}

// hold is asked on arrival for what touches the request, and at the first output
// for what touches the answer: by then the requests of one burst have all come in,
// so "above" counts the largest number that was there together.
func (c conditions) hold(x *exchange) bool {
	switch {
	case c.after >= 0 && x.earlier < c.after,
		c.depth >= 0 && x.length <= c.depth,
		c.warm >= 0 && x.warm != (c.warm == 1),
		c.every > 0 && (x.earlier+1)%c.every != 0,
		c.stream >= 0 && x.streams != (c.stream == 1),
		c.above >= 0 && x.traffic.peak(x) <= c.above:
		return false
	}
	return true
}
