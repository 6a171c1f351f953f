package reader

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const aWord = "(?:the (?:word|string|letters of) )?[\"'`]?([\\p{L}\\d-]+)[\"'`]?"

var (
	lettersIn = regexp.MustCompile(`(?i)\bhow many (?:letters|characters) (?:are |does |has )?(?:there )?(?:in )?` + aWord)
	inCase    = regexp.MustCompile(`(?i)^(?:write|convert|put|print|spell|change|turn) ` + aWord + ` (?:in|to|into) (upper|lower) ?case`)
	sorting   = regexp.MustCompile(`(?i)^sort\b.*?\b(alphabetically|ascending|descending|in (?:\w+ )?order)?[^:]*: *(.+)`)
)

// wordwork does small things to words: counts letters, changes case, sorts.
func wordwork(e errand, bare bool) (string, bool) {
	if m := lettersIn.FindStringSubmatch(e.text); m != nil {
		n := strconv.Itoa(utf8.RuneCountInString(m[1]))
		if bare {
			return n, true
		}
		return "The word " + m[1] + " has " + n + " letters.", true
	}
	if m := inCase.FindStringSubmatch(e.text); m != nil {
		if strings.EqualFold(m[2], "upper") {
			return strings.ToUpper(m[1]), true
		}
		return strings.ToLower(m[1]), true
	}
	if m := sorting.FindStringSubmatch(e.text); m != nil {
		return sorted(m[2], strings.EqualFold(m[1], "descending")), true
	}
	return "", false
}

// sorted puts a list in order: by value when all of it is numbers.
func sorted(list string, falling bool) string {
	items := strings.FieldsFunc(strings.TrimRight(list, ". "), func(r rune) bool { return r == ',' || r == ' ' })
	slices.SortFunc(items, func(a, b string) int {
		x, errX := strconv.ParseFloat(a, 64)
		y, errY := strconv.ParseFloat(b, 64)
		if errX != nil || errY != nil {
			return strings.Compare(strings.ToLower(a), strings.ToLower(b))
		}
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	if falling {
		slices.Reverse(items)
	}
	return strings.Join(items, ", ")
}
