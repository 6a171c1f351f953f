package app

import (
	"io"
	"os"

	"golang.org/x/term"
)

func isTerminal(w io.Writer) bool {
	if s, wrapped := w.(*sticky); wrapped {
		w = s.w
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// drawable reports whether lines can be drawn in place on w.
func drawable(w io.Writer) bool { return isTerminal(w) && os.Getenv("TERM") != "dumb" }
