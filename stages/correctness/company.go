package correctness

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"infbench/gates"
	"infbench/stages/endpoint"
)

// member is a trial that was put in company: in a burst of size requests it came in as the
// at-th, from 0.
type member struct {
	trial
	size, at int
}

// burst puts the requests all at once and returns the trials in the order in which they
// went out. An error is only that the run has ended.
func (s Subject) burst(ctx context.Context, trials []trial) ([]member, error) {
	out := make([]member, len(trials))
	inCompany(len(trials), len(trials), func(i int) {
		t := trials[i]
		t.answer, t.err = s.Ask(ctx, t.request)
		t.judge(s)
		out[i] = member{t, len(trials), 0}
	})
	if ended(ctx) {
		return nil, context.Cause(ctx)
	}
	slices.SortStableFunc(out, func(a, b member) int { return a.answer.Timing.Began.Compare(b.answer.Timing.Began) })
	for i := range out {
		out[i].at = i
	}
	return out, nil
}

// sizesOf returns the sizes of company that are tried: 2, 4, 8 … up to the most that will
// be in flight, which is tried whatever it is.
func sizesOf(inFlight int) []int {
	const most = 64
	top := max(2, min(most, inFlight))
	var out []int
	for n := 2; n < top; n *= 2 {
		out = append(out, n)
	}
	return append(out, top)
}

// busy reports whether a request was turned away for want of room, which is no wrong
// answer.
func busy(err error) bool {
	var f *endpoint.Failure
	return errors.As(err, &f) && f.Kind == endpoint.Busy
}

// rightAlone asks the requests of trials that were wrong in company once more, the same and
// alone, and returns those that are then right: what company alone makes wrong. A model
// that cannot do it fails both, and one that was in two minds decides by a rounding error:
// what parts at a near tie is not counted.
func (s Subject) rightAlone(ctx context.Context, company []member, right func(trial) bool) (lost []member, beyond map[int]bool, err error) {
	beyond = map[int]bool{}
	for i, m := range company {
		if m.err != nil || right(m.trial) || m.echo == gates.Foreign {
			continue
		}
		again := trial{want: m.want, request: m.request, first: m.first}
		if again.answer, again.err = s.Ask(ctx, m.request); again.err != nil {
			return nil, nil, again.err
		}
		again.judge(s)
		d, err := difference{}, error(nil)
		if right(again) && len(lost) < lostLimit {
			if d, err = s.differ(ctx, m.request, again.answer, m.answer); err != nil {
				return nil, nil, err
			}
		}
		if right(again) && d.rung != nearTie {
			lost = append(lost, m)
		} else {
			beyond[i] = true
		}
	}
	return lost, beyond, nil
}

// pictureOf draws sizes of company against the order of arrival. Slots that serve only the
// first, positions that decay and sizes whose captured graph is wrong each have a shape.
func pictureOf(company []member, right func(trial) bool, beyond map[int]bool) gates.Grid {
	var sizes []int
	top := 0
	for _, m := range company {
		if !slices.Contains(sizes, m.size) {
			sizes = append(sizes, m.size)
		}
		top = max(top, m.size)
	}
	slices.Sort(sizes)
	columns := make([]string, top)
	for i := range columns {
		columns[i] = fmt.Sprint(i + 1)
	}
	var rows []gates.GridRow
	for _, size := range sizes {
		row := gates.GridRow{Label: fmt.Sprint(size), Cells: make([]gates.Cell, top)}
		for i, m := range company {
			if m.size != size || busy(m.err) {
				continue
			}
			c := gates.Wrong
			switch {
			case m.err == nil && right(m.trial):
				c = gates.Right
			case beyond[i]:
				c = gates.Beyond
			}
			row.Cells[m.at] = worse(row.Cells[m.at], c)
		}
		rows = append(rows, row)
	}
	g, _ := gates.NewGrid("at once", "order of arrival", columns, rows)
	return g
}

// worse keeps the worse of two outcomes at one point.
func worse(a, b gates.Cell) gates.Cell {
	rank := map[gates.Cell]int{gates.NotAsked: 0, gates.Right: 1, gates.Beyond: 2, gates.Wrong: 3}
	if rank[b] > rank[a] {
		return b
	}
	return a
}
