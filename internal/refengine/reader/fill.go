package reader

import (
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"
)

// A filler finds values for a schema in a text: what the text assigns to a name,
// then what it quotes or counts in order, then what the conversation states.
type filler struct {
	c     *conversation
	text  string
	low   string
	root  gjson.Result
	taken []span // literals that belong to a name
	loose []span // quoted texts that belong to none, in order
	nums  []span
	whole bool // fill optional properties too, as in an answer in JSON
}

func (c *conversation) filler(text string, schema gjson.Result, names []string) *filler {
	f := &filler{c: c, text: text, low: fold(text), root: schema}
	for _, name := range names {
		if at, ok := f.assigned(name); ok {
			if _, n, isQuoted := quotedAt(text, at); isQuoted {
				f.taken = append(f.taken, span{"", at, at + n})
			} else if n := numberRE.FindString(text[at:]); n != "" && strings.HasPrefix(text[at:], n) {
				f.taken = append(f.taken, span{"", at, at + len(n)})
			}
		}
	}
	for i := 0; i < len(text); i++ { // what a JSON value holds is no literal of its own
		if text[i] == '{' || text[i] == '[' {
			if raw, ok := jsonAt(text, i); ok {
				f.taken = append(f.taken, span{"", i, i + len(raw)})
				i += len(raw)
			}
		}
	}
	if v, ok := between(text); ok {
		f.loose = []span{{v, 0, len(text)}}
		return f
	}
	known := make(map[string]bool)
	for _, name := range names {
		known[name] = true
	}
	for _, q := range quotes(text) {
		if !f.isTaken(q.start) && !known[q.value] && !c.isTool(q.value) {
			f.loose = append(f.loose, q)
		}
	}
	for _, m := range numberRE.FindAllStringIndex(text, -1) {
		if inWord(text, m[0]) || f.isTaken(m[0]) || within(f.loose, m[0]) {
			continue
		}
		f.nums = append(f.nums, span{text[m[0]:m[1]], m[0], m[1]})
	}
	return f
}

func inWord(s string, at int) bool {
	return at > 0 && (unicode.IsLetter(rune(s[at-1])) || s[at-1] == '_')
}

func within(list []span, at int) bool {
	for _, s := range list {
		if at >= s.start && at < s.end {
			return true
		}
	}
	return false
}

func (f *filler) isTaken(at int) bool { return within(f.taken, at) }

// connectors stand between the name of a parameter and its value.
var connectors = []string{"=", ":", "set to", "equal to", "equals", "is", "of", "to", "as"}

// assigned finds where the text gives a value to a name and returns the offset of
// the value.
func (f *filler) assigned(name string) (int, bool) {
	for _, variant := range []string{strings.ToLower(name), strings.ToLower(strings.ReplaceAll(name, "_", " ")), unCamel(name)} {
		for from := 0; variant != ""; {
			i := strings.Index(f.low[from:], variant)
			if i < 0 {
				break
			}
			i += from
			from = i + len(variant)
			if wordEdge(f.low, i, from) {
				if at, ok := f.valueAt(from); ok {
					return at, true
				}
			}
		}
	}
	return 0, false
}

// named returns the offset after a name, whatever follows.
func (f *filler) named(name string) (int, bool) {
	i := strings.Index(f.low, spaces(name))
	end := i + len(spaces(name))
	return end, i >= 0 && name != "" && wordEdge(f.low, i, end)
}

func wordEdge(s string, start, end int) bool {
	edge := func(c byte) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_')
	}
	return (start == 0 || edge(s[start-1])) && (end == len(s) || edge(s[end]))
}

