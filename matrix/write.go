package matrix

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"infbench/gates"
)

// legend explains the letters of a cell.
const legend = "stages 0 to 4 in one letter each: P passed, w warned, s skipped, n not applicable, F failed, - not run, . not part of the run"

// never stands in a cell that no record speaks of.
const never = "never run"

// Text writes the table and, below it, what decided each cell that did not pass.
func (m Matrix) Text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 2, 8, 3, ' ', 0)
	fmt.Fprintf(t, "image \\ checkpoint\t%s\n", strings.Join(m.checkpoints, "\t"))
	for _, image := range m.images {
		fmt.Fprintf(t, "%s", image)
		for _, c := range m.checkpoints {
			fmt.Fprintf(t, "\t%s", m.word(image, c))
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "\n%s\n", legend); err != nil {
		return err
	}
	for _, c := range m.Cells() {
		if c.Why == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "\n%s on %s: %s\n  %s\n", c.Checkpoint, c.Image, c.Outcome, c.Why); err != nil {
			return err
		}
	}
	return nil
}

// word is a cell in a few words: the outcome and each stage's sign.
func (m Matrix) word(image, checkpoint string) string {
	c, ok := m.cells[[2]string{image, checkpoint}]
	if !ok {
		return never
	}
	return c.Outcome + " " + signs(c)
}

// signs shows the five stages in one letter each: P passed, w warned, s skipped, n not
// applicable, F failed, - not run, . not part of the run.
func signs(c Cell) string {
	letters := map[string]string{"": ".", "passed": "P", "warned": "w", "skipped": "s", "not applicable": "n", "failed": "F"}
	var b strings.Builder
	for _, s := range c.Stages {
		if l, ok := letters[s]; ok {
			b.WriteString(l)
		} else {
			b.WriteString("-")
		}
	}
	return b.String()
}

// Markdown writes the table for a page or a merge request.
func (m Matrix) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "| image \\\\ checkpoint | %s |\n|---%s|\n", strings.Join(cellsOf(m.checkpoints), " | "), strings.Repeat("|---", len(m.checkpoints)))
	for _, image := range m.images {
		fmt.Fprintf(&b, "| %s |", MarkdownText(image))
		for _, c := range m.checkpoints {
			fmt.Fprintf(&b, " %s |", MarkdownText(m.word(image, c)))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "\n%s\n", legend)
	for _, c := range m.Cells() {
		if c.Why != "" {
			fmt.Fprintf(&b, "\n- %s on %s: **%s**, %s", MarkdownText(c.Checkpoint), MarkdownText(c.Image), c.Outcome, MarkdownText(c.Why))
		}
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func cellsOf(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = MarkdownText(s)
	}
	return out
}

// MarkdownText makes untrusted text harmless in a Markdown table.
func MarkdownText(s string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;", ">", "&gt;", "`", "'", "[", "\\[", "]", "\\]", "*", "\\*").Replace(gates.Printable(s, 200))
}

// JSON writes the cells.
func (m Matrix) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Schema string `json:"schema"`
		Cells  []Cell `json:"cells"`
	}{"infbench.matrix/v1", append([]Cell{}, m.Cells()...)})
}
