package static

import (
	"slices"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

// closed are the flaws that leave nothing of a header to judge.
var closed = []checkpoint.Flaw{
	checkpoint.FlawUnreadable, checkpoint.FlawTooLarge, checkpoint.FlawLength, checkpoint.FlawSyntax, checkpoint.FlawTooDeep,
	checkpoint.FlawTrailing, checkpoint.FlawShape,
}

// judgeHeaders asks all headers that were read for flaws. Headers that could not
// be understood are another check's business, unless it is that check that asks.
func judgeHeaders(inv checkpoint.Inventory, claim string, flaws ...checkpoint.Flaw) gates.Finding {
	list, f, ok := headers(inv)
	if !ok {
		return f
	}
	others := slices.DeleteFunc(slices.Clone(closed), func(c checkpoint.Flaw) bool { return slices.Contains(flaws, c) })
	var bad []string
	looked, count := 0, 0
	for _, h := range list {
		problems, n := h.Problems(flaws...)
		if _, broken := h.Problems(others...); broken > 0 && n == 0 {
			continue
		}
		looked++
		count += n
		for _, p := range problems {
			bad = append(bad, h.Shard()+": "+p.String())
		}
	}
	switch {
	case count > 0:
		f = gates.Fail("%s in %s looked at: %s", plural(count, "defect"), plural(looked, "header"), gates.Printable(bad[0], 200))
		for _, line := range bad {
			f = f.With("%s", line)
		}
		return f
	case looked == 0:
		return gates.NotApply("no header can be understood: see static/hdr.length and static/hdr.parse")
	}
	return gates.Pass("%s: %s%s", plural(looked, "header"), claim, unread(inv, len(list)))
}