// unCamel turns "maxResults" into "max results".
func unCamel(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// valueAt skips what joins a name to its value and says whether a value follows.
func (f *filler) valueAt(at int) (int, bool) {
	if at < len(f.text) && strings.IndexByte("\"'`", f.text[at]) >= 0 {
		at++ // the name itself was quoted
	}
	skip := func() {
		for at < len(f.text) && (f.text[at] == ' ' || f.text[at] == '\n') {
			at++
		}
	}
	skip()
	joined := false
	for _, c := range connectors {
		rest := f.low[at:]
		if !strings.HasPrefix(rest, c) {
			continue
		}
		if next := rest[len(c):]; len(c) == 1 || next != "" && (next[0] == ' ' || next[0] == ':') {
			at += len(c)
			joined = true
			skip()
			if at < len(f.text) && f.text[at] == ':' {
				at++
				skip()
			}
			break
		}
	}
	if at >= len(f.text) {
		return 0, false
	}
	if joined {
		return at, true
	}
	c := f.text[at]
	return at, strings.IndexByte("\"'`{[<-", c) >= 0 || c >= '0' && c <= '9' || strings.HasPrefix(f.text[at:], "“") ||
		strings.HasPrefix(f.low[at:], "true") || strings.HasPrefix(f.low[at:], "false") || strings.HasPrefix(f.low[at:], "null") ||
		unicode.IsUpper(rune(c))
}

// fill returns JSON for one property; found says that the value was read and not
// made up.
func (f *filler) fill(name string, schema gjson.Result, depth int) (raw string, found bool) {
	at, given := f.assigned(name)
	if given && strings.HasPrefix(f.low[at:], "null") && (nullable(f.root, schema) || len(f.low[at:]) >= 4 && wordEdge(f.low, at, at+4) && typeOf(settle(f.root, schema)) != "string") {
		return "null", true
	}
	s := settle(f.root, schema)
	if v := s.Get("const"); v.Exists() {
		return v.Raw, true
	}
	if list := s.Get("enum"); list.Exists() {
		return f.choose(name, list.Array(), at, given)
	}
	switch typeOf(s) {
	case "object":
		return f.object(s, depth, at, given)
	case "array":
		return f.array(name, s, depth, at, given)
	case "integer", "number":
		v, ok := f.number(name, at, given)
		return fit(v, s), ok
	case "boolean":
		return f.boolean(name, at, given)
	case "null":
		return "null", true
	}
	if v, ok := f.byName(name); ok {
		return jsonString(shape(v, s)), true
	}
	v, ok := f.str(name, at, given)
	return jsonString(shape(v, s)), ok
}

// byName finds the value that a text names, as in "call it with the blue key", among
// what the conversation has said: of several, the latest.
func (f *filler) byName(name string) (string, bool) {
	const lead = "with the "
	for at := strings.LastIndex(f.low, lead); at >= 0; at = strings.LastIndex(f.low[:at], lead) {
		which, rest, _ := strings.Cut(f.low[at+len(lead):], " ")
		if !strings.HasPrefix(rest, spaces(name)) || !wordEdge(rest, 0, len(spaces(name))) || fillers[which] {
			continue
		}
		if n, ok := f.c.find(which + " " + spaces(name)); ok {
			return n.value, true
		}
	}
	return "", false
}

// choose picks the member of an enumeration that the text names.
func (f *filler) choose(name string, list []gjson.Result, at int, given bool) (string, bool) {
	texts := []string{f.low}
	if given {
		texts = []string{f.low[at:min(len(f.low), at+64)], f.low}
	}
	if n, ok := f.c.find(spaces(name)); ok {
		texts = append(texts, fold(n.value))
	}
	for _, text := range texts {
		bestAt, raw := len(text), ""
		for _, v := range list {
			word := strings.ToLower(v.String())
			if i := strings.Index(text, word); i >= 0 && i < bestAt && wordEdge(text, i, i+len(word)) {
				bestAt, raw = i, v.Raw
			}
		}
		if raw != "" {
			return raw, true
		}
	}
	if len(list) == 0 {
		return "null", false
	}
	return list[0].Raw, false
}

func spaces(name string) string { return strings.ReplaceAll(unCamel(name), "_", " ") }

func (f *filler) object(s gjson.Result, depth, at int, given bool) (string, bool) {
	if given {
		if raw, ok := jsonAt(f.text, at); ok && f.text[at] == '{' {
			return compact(raw), true
		}
	}
	var b strings.Builder
	b.WriteByte('{')
	found := false
	if depth < maxDepth || s.Get("required").Exists() && depth < 2*maxDepth {
		for _, p := range properties(s) {
			raw, ok := f.fill(p.name, p.schema, depth+1)
			if !ok && !p.required && (!f.whole || depth >= maxDepth || s.Get("required").Exists()) {
				continue
			}
			found = found || ok
			if b.Len() > 1 {
				b.WriteString(", ")
			}
			b.WriteString(jsonString(p.name) + ": " + raw)
		}
	}
	b.WriteByte('}')
	return b.String(), found
}

func (f *filler) array(name string, s gjson.Result, depth, at int, given bool) (string, bool) {
	low, high := int(s.Get("minItems").Int()), math.MaxInt
	if m := s.Get("maxItems"); m.Exists() {
		high = int(m.Int())
	}
	if given && f.text[at] == '[' {
		if raw, ok := jsonAt(f.text, at); ok {
			return compact(raw), true
		}
	}
	item := settle(f.root, s.Get("items"))
	var list []string
	if given {
		list = series(f.text[at:], typeOf(item))
	} else if raw, ok := literalOf(f.text, '['); ok && !f.whole {
		return compact(raw), true
	} else if end, ok := f.named(name); ok { // "tags red and blue"
		if list = series(f.text[end:], typeOf(item)); len(list) < 2 {
			list = nil
		}
	}
	found := len(list) > 0
	for i := len(list); i < min(max(low, 1), high); i++ {
		raw, ok := f.fill(strings.TrimSuffix(name, "s"), s.Get("items"), depth+1)
		found = found || ok
		if s.Get("uniqueItems").Bool() && has(list, raw) {
			raw = jsonString(strings.Trim(raw, `"`) + strconv.Itoa(i))
		}
		list = append(list, raw)
	}
	if len(list) > high {
		list = list[:high]
	}
	if depth >= maxDepth && low == 0 {
		list = nil
	}
	return "[" + strings.Join(list, ", ") + "]", found
}

// series reads "red, green and blue" as the items of a list.
func series(s, kind string) []string {
	if i := strings.IndexAny(s, ".;\n"); i > 0 && kind != "number" {
		s = s[:i]
	}
	var out []string
	for _, part := range strings.Split(strings.ReplaceAll(s, " and ", ","), ",") {
		part = strings.TrimSpace(part)
		switch {
		case part == "":
		case kind == "integer" || kind == "number":
			if n := numberRE.FindString(part); n != "" && strings.HasPrefix(part, n) {
				out = append(out, n)
			} else {
				return out
			}
		case kind == "string":
			if v, _, ok := quotedAt(part, 0); ok {
				part = v
			}
			out = append(out, jsonString(part))
		}
	}
	return out
}
