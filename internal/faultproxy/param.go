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
}

type kind uint8

const (
	wholeNumber kind = iota
	duration
	choice
)

func number(name, fallback, doc string) Param {
	return Param{Name: name, Default: fallback, Doc: doc, kind: wholeNumber}
}

func span(name, fallback, doc string) Param {
	return Param{Name: name, Default: fallback, Doc: doc, kind: duration}
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

func (o options) duration(name string) time.Duration {
	d, _ := time.ParseDuration(o[name])
	return d
}

func (o options) text(name string) string { return o[name] }
