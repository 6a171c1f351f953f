package reader

import (
	"math"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// number finds the value of a numeric property.
func (f *filler) number(name string, at int, given bool) (string, bool) {
	if given {
		if n := numberRE.FindString(f.text[at:]); n != "" && strings.HasPrefix(f.text[at:], n) {
			return n, true
		}
	}
	if len(f.nums) > 0 && !f.whole {
		n := f.nums[0].value
		f.nums = f.nums[1:]
		return n, true
	}
	if n, ok := f.c.find(spaces(name)); ok {
		if v := numberRE.FindString(n.value); v != "" {
			return v, true
		}
	}
	if len(f.nums) > 0 {
		n := f.nums[0].value
		f.nums = f.nums[1:]
		return n, true
	}
	return "1", false
}

// fit makes a number obey the limits of its schema.
func fit(text string, s gjson.Result) string {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		v = 0
	}
	whole := typeOf(s) == "integer"
	step := 1.0
	if !whole {
		step = 0.5
	}
	low, high := math.Inf(-1), math.Inf(1)
	if m := s.Get("minimum"); m.Exists() {
		low = m.Num
	}
	if m := s.Get("exclusiveMinimum"); m.Type == gjson.Number {
		low = math.Max(low, m.Num+step)
	}
	if m := s.Get("maximum"); m.Exists() {
		high = m.Num
	}
	if m := s.Get("exclusiveMaximum"); m.Type == gjson.Number {
		high = math.Min(high, m.Num-step)
	}
	clamped := math.Min(math.Max(v, low), high)
	if m := s.Get("multipleOf").Num; m > 0 {
		clamped = math.Ceil(clamped/m) * m
		if clamped > high {
			clamped -= m
		}
	}
	switch {
	case whole:
		return strconv.FormatInt(int64(math.Ceil(clamped)), 10)
	case clamped == v:
		return strings.TrimLeft(text, "+")
	}
	return strconv.FormatFloat(clamped, 'g', -1, 64)
}

// boolean finds a truth value.
func (f *filler) boolean(name string, at int, given bool) (string, bool) {
	text := ""
	if given {
		text, _, _ = strings.Cut(f.text[at:], " ")
	}
	if !boolRE.MatchString(text) {
		if n, ok := f.c.find(spaces(name)); ok {
			text = n.value
		}
	}
	if !boolRE.MatchString(text) && !f.whole {
		text = regexp.MustCompile(`(?i)\b(true|false)\b`).FindString(f.text)
	}
	m := boolRE.FindString(text)
	switch strings.ToLower(m) {
	case "false", "no", "off":
		return "false", true
	}
	return "true", m != ""
}

// str finds the value of a text property.
func (f *filler) str(name string, at int, given bool) (string, bool) {
	if given {
		if v, ok := f.textAt(at); ok {
			return v, true
		}
	}
	if f.whole {
		if n, ok := f.c.find(spaces(name)); ok {
			return n.value, true
		}
	}
	if len(f.loose) > 0 {
		v := f.loose[0].value
		f.loose = f.loose[1:]
		return v, true
	}
	if f.whole {
		return newProse(f.c.Origin ^ uint64(len(name))).noun(), false
	}
	if v, ok := f.described(); ok {
		return v, true
	}
	if n, ok := f.c.findLatest(spaces(name)); ok {
		return n.value, true
	}
	if v, ok := f.pointedAt(); ok {
		return v, true
	}
	return spaces(name), false
}

// textAt reads the text that begins at the offset: quoted, described, or up to the
// next comma.
func (f *filler) textAt(at int) (string, bool) {
	if v, _, ok := quotedAt(f.text, at); ok {
		return v, true
	}
	rest := f.text[at:]
	if strings.HasPrefix(f.low[at:], "the ") {
		phrase, _ := cutPhrase(rest)
		if n, ok := f.c.findLatest(phrase); ok {
			return n.value, true
		}
	}
	if strings.HasPrefix(rest, "\n") || strings.HasPrefix(strings.TrimLeft(rest, " "), "\n") {
		return strings.TrimSpace(rest), true
	}
	phrase, ok := cutPhrase(rest)
	return strings.Trim(phrase, "\"'` "), ok
}

