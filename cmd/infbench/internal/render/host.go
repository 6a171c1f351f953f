package render

import (
	"fmt"
	"io"

	"infbench/record"
)

// Host writes the machine that infbench ran on in one line, and where the target is when it
// is not known to be there: then nothing of this machine is the target's.
func Host(w io.Writer, h record.Host) {
	if h.IsZero() {
		return
	}
	line := h.String()
	switch h.Parts().Target {
	case record.Elsewhere:
		line += "; the target runs elsewhere"
	case record.Unclear:
		line += "; the target may run elsewhere"
	case record.Here, record.NoTarget:
	}
	fmt.Fprintf(w, "host  %s\n", line)
}
