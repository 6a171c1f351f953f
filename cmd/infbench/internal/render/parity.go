package render

import (
	"fmt"
	"io"

	"infbench/gates"
	"infbench/stages/correctness/parity"
)

// Parity writes what two servers show of each other, and the verdict.
func Parity(w io.Writer, s Style, c parity.Comparison, v gates.Verdict, about func(id string) gates.Info) {
	fmt.Fprintf(w, "infbench parity · target %s · reference %s\n", gates.Printable(c.Target(), 80), gates.Printable(c.Reference(), 80))
	if !s.Quiet {
		for _, f := range c.Figures() {
			fmt.Fprintf(w, "  %-21s %s\n", f.Name, gates.Printable(f.Value, 240))
		}
	}
	verdict(w, s, []gates.Verdict{v}, about)
}

type parityWire struct {
	Schema     string            `json:"schema"`
	Exit       int               `json:"exit"`
	Target     string            `json:"target"`
	Reference  string            `json:"reference"`
	Declared   parity.Precision  `json:"declared"`
	Comparison parity.Comparison `json:"comparison"`
	Verdict    gates.Verdict     `json:"verdict"`
}

// ParityJSON writes the same as one document.
func ParityJSON(w io.Writer, exit int, declared parity.Precision, c parity.Comparison, v gates.Verdict) error {
	return write(w, parityWire{"infbench.parity/v1", exit, c.Target(), c.Reference(), declared, c, v})
}