// cutPhrase returns the words up to the next clause.
func cutPhrase(s string) (string, bool) {
	end := len(s)
	for _, stop := range []string{", ", "\n", ". ", "; ", " and ", " then ", " using ", " with ", "? ", "! "} {
		if i := strings.Index(s, stop); i >= 0 && i < end {
			end = i
		}
	}
	s = strings.Trim(s[:end], " .,;:?!")
	return s, s != ""
}

var prepositions = []string{" with ", " for ", " using ", " on ", " of ", " from ", " about ", " in ", " at ", " to "}

// described resolves a definite description in the text: "with the next key".
func (f *filler) described() (string, bool) {
	for _, prep := range prepositions {
		for from := 0; ; {
			i := strings.Index(f.low[from:], prep+"the ")
			if i < 0 {
				break
			}
			from += i + len(prep)
			phrase, _ := cutPhrase(f.text[from:])
			if n, ok := f.c.findLatest(phrase); ok {
				return n.value, true
			}
		}
	}
	return "", false
}

// pointedAt takes what a preposition points at: "the weather in Paris".
func (f *filler) pointedAt() (string, bool) {
	for _, prep := range []string{" for ", " in ", " at ", " of ", " about ", " to ", " with ", " up "} {
		i := strings.Index(f.low, prep)
		if i < 0 {
			continue
		}
		phrase, ok := cutPhrase(f.text[i+len(prep):])
		for _, next := range prepositions { // "New York in celsius"
			phrase, _, _ = strings.Cut(phrase, next)
		}
		if ok && len(strings.Fields(phrase)) <= 5 {
			return strings.TrimPrefix(phrase, "the "), true
		}
	}
	return "", false
}

// findLatest looks into the latest tool result first, unless another is named.
func (c *conversation) findLatest(description string) (note, bool) {
	results := c.results()
	k := results
	asked := unfilled(keywords(description))
	if named, ok := ordinal(description, results); ok {
		k = named
		asked = withoutOrdinals(asked)
	}
	if k > 0 {
		if n, ok := best(c.notes, asked, func(s source) bool { return s.result == k }); ok {
			return n, true
		}
	}
	return c.find(description)
}

// shape makes a text obey the limits of its schema.
func shape(v string, s gjson.Result) string {
	if p := s.Get("pattern"); p.Exists() {
		if re, err := regexp.Compile(p.Str); err == nil && !re.MatchString(v) {
			if tree, err := syntax.Parse(p.Str, syntax.Perl); err == nil {
				v = sample(tree.Simplify())
			}
		}
	}
	switch s.Get("format").Str {
	case "date":
		v = keep(v, `^\d{4}-\d\d-\d\d$`, "2026-01-15")
	case "date-time":
		v = keep(v, `^\d{4}-\d\d-\d\dT`, "2026-01-15T12:00:00Z")
	case "email":
		v = keep(v, `^[^@\s]+@[^@\s]+$`, "reader@example.com")
	}
	if m := s.Get("maxLength"); m.Exists() && utf8.RuneCountInString(v) > int(m.Int()) {
		v = string([]rune(v)[:m.Int()])
	}
	for utf8.RuneCountInString(v) < int(s.Get("minLength").Int()) {
		v += "x"
	}
	return v
}

func keep(v, pattern, otherwise string) string {
	if regexp.MustCompile(pattern).MatchString(v) {
		return v
	}
	return otherwise
}

// sample returns a text that a pattern accepts: the first choice everywhere.
func sample(re *syntax.Regexp) string {
	switch re.Op { //nolint:exhaustive // what matches no text of its own falls through to the empty sample
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			for r := max(re.Rune[i], ' '+1); r <= re.Rune[i+1]; r++ {
				if unicode.IsPrint(r) {
					return string(r)
				}
			}
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "a"
	case syntax.OpCapture, syntax.OpPlus:
		return sample(re.Sub[0])
	case syntax.OpAlternate:
		return sample(re.Sub[0])
	case syntax.OpConcat:
		var b strings.Builder
		for _, sub := range re.Sub {
			b.WriteString(sample(sub))
		}
		return b.String()
	case syntax.OpRepeat:
		return strings.Repeat(sample(re.Sub[0]), re.Min)
	}
	return ""
}
