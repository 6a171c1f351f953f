package render

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// screen is where lines are drawn in place. Each frame takes the one before it away, the
// cursor stands below it in between and is never hidden: a process that dies at any
// moment leaves a terminal as it should be.
//
// A terminal that was made narrower breaks the lines that stand on it, so that they take
// more rows than were drawn: those are counted at the width of now.
type screen struct {
	bytes.Buffer
	out   io.Writer
	size  func() (width, height int)
	drawn []int // the widths of the lines of the frame that stands there
}

// newScreen returns the screen of a terminal.
func newScreen(out io.Writer) *screen {
	return &screen{out: out, size: func() (int, int) {
		if f, ok := out.(*os.File); ok {
			if width, height, err := term.GetSize(int(f.Fd())); err == nil && width > 0 && height > 0 {
				return width, height
			}
		}
		return 80, 24 // a terminal that does not know is taken for the oldest one
	}}
}

// IsTerminal says that frames may be drawn.
func (s *screen) IsTerminal() bool { return true }

// GetTermSize returns the size of now.
func (s *screen) GetTermSize() (width, height int, err error) {
	width, height = s.size()
	return width, height, nil
}

// Flush writes what was buffered, of which the last so many lines are a frame: they will be
// drawn over, while what stands before them stays.
func (s *screen) Flush(lines int) error {
	width, _ := s.size()
	up := 0
	for _, w := range s.drawn {
		up += max(1, (w+width-1)/width)
	}
	var out bytes.Buffer
	if up > 0 {
		fmt.Fprintf(&out, "\x1b[%dA\x1b[J", up)
	}
	out.Write(s.Bytes())
	all := strings.Split(strings.TrimSuffix(s.String(), "\n"), "\n")
	s.Reset()
	s.drawn = s.drawn[:0]
	for _, line := range all[max(0, len(all)-max(lines, 0)):] {
		s.drawn = append(s.drawn, runewidth.StringWidth(marks.ReplaceAllString(line, "")))
	}
	_, err := s.out.Write(out.Bytes())
	return err
}

// marks are the escape codes that this package writes into a line.
var marks = regexp.MustCompile(`\x1b\[[0-9;]*m`)
