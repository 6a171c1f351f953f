package parity

import (
	"slices"
	"strings"
)

// What is kept of one answer, whatever a server sends. No token is longer than mostName
// bytes, and the few that are asked for fill no mostText.
const (
	mostName = 256
	mostText = 16 << 10
	mostSaid = 400 // characters of what is said of a call
)

// shortened returns what an answer of so many tokens keeps of what came, and whether more
// came: a server that does not keep to max_tokens goes on to the end of its context.
func shortened(text string, tokens int) (string, bool) {
	most := min(mostText, tokens*mostName)
	if len(text) <= most {
		return text, false
	}
	return strings.ToValidUTF8(strings.Clone(text[:most]), ""), true
}

// begun returns the positions of so many tokens, one more for an end that is not counted,
// and whether there are more. Their names hold on to no body of a server.
func begun(list []position, tokens int) ([]position, bool) {
	kept := slices.Clone(list[:min(len(list), tokens+1)])
	for i := range kept {
		p := &kept[i]
		p.name = strings.Clone(p.name)
		for k := range p.top {
			p.top[k].name = strings.Clone(p.top[k].name)
		}
	}
	return kept, len(kept) < len(list)
}
