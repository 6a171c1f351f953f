package faultproxy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Param is a parameter of a fault: name=value in a spec.
type Param struct {
	Name    string
	Default string // "" is absent, which only a condition can be
	Doc     string

	kind    kind
	choices []string // of a choice
	own     bool     // it has the name of a condition, and the fault asks it itself
}

type kind uint8

const (
	wholeNumber kind = iota
	duration
	choice
	wholeNumbers
)

func number(name, fallback, doc string) Param {
	return Param{Name: name, Default: fallback, Doc: doc, kind: wholeNumber}
}

func span(name, fallback, doc string) Param {
	return Param{Name: name, Default: fallback, Doc: doc, kind: duration}
}

// numbers are separated by a plus sign, since a comma ends a parameter.
func numbers(name, fallback, doc string) Param {
	return Param{Name: name, Default: fallback, Doc: doc, kind: wholeNumbers}
}

// asksItself is for a parameter that is not to narrow the whole fault.
func asksItself(p Param) Param {
	p.own = true
	return p
}

// oneOf has its first choice as default.
func oneOf(name, doc string, choices ...string) Param {
	return Param{Name: name, Default: choices[0], Doc: doc, kind: choice, choices: choices}
}

// check says whether the text is a value of the parameter.
func (p Param) check(text string) error {
	switch p.kind {
	case wholeNumber:
		if n, err := strconv.Atoi(text); err != nil || n < 0 {
			return fmt.Errorf("%s=%s: want a whole number, not negative", p.Name, text)
		}
	case duration:
		if d, err := time.ParseDuration(text); err != nil || d < 0 {
			return fmt.Errorf("%s=%s: want a duration such as 250ms, not negative", p.Name, text)
		}
	case wholeNumbers:
		for one := range strings.SplitSeq(text, "+") {
			if n, err := strconv.Atoi(one); err != nil || n < 0 {
				return fmt.Errorf("%s=%s: want whole numbers such as 4+8, not negative", p.Name, text)
			}
		}
	case choice:
		if !slices.Contains(p.choices, text) {
			return fmt.Errorf("%s=%s: want one of %s", p.Name, text, strings.Join(p.choices, ", "))
		}
	}
	return nil
}

// options are the checked values of a spec, defaults filled in. Asking for a name
// that the fault did not declare gives the zero value.
type options map[string]string

func (o options) number(name string) int {
	n, _ := strconv.Atoi(o[name])
	return n
}

func (o options) numbers(name string) (list []int) {
	for one := range strings.SplitSeq(o[name], "+") {
		n, _ := strconv.Atoi(one)
		list = append(list, n)
	}
	return list
}

func (o options) duration(name string) time.Duration {
	d, _ := time.ParseDuration(o[name])
	return d
}

func (o options) text(name string) string { return o[name] }
