package gates

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Cell is what came of one point of a [Grid].
type Cell uint8

// The cells. Beyond is a point at which the model itself is known to fail, so that it says
// nothing about the engine; NotAsked one that was left out.
const (
	NotAsked Cell = iota
	Right
	Wrong
	Beyond
)

// cellMarks are the cells as they are written in a record and shown in a terminal.
var cellMarks = map[Cell]rune{NotAsked: ' ', Right: '█', Wrong: 'X', Beyond: '·'}

// Mark returns the cell as one character.
func (c Cell) Mark() rune { return cellMarks[c] }

// GridLegend explains the marks.
const GridLegend = "█ right  X wrong  · beyond this model"

// Grid is a picture of one check's answers over two conditions, such as length and
// position. The zero Grid is none.
type Grid struct {
	down, across string
	columns      []string
	rows         []GridRow
}

// GridRow is one row of a grid and what it is called.
type GridRow struct {
	Label string
	Cells []Cell
}

// Limits on a grid, so that a hostile record cannot fill a page.
const (
	maxGridRows, maxGridColumns = 64, 64
	maxGridLabelRunes           = 32
)

// NewGrid returns a grid: down and across say what changes in each direction, such as
// "tokens" and "depth %". Rows have one cell a column.
func NewGrid(down, across string, columns []string, rows []GridRow) (Grid, error) {
	switch {
	case len(rows) == 0 || len(columns) == 0:
		return Grid{}, errors.New("a grid without a cell")
	case len(rows) > maxGridRows || len(columns) > maxGridColumns:
		return Grid{}, fmt.Errorf("a grid of %d by %d is larger than any", len(rows), len(columns))
	}
	label := func(s string) string { return Printable(s, maxGridLabelRunes) }
	g := Grid{down: label(down), across: label(across)}
	for _, c := range columns {
		g.columns = append(g.columns, label(c))
	}
	for _, r := range rows {
		if len(r.Cells) != len(columns) {
			return Grid{}, fmt.Errorf("a grid's row has %d cells and not %d", len(r.Cells), len(columns))
		}
		for _, c := range r.Cells {
			if _, ok := cellMarks[c]; !ok {
				return Grid{}, fmt.Errorf("a grid holds the unknown cell %d", c)
			}
		}
		g.rows = append(g.rows, GridRow{label(r.Label), append([]Cell(nil), r.Cells...)})
	}
	return g, nil
}

// IsZero reports whether there is no grid.
func (g Grid) IsZero() bool { return len(g.rows) == 0 }

// Down says what changes from row to row.
func (g Grid) Down() string { return g.down }

// Across says what changes from column to column.
func (g Grid) Across() string { return g.across }

// Columns returns the labels of the columns.
func (g Grid) Columns() []string { return clone(g.columns) }

// Rows returns a copy of the rows.
func (g Grid) Rows() []GridRow {
	var out []GridRow
	for _, r := range g.rows {
		out = append(out, GridRow{r.Label, append([]Cell(nil), r.Cells...)})
	}
	return out
}

type gridWire struct {
	Down    string        `json:"down"`
	Across  string        `json:"across"`
	Columns []string      `json:"columns"`
	Rows    []gridRowWire `json:"rows"`
	Legend  string        `json:"legend"`
}

type gridRowWire struct {
	Label string `json:"label"`
	// Cells is one character a column; see [GridLegend].
	Cells string `json:"cells"`
}

func (g Grid) wire() *gridWire {
	if g.IsZero() {
		return nil
	}
	w := gridWire{Down: g.down, Across: g.across, Columns: g.columns, Legend: GridLegend}
	for _, r := range g.rows {
		w.Rows = append(w.Rows, gridRowWire{r.Label, r.line()})
	}
	return &w
}

func (r GridRow) line() string {
	var b strings.Builder
	for _, c := range r.Cells {
		b.WriteRune(c.Mark())
	}
	return b.String()
}

// String returns the row's marks.
func (r GridRow) String() string { return r.line() }

// grid reads the written form; a record is untrusted, and what is no grid is none.
func (w *gridWire) grid() Grid {
	if w == nil {
		return Grid{}
	}
	cells := map[rune]Cell{}
	for c, mark := range cellMarks {
		cells[mark] = c
	}
	var rows []GridRow
	for _, r := range w.Rows[:min(len(w.Rows), maxGridRows+1)] {
		row := GridRow{Label: r.Label}
		for _, mark := range r.Cells {
			c, ok := cells[mark]
			if !ok || len(row.Cells) > maxGridColumns {
				return Grid{}
			}
			row.Cells = append(row.Cells, c)
		}
		rows = append(rows, row)
	}
	g, err := NewGrid(w.Down, w.Across, w.Columns, rows)
	if err != nil {
		return Grid{}
	}
	return g
}

// MarshalJSON refuses the zero Grid.
func (g Grid) MarshalJSON() ([]byte, error) {
	if g.IsZero() {
		return nil, errors.New("an empty grid does not marshal")
	}
	return json.Marshal(g.wire())
}
