package tokens

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Split patterns are written for Oniguruma and run by regexp2. The two agree on
// a subset: literals, classes, the escapes below, general categories and some
// scripts, groups, look-around, plain quantifiers. vet lets only that through.
// Outside lie, for example, ^ and $ (always by line in Oniguruma), \w and \b,
// nested classes and &&, possessive quantifiers, inline flags.

// contractions is the one case-blind group in use. Oniguruma folds by Unicode,
// where ſ is an s; regexp2 does not, so the group is written out for it.
const (
	contractions      = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	contractionsSpelt = `(?:'[sSſ]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])`
)

// translate returns the pattern as regexp2 has to see it.
func translate(expr string) (string, error) {
	expr = strings.ReplaceAll(expr, contractions, contractionsSpelt)
	v := vetter{in: []rune(expr)}
	if err := v.vet(); err != nil {
		return "", fmt.Errorf("%w: split pattern: %w at character %d of %q", ErrUnsupported, err, v.at, expr)
	}
	return expr, nil
}

type vetter struct {
	in    []rune
	at    int
	depth int
	atom  bool // a quantifier may follow
}

// has consumes the prefix if it is next.
func (v *vetter) has(prefix string) bool {
	p := []rune(prefix)
	if !slices.Equal(v.in[v.at:min(v.at+len(p), len(v.in))], p) {
		return false
	}
	v.at += len(p)
	return true
}

func (v *vetter) vet() error {
	for v.at < len(v.in) {
		if err := v.next(); err != nil {
			return err
		}
	}
	if v.depth != 0 {
		return fmt.Errorf("unclosed group")
	}
	return nil
}

func (v *vetter) next() error {
	c := v.in[v.at]
	switch c {
	case '(':
		return v.open()
	case ')':
		v.depth--
		v.at++
		v.atom = true
		if v.depth < 0 {
			return fmt.Errorf("unopened group")
		}
	case '|':
		v.at++
		v.atom = false
	case '*', '+', '?', '{':
		return v.quantifier(c)
	case '[':
		v.at++
		v.atom = true
		return v.class()
	case '\\':
		v.atom = true
		_, err := v.escape()
		return err
	case '^', '$', ']', '}':
		return fmt.Errorf("unescaped %q", c)
	default:
		v.at++
		v.atom = true
	}
	return nil
}

func (v *vetter) open() error {
	v.at++
	v.depth++
	v.atom = false
	if v.at < len(v.in) && v.in[v.at] == '?' &&
		!v.has("?:") && !v.has("?=") && !v.has("?!") && !v.has("?<=") && !v.has("?<!") {
		return fmt.Errorf("unknown kind of group")
	}
	return nil
}

// quantifier takes * + ? with an optional lazy ?, and {n}, {n,}, {n,m} bare:
// what a second mark after them means is not the same on both sides.
func (v *vetter) quantifier(c rune) error {
	if !v.atom {
		return fmt.Errorf("quantifier without an operand of its own")
	}
	v.atom = false
	v.at++
	if c != '{' {
		v.has("?")
		return nil
	}
	if !v.number() {
		return fmt.Errorf("unknown repetition")
	}
	if v.has(",") {
		v.number()
	}
	if !v.has("}") {
		return fmt.Errorf("unknown repetition")
	}
	return nil
}

func (v *vetter) number() bool {
	from := v.at
	for v.at < len(v.in) && v.at < from+4 && v.in[v.at] >= '0' && v.in[v.at] <= '9' {
		v.at++
	}
	return v.at > from
}

// member is what one item of a class stands for.
type member int

const (
	single member = iota // one character, which may begin a range
	set
	negatedSet
)

// class reads to the closing bracket. A negated set beside another set is
// refused: regexp2 stops at the first of them.
func (v *vetter) class() error {
	v.has("^")
	sets, negated := 0, 0
	for first := true; ; first = false {
		if v.at >= len(v.in) {
			return fmt.Errorf("unclosed class")
		}
		if !first && v.has("]") {
			break
		}
		kind, err := v.item(first)
		if err != nil {
			return err
		}
		if kind != single {
			sets++
		}
		if kind == negatedSet {
			negated++
		}
	}
	if negated > 0 && sets > 1 {
		return fmt.Errorf("negated set beside another in a class")
	}
	return nil
}

// item reads a character, a range or a set.
func (v *vetter) item(first bool) (member, error) {
	if v.in[v.at] == '-' && !first && !v.closesAfterDash() {
		return 0, fmt.Errorf("dash that could be a range")
	}
	lo, kind, err := v.character()
	if err != nil || v.at >= len(v.in) || v.in[v.at] != '-' || v.closesAfterDash() {
		return kind, err
	}
	v.at++
	if v.at >= len(v.in) {
		return 0, fmt.Errorf("unclosed class")
	}
	hi, end, err := v.character()
	switch {
	case err != nil:
		return 0, err
	case kind != single || end != single || lo > hi:
		return 0, fmt.Errorf("range without two ends in order")
	}
	return single, nil
}

func (v *vetter) closesAfterDash() bool {
	return v.at+1 < len(v.in) && v.in[v.at+1] == ']'
}

func (v *vetter) character() (rune, member, error) {
	c := v.in[v.at]
	switch {
	case c == '[' || c == ']':
		return 0, 0, fmt.Errorf("unescaped %q in a class", c)
	case c == '&' && v.at+1 < len(v.in) && v.in[v.at+1] == '&':
		return 0, 0, fmt.Errorf("intersection of classes")
	case c == '\\':
		kind, err := v.escape()
		return v.in[v.at-1], kind, err
	}
	v.at++
	return c, single, nil
}

// escape leaves at behind the escape. For a single character the rune before at
// is that character, but for the control ones, which make no sense in a range.
func (v *vetter) escape() (member, error) {
	v.at++
	if v.at >= len(v.in) {
		return 0, fmt.Errorf("backslash at the end")
	}
	c := v.in[v.at]
	v.at++
	switch {
	case strings.ContainsRune("sd", c):
		return set, nil
	case strings.ContainsRune("SD", c):
		return negatedSet, nil
	case strings.ContainsRune("rntfv", c):
		return single, nil
	case c == 'p' || c == 'P':
		return v.property(c == 'P')
	case c < unicode.MaxASCII && (unicode.IsPunct(c) || unicode.IsSymbol(c)) || c == ' ':
		return single, nil
	}
	return 0, fmt.Errorf("unknown escape %q", c)
}

// properties that mean the same on both sides. C is not among them: Go's table
// leaves out the unassigned.
var properties = strings.Fields(`L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po
	S Sm Sc Sk So Z Zs Zl Zp Han Hiragana Katakana Hangul Latin Greek Cyrillic Arabic Hebrew Thai`)

func (v *vetter) property(negated bool) (member, error) {
	if !v.has("{") {
		return 0, fmt.Errorf("property without braces")
	}
	end := slices.Index(v.in[v.at:], '}')
	if end < 0 || !slices.Contains(properties, string(v.in[v.at:v.at+end])) {
		return 0, fmt.Errorf("unknown property")
	}
	v.at += end + 1
	if negated {
		return negatedSet, nil
	}
	return set, nil
}
