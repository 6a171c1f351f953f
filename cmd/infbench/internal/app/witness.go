package app

import (
	"fmt"

	"infbench/gates"
)

// witness keeps the evidence of a soak: of each check what it asked when it failed first,
// the load beside it included. What fails for hours says no more than that.
type witness struct{ kept *keeper }

func (w witness) Begin() { w.kept.begin() }

func (w witness) Failed(v gates.Verdict) {
	if w.kept != nil && w.kept.written[v.Check()] == "" {
		w.kept.end(v)
		if path := w.kept.written[v.Check()]; path != "" { // hours before the report
			fmt.Fprintf(w.kept.p.c.err, "evidence %s\n", path)
		}
	}
}

func (w witness) Rest() {
	if w.kept != nil {
		_, _ = w.kept.tape.End()
	}
}
