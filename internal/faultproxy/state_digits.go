package faultproxy

import "slices"

// Answers with the planted codes of another request.

var _ = register(fault{
	Info: Info{
		ID: "crosstalk", Stage: 3, Modes: []string{"CON-04", "CON-01"},
		Doc:    "long numbers in an answer are those of another request in flight",
		Params: []Param{number("above", "1", "only for requests during which more than this many were in flight")},
	},
	build: always(acts{answer: func(x *exchange) filter {
		return rewriteText(everyText, func() rewriter {
			return rewriteRuns(longRun, func(run string) string {
				return counterpart(run, x.runs, x.traffic.donor(x))
			})
		})
	}}),
})

var _ = register(fault{
	Info: Info{
		ID: "stale-cache", Stage: 3, Modes: []string{"CAC-01", "CAC-03"},
		Doc: "a prompt that begins like an earlier one gets the earlier one's long numbers",
	},
	build: always(acts{answer: func(x *exchange) filter {
		return rewriteText(everyText, func() rewriter {
			return rewriteRuns(longRun, func(run string) string {
				return counterpart(run, x.runs, x.stale)
			})
		})
	}}),
})

// counterpart finds for a run of one prompt the run that has its place in the other
// prompt; one as long as it is, if there is any, as a planted code would be.
func counterpart(run string, own, other []string) string {
	place := max(slices.Index(own, run), 0)
	var alike, rest []string
	for _, r := range other {
		switch {
		case r == run:
		case len(r) == len(run):
			alike = append(alike, r)
		default:
			rest = append(rest, r)
		}
	}
	switch {
	case place < len(other) && len(other[place]) == len(run):
		return other[place]
	case len(alike) > 0:
		return alike[place%len(alike)]
	case len(rest) > 0:
		return rest[place%len(rest)]
	}
	return run
}
