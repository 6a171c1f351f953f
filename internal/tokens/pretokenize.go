package tokens

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// step cuts a piece of text into smaller ones, in order.
type step interface {
	split(text string, yield func(piece string) error) error
}

// preTokenizer is a row of steps, each applied to the pieces of the one before.
type preTokenizer []step

func (p preTokenizer) split(text string, yield func(word string) error) error {
	switch {
	case text == "":
		return nil
	case len(p) == 0:
		return yield(text)
	}
	return p[0].split(text, func(piece string) error { return p[1:].split(piece, yield) })
}

// prefixSpace gives each piece a leading space, so that the first word of a text
// is like any other.
type prefixSpace struct{}

func (prefixSpace) split(text string, yield func(string) error) error {
	if !strings.HasPrefix(text, " ") {
		text = " " + text
	}
	return yield(text)
}

// The patterns nearly all byte-level models use. gpt2Pattern is what a ByteLevel
// step with use_regex splits by.
const (
	gpt2Pattern   = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	llama3Pattern = contractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwenPattern   = contractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// timeoutOf bounds one match: patterns come from a file, and backtracking can
// take exponential time where a sane match takes microseconds. The well-known
// patterns go back over one run of characters at most and need no bound, which
// saves the background clock that regexp2 keeps for it.
func timeoutOf(expr string) time.Duration {
	switch expr {
	case gpt2Pattern, llama3Pattern, qwenPattern:
		return regexp2.DefaultMatchTimeout
	}
	return matchTimeout
}

const matchTimeout = 5 * time.Second

// span is a part of a piece; match says whether the pattern found it or it lies between.
type span struct {
	from, to int
	match    bool
}

// splitter cuts by what find returns and puts the cuts together by behavior.
type splitter struct {
	find     func(text string) ([]span, error)
	behavior behavior
	invert   bool
}

func (s splitter) split(text string, yield func(string) error) error {
	spans, err := s.find(text)
	if err != nil {
		return err
	}
	if s.invert {
		for i := range spans {
			spans[i].match = !spans[i].match
		}
	}
	for _, p := range s.behavior.arrange(spans) {
		if err := yield(text[p.from:p.to]); err != nil {
			return err
		}
	}
	return nil
}

// behavior says what becomes of the delimiters.
type behavior int

const (
	isolated behavior = iota
	removed
	mergedWithPrevious
	mergedWithNext
	contiguous
)

var behaviors = map[string]behavior{
	"Isolated": isolated, "Removed": removed, "Contiguous": contiguous,
	"MergedWithPrevious": mergedWithPrevious, "MergedWithNext": mergedWithNext,
}

// arrange works in place; for the spans ab, -, -, c (delimiter -) it leaves
//
//	isolated            ab | - | - | c
//	removed             ab | c
//	contiguous          ab | -- | c
//	mergedWithPrevious  ab- | - | c
//	mergedWithNext      ab | - | -c
func (b behavior) arrange(in []span) []span {
	out := in[:0]
	switch b {
	case removed:
		for _, s := range in {
			if !s.match {
				out = append(out, s)
			}
		}
	case contiguous, mergedWithPrevious:
		before := false
		for _, s := range in {
			join := s.match && !before
			if b == contiguous {
				join = s.match == before
			}
			before = s.match
			if n := len(out); join && n > 0 {
				out[n-1].to = s.to
			} else {
				out = append(out, s)
			}
		}
	case mergedWithNext:
		// A delimiter goes to its right neighbour unless that is one too.
		for i, s := range in {
			joined := i > 0 && in[i-1].match && !s.match
			if n := len(out); joined && n > 0 {
				out[n-1].to = s.to
			} else {
				out = append(out, s)
			}
		}
	default:
		return in
	}
	return out
}

// literal finds a fixed text.
func literal(sep string) func(string) ([]span, error) {
	return func(text string) ([]span, error) {
		var out []span
		at := 0
		for {
			i := strings.Index(text[at:], sep)
			if i < 0 {
				break
			}
			if i > 0 {
				out = append(out, span{at, at + i, false})
			}
			out = append(out, span{at + i, at + i + len(sep), true})
			at += i + len(sep)
		}
		if at < len(text) {
			out = append(out, span{at, len(text), false})
		}
		return out, nil
	}
}

// digits finds single numeric characters, of any script.
func digits(text string) ([]span, error) {
	var out []span
	at := 0
	for i, c := range text {
		if !unicode.IsNumber(c) {
			continue
		}
		if at < i {
			out = append(out, span{at, i, false})
		}
		at = i + utf8.RuneLen(c)
		out = append(out, span{i, at, true})
	}
	if at < len(text) {
		out = append(out, span{at, len(text), false})
	}
	return out, nil
}

// pattern finds the matches of a regular expression in the subset of vet.
func pattern(expr string, timeout time.Duration) (func(string) ([]span, error), error) {
	expr, err := translate(expr)
	if err != nil {
		return nil, err
	}
	re, err := regexp2.Compile(expr, regexp2.None)
	if err != nil {
		return nil, fmt.Errorf("split pattern %q: %w", expr, err)
	}
	re.MatchTimeout = timeout
	return func(text string) ([]span, error) { return findAll(re, text) }, nil
}

func findAll(re *regexp2.Regexp, text string) ([]span, error) {
	runes := []rune(text)
	out := make([]span, 0, len(text)/4+1)
	var at, nth, end int // byte and rune position, end of the last match
	bytePos := func(n int) int {
		for ; nth < n; nth++ {
			at += utf8.RuneLen(runes[nth])
		}
		return at
	}
	m, err := re.FindRunesMatch(runes)
	for ; m != nil && err == nil; m, err = re.FindNextMatch(m) {
		from := bytePos(m.Index)
		if end < from {
			out = append(out, span{end, from, false})
		}
		end = bytePos(m.Index + m.Length)
		out = append(out, span{from, end, true})
	}
	if err != nil {
		return nil, ErrTimeout // regexp2's own error quotes the text, which may be a prompt
	}
	if end < len(text) {
		out = append(out, span{end, len(text), false})
	}
	return out, nil
}
