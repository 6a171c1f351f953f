package checkpoint

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth is how deep a document may nest. Real configurations stay below ten;
// without a limit a file of brackets exhausts the stack of a recursive reader.
const maxDepth = 64

// A scanner reads JSON from a string without building a tree, so that an index
// of 100,000 names costs little more than its text, and so that names which
// occur twice are seen: decoders into a map lose them.
type scanner struct {
	s string
	i int
	// python also takes NaN and Infinity, which Python writes into
	// configurations ("time_step_limit": [0.0, Infinity]).
	python bool
}

// A syntaxError says where a document stops being JSON.
type syntaxError struct {
	flaw   Flaw
	offset int
	what   string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("byte %d: %s", e.offset, e.what) }

func (sc *scanner) fail(format string, a ...any) error {
	return &syntaxError{FlawSyntax, sc.i, fmt.Sprintf(format, a...)}
}

// document calls f for each member of the one object that the text must be, and
// refuses anything after it but blanks.
func (sc *scanner) document(f func(key string) error) error {
	if !utf8.ValidString(sc.s) {
		return sc.fail("not UTF-8")
	}
	sc.space()
	if sc.peek() != '{' {
		if sc.i == len(sc.s) {
			return sc.fail("the file is empty")
		}
		return &syntaxError{FlawShape, sc.i, fmt.Sprintf("begins with %q, not with an object", sc.s[sc.i])}
	}
	if err := sc.object(f); err != nil {
		return err
	}
	sc.space()
	if sc.i < len(sc.s) {
		return &syntaxError{FlawTrailing, sc.i, fmt.Sprintf("%d bytes follow the document", len(sc.s)-sc.i)}
	}
	return nil
}

// space reads over blanks. It is small enough to be inlined where there is none, which
// is the usual case.
func (sc *scanner) space() {
	if sc.i < len(sc.s) && sc.s[sc.i] <= ' ' {
		sc.blanks()
	}
}

func (sc *scanner) blanks() {
	for sc.i < len(sc.s) {
		switch sc.s[sc.i] {
		case ' ', '\n', '\t', '\r':
			sc.i++
		default:
			return
		}
	}
}

// peek returns the next byte, 0 at the end.
func (sc *scanner) peek() byte {
	if sc.i < len(sc.s) {
		return sc.s[sc.i]
	}
	return 0
}

func (sc *scanner) want(b byte) error {
	sc.space()
	if sc.i == len(sc.s) {
		return sc.fail("the file ends where %q is wanted", b)
	}
	if sc.s[sc.i] != b {
		return sc.fail("%q where %q is wanted", sc.s[sc.i], b)
	}
	sc.i++
	return nil
}

// object calls f at the value of each member; f must read it.
func (sc *scanner) object(f func(key string) error) error {
	if err := sc.want('{'); err != nil {
		return err
	}
	if sc.space(); sc.peek() == '}' {
		sc.i++
		return nil
	}
	for {
		key, err := sc.str()
		if err != nil {
			return err
		}
		if err := sc.want(':'); err != nil {
			return err
		}
		sc.space()
		if err := f(key); err != nil {
			return err
		}
		if sc.space(); sc.peek() != ',' {
			return sc.want('}')
		}
		sc.i++
	}
}

// array calls f at each element; f must read it.
func (sc *scanner) array(f func() error) error {
	if err := sc.want('['); err != nil {
		return err
	}
	if sc.space(); sc.peek() == ']' {
		sc.i++
		return nil
	}
	for {
		sc.space()
		if err := f(); err != nil {
			return err
		}
		if sc.space(); sc.peek() != ',' {
			return sc.want(']')
		}
		sc.i++
	}
}

// str reads a string. Without escapes, the usual case, it shares the text.
func (sc *scanner) str() (string, error) {
	if err := sc.want('"'); err != nil {
		return "", err
	}
	start, escaped := sc.i, false
	for i := start; i < len(sc.s); i++ {
		if c := sc.s[i]; !ends[c] {
			continue
		} else if c == '"' {
			sc.i = i + 1
			if !escaped {
				return sc.s[start:i], nil
			}
			return sc.unescape(start)
		} else if c != '\\' {
			sc.i = i
			return "", sc.fail("a control character inside a string")
		}
		escaped = true
		i++
	}
	sc.i = len(sc.s)
	return "", sc.fail("the file ends inside a string")
}

// ends marks the bytes at which reading a string has to think.
var ends = func() (t [256]bool) {
	for c := range ' ' {
		t[c] = true
	}
	t['"'], t['\\'] = true, true
	return t
}()

func (sc *scanner) unescape(start int) (string, error) {
	var out string
	if err := json.Unmarshal([]byte(sc.s[start-1:sc.i]), &out); err != nil {
		return "", sc.fail("a string with a bad escape")
	}
	return out, nil
}

// uint reads a whole number of at most 64 bits, without sign, point or exponent.
func (sc *scanner) uint() (uint64, error) {
	start := sc.i
	var short uint64
	for sc.i < len(sc.s) && sc.s[sc.i] >= '0' && sc.s[sc.i] <= '9' {
		short = short*10 + uint64(sc.s[sc.i]-'0')
		sc.i++
	}
	if digits := sc.i - start; digits > 0 && digits < 19 && (digits == 1 || sc.s[start] != '0') {
		return short, nil // too few digits to overflow
	}
	n, err := strconv.ParseUint(sc.s[start:sc.i], 10, 64)
	if err != nil || sc.i-start > 1 && sc.s[start] == '0' {
		return 0, &syntaxError{FlawShape, start, "no whole number where one is wanted"}
	}
	return n, nil
}

// skip reads any value that nests at most depth levels deeper.
func (sc *scanner) skip(depth int) error {
	if depth < 0 {
		return &syntaxError{FlawTooDeep, sc.i, fmt.Sprintf("nested deeper than %d levels", maxDepth)}
	}
	switch c := sc.peek(); {
	case c == '{':
		return sc.object(func(string) error { return sc.skip(depth - 1) })
	case c == '[':
		return sc.array(func() error { return sc.skip(depth - 1) })
	case c == '"':
		_, err := sc.str()
		return err
	default:
		return sc.literal()
	}
}

// literal reads a number, true, false or null.
func (sc *scanner) literal() error {
	if sc.python {
		for _, word := range [...]string{"NaN", "Infinity", "-Infinity"} {
			if strings.HasPrefix(sc.s[sc.i:], word) {
				sc.i += len(word)
				return nil
			}
		}
	}
	if sc.i == len(sc.s) {
		return sc.fail("the file ends where a value is wanted")
	}
	n := strings.IndexFunc(sc.s[sc.i:], func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r == '.' || r == '-' || r == '+' || r == 'E')
	})
	if n < 0 {
		n = len(sc.s) - sc.i
	}
	if n == 0 || !json.Valid([]byte(sc.s[sc.i:sc.i+n])) {
		return sc.fail("no JSON value")
	}
	sc.i += n
	return nil
}

// addError records the error that ended a document's reading.
func (p *problems) addError(err error) {
	if e, ok := err.(*syntaxError); ok { //nolint:errorlint // our own scanner never wraps it
		p.add(e.flaw, "", "byte %d: %s", e.offset, e.what)
		return
	}
	p.add(FlawSyntax, "", "%v", err)
}
