package static

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"infbench/stages/checkpoint"
)

// A Cell is what a layer holds of one projection, as one character that prints the
// same everywhere.
type Cell byte

// The cells. A hole is what siblings of the same kind have and this layer has not.
const (
	CellNone      Cell = ' ' // not there, and none is missed
	CellPlain     Cell = '.' // a plain weight
	CellQuantised Cell = '#' // quantised, with all its parts
	CellLacking   Cell = '!' // quantised, and a part is lost
	CellSome      Cell = '%' // some of its experts are lost
	CellHole      Cell = 'X' // a hole
	CellDamaged   Cell = '?' // declared one way and stored another
)

// A Grid is the decoder's layers against its projections.
type Grid struct {
	// Prefix is where the layers stand, such as "model.layers".
	Prefix string
	// Layers is how many columns there are: those that are declared or stored.
	Layers int
	Rows   []GridRow
}

// A GridRow is one projection, numbers inside its name replaced by "*".
type GridRow struct {
	Name  string
	Cells []Cell
}

// maxColumns bounds the layers that are drawn: the deepest real model has 163.
const maxColumns = 512

// GridOf draws the decoder's layers; the grid has no row when they cannot be told.
func GridOf(inv checkpoint.Inventory) Grid {
	s := decoder(inv)
	if s == nil || len(s.Layers) == 0 {
		return Grid{}
	}
	g := Grid{Prefix: s.Prefix}
	last := s.Layers[len(s.Layers)-1].Number + 1
	if n, ok := inv.Config().Layers(); ok {
		last = max(last, int(min(n, maxColumns)))
	}
	g.Layers = min(last, maxColumns)
	rows := map[string]*drawn{}
	prefix := s.Prefix + "."
	states := moduleStates(inv)
	for _, m := range inv.Modules() {
		number, tail, ok := strings.Cut(strings.TrimPrefix(m.Name, prefix), ".")
		layer, err := strconv.Atoi(number)
		if !ok || err != nil || layer < 0 || layer >= g.Layers || !strings.HasPrefix(m.Name, prefix) {
			continue
		}
		name, _ := checkpoint.Generalise(tail)
		r, seen := rows[name]
		switch {
		case seen && r == nil:
			continue // a buffer that nobody needs
		case !seen && harmless.MatchString(name+"."+m.Parts[0]):
			rows[name] = nil
			continue
		case !seen:
			r = &drawn{cells: make([]Cell, g.Layers), count: make([]int, g.Layers), order: len(rows)}
			for i := range r.cells {
				r.cells[i] = CellNone
			}
			rows[name] = r
		}
		r.count[layer]++
		state, judged := states[m.Name]
		if !judged {
			state = CellPlain
		}
		if worse(state, r.cells[layer]) {
			r.cells[layer] = state
		}
	}
	maps.DeleteFunc(rows, func(_ string, r *drawn) bool { return r == nil })
	for _, name := range slices.SortedFunc(maps.Keys(rows), func(a, b string) int { return cmp.Compare(rows[a].order, rows[b].order) }) {
		rows[name].few()
		g.Rows = append(g.Rows, GridRow{name, rows[name].cells})
	}
	g.holes(inv, s)
	return g
}

type drawn struct {
	cells []Cell
	count []int
	order int
}

// few marks the layers that have fewer modules of a row, such as experts, than most.
func (d *drawn) few() {
	most := slices.Max(d.count)
	for i, n := range d.count {
		if n > 0 && n < most && d.cells[i] != CellLacking {
			d.cells[i] = CellSome
		}
	}
}

// worse orders the states of the modules that share a cell.
func worse(a, b Cell) bool {
	rank := func(c Cell) int { return strings.IndexByte(" .#%?!", byte(c)) }
	return rank(a) > rank(b)
}

// moduleStates says how each module that a declaration means is stored.
func moduleStates(inv checkpoint.Inventory) map[string]Cell {
	out := map[string]Cell{}
	if inv.Kind() == checkpoint.GGUFModel {
		for _, m := range inv.Modules() {
			if t, here := inv.Tensor(m.Tensor("weight")); here && m.Has("weight") && !t.DType.Plain() {
				out[m.Name] = CellQuantised
			}
		}
		return out
	}
	j, _, ok := judgeQuant(inv)
	if !ok {
		return out
	}
	for _, m := range j.whole {
		out[m.Name] = CellQuantised
	}
	for _, l := range j.lacking {
		out[l.module] = CellLacking
	}
	for _, l := range j.orphans {
		out[l.module] = CellLacking
	}
	for _, list := range [][]string{j.plain, j.ignored} {
		for _, n := range list {
			out[n] = CellDamaged
		}
	}
	return out
}

// holes marks what a layer lacks that its siblings have, and layers that are declared
// and not there at all.
func (g *Grid) holes(inv checkpoint.Inventory, s *checkpoint.Stack) {
	row := map[string]int{}
	for i, r := range g.Rows {
		row[r.Name] = i
	}
	for layer, parts := range layerHoles(inv, s) {
		for _, p := range parts {
			if i, ok := row[p]; ok && layer < g.Layers {
				g.Rows[i].Cells[layer] = CellHole
			}
		}
	}
	stated, ok := inv.Config().Layers()
	for layer := range g.Layers {
		if s.Layer(layer) == nil && ok && int64(layer) < stated {
			for i := range g.Rows {
				g.Rows[i].Cells[layer] = CellHole
			}
		}
	}
}
