package static

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// A matcher tells which modules a list of exclusions names. Declarations and
// stored names differ by prefixes and by fused parts, and engines by how they
// match; hence two questions. Strictly is for accusing a module of being
// quantised though excluded, loosely for excusing one that is plain.
type matcher struct {
	exact   map[string]bool // full names and, loosely, single words
	tails   map[string]bool // the same without what wraps the model
	regexes []*regexp.Regexp
	loose   []*regexp.Regexp // what a wildcard at the end may mean besides children
	starts  []string         // the same for names without any other wildcard
	bad     []string         // patterns that could not be understood
	entries []string         // what was listed, as it was written
}

// matching returns a matcher of the entries: names, "re:" patterns, and names
// with the shell's wildcards.
func matching(entries []gjson.Result) matcher {
	m := matcher{exact: map[string]bool{}, tails: map[string]bool{}}
	for _, e := range entries {
		if e.Str != "" {
			m.entries = append(m.entries, e.Str)
		}
		for _, name := range unfused(strings.TrimSuffix(e.Str, ".weight")) {
			m.add(name)
		}
	}
	return m
}

func (m *matcher) add(entry string) {
	pattern, isRegex := strings.CutPrefix(entry, "re:")
	switch {
	case entry == "":
	case isRegex:
		m.addRegex(entry, pattern)
	case strings.ContainsAny(entry, "*?["):
		m.addGlob(entry)
	default:
		entry = strings.Trim(entry, ".")
		m.exact[entry] = true
		m.tails[unwrap(entry)] = true
	}
}

// addGlob takes the shell's wildcards. "x.gate*" covers the children of x.gate;
// that it also covers x.gate_proj is a reading that may only excuse.
func (m *matcher) addGlob(entry string) {
	stem := strings.TrimSuffix(entry, "*")
	if !strings.ContainsAny(stem, "*?[") { // the usual one; hundreds of patterns would take long
		name := strings.TrimSuffix(stem, ".")
		m.exact[name] = true
		m.tails[unwrap(name)] = true
		m.starts = append(m.starts, stem)
		return
	}
	glob := strings.NewReplacer(`\*`, ".*", `\?`, ".", `\[`, "[", `\]`, "]").Replace(regexp.QuoteMeta(stem))
	if stem != entry {
		if re, err := regexp.Compile("^(?:" + glob + ")"); err == nil {
			m.loose = append(m.loose, re)
		}
	}
	if !strings.HasSuffix(stem, ".") {
		glob += `(\.|$)` // the module itself or a part of it
	}
	m.addRegex(entry, glob)
}

// maxPatterns bounds the patterns of one list: each is tried on each module.
const maxPatterns = 512

func (m *matcher) addRegex(entry, pattern string) {
	re, err := regexp.Compile("^(?:" + pattern + ")")
	if err != nil || len(m.regexes) >= maxPatterns { // Python's look-around has no counterpart
		m.bad = append(m.bad, entry)
		return
	}
	m.regexes = append(m.regexes, re)
}

// fused maps the names of layers that engines fuse to those that are stored.
var fused = map[string][]string{
	"qkv_proj":     {"qkv_proj", "q_proj", "k_proj", "v_proj"},
	"gate_up_proj": {"gate_up_proj", "gate_proj", "up_proj"},
}

// unfused returns the names that an entry means when its last part is a fused one.
func unfused(entry string) []string {
	i := strings.LastIndexByte(entry, '.')
	parts, ok := fused[entry[i+1:]]
	if !ok {
		return []string{entry}
	}
	out := make([]string, 0, len(parts))
	for _, p := range parts {
		out = append(out, entry[:i+1]+p)
	}
	return out
}

// wrappers are parts that only say how deep the model sits in its checkpoint.
var wrappers = setOf("model language_model transformer llm vlm lang_model text_model")

func unwrap(name string) string {
	for {
		first, rest, ok := strings.Cut(name, ".")
		if !ok || !wrappers[first] {
			return name
		}
		name = rest
	}
}

// strictly reports whether an entry names the module or one above it in full.
func (m matcher) strictly(name string) bool {
	return above(m.exact, name) || m.matches(name)
}

// loosely reports whether any reading of an entry names the module: its name
// without wrappers, or a single word of it.
func (m matcher) loosely(name string) bool {
	if m.strictly(name) || above(m.tails, unwrap(name)) || m.matches(unwrap(name)) || anyMatch(m.loose, name) {
		return true
	}
	if slices.ContainsFunc(m.starts, func(s string) bool { return strings.HasPrefix(name, s) }) {
		return true
	}
	for word := range strings.SplitSeq(name, ".") {
		if m.exact[word] {
			return true
		}
	}
	// "mlp.gate" inside a name, as engines that look for substrings read it.
	for entry := range m.exact {
		if len(m.exact) <= 32 && strings.Contains("."+name+".", "."+entry+".") {
			return true
		}
	}
	return false
}

func (m matcher) matches(name string) bool { return anyMatch(m.regexes, name) }

func anyMatch(list []*regexp.Regexp, name string) bool {
	for _, re := range list {
		if re.MatchString(name) {
			return true
		}
	}
	return false
}

// above reports whether the set holds the name or one of the modules above it.
func above(set map[string]bool, name string) bool {
	for {
		if set[name] {
			return true
		}
		i := strings.LastIndexByte(name, '.')
		if i < 0 {
			return false
		}
		name = name[:i]
	}
}
