package render

import (
	"fmt"
	"io"
	"strings"

	"infbench/gates"
	"infbench/stages/hardware"
	"infbench/stages/static"
)

// Checkpoint is what stage 0 shows of a checkpoint besides its verdicts: what it
// holds, layer by layer, and what it would cost. Both are information.
type Checkpoint struct {
	Name, Revision, Kind, Fingerprint string

	Grid     static.Grid
	Estimate static.Estimate
	// Memory is that of the devices it shall fit, zero when none was named.
	Memory hardware.Memory
	// Context is the longest sequence that the configuration allows, 0 when unknown.
	Context int64
}

const (
	gridColumns = 100
	gridLabel   = 34
)

// Inventory draws the layers against the projections. Projections that look alike in
// every layer share a line, unless all are wanted.
func Inventory(w io.Writer, s Style, c Checkpoint) {
	if len(c.Grid.Rows) == 0 || s.Quiet {
		return
	}
	fmt.Fprintf(w, "%s  %s × %d layers   # quantised  . plain  ! a part lost  %% experts lost  ? not as declared  X lost\n",
		s.paint(bold, "inventory"), gates.Printable(c.Grid.Prefix, 60), c.Grid.Layers)
	for from := 0; from < c.Grid.Layers; from += gridColumns {
		to := min(from+gridColumns, c.Grid.Layers)
		fmt.Fprintf(w, "  %-*s %s\n", gridLabel, "", s.paint(dim, ruler(from, to)))
		for _, r := range rowsAlike(c.Grid.Rows, s.All) {
			fmt.Fprintf(w, "  %-*s %s\n", gridLabel, gates.Printable(r.label, gridLabel), s.cells(r.cells[from:to]))
		}
	}
}

// ruler marks every tenth layer by its number.
func ruler(from, to int) string {
	b := []byte(strings.Repeat(" ", to-from))
	for i := from; i < to; i += 10 {
		if n := fmt.Sprint(i); i+len(n) <= to { // half a number is none
			copy(b[i-from:], n)
		}
	}
	return strings.TrimRight(string(b), " ")
}

type gridLine struct {
	label string
	cells []static.Cell
}

func rowsAlike(rows []static.GridRow, all bool) []gridLine {
	var out []gridLine
	at := map[string]int{}
	count := map[string]int{}
	for _, r := range rows {
		key := string(cellBytes(r.Cells))
		if i, ok := at[key]; ok && !all {
			count[key]++
			name, _, _ := strings.Cut(out[i].label, " +")
			out[i].label = fmt.Sprintf("%s +%d alike", name, count[key])
			continue
		}
		at[key] = len(out)
		out = append(out, gridLine{r.Name, r.Cells})
	}
	return out
}

func cellBytes(cells []static.Cell) []byte {
	b := make([]byte, len(cells))
	for i, c := range cells {
		b[i] = byte(c)
	}
	return b
}

// cells paints runs of what is wrong.
func (s Style) cells(cells []static.Cell) string {
	var b strings.Builder
	for i := 0; i < len(cells); {
		j := i
		for j < len(cells) && cells[j] == cells[i] {
			j++
		}
		run := string(cellBytes(cells[i:j]))
		switch cells[i] {
		case static.CellLacking, static.CellSome, static.CellHole, static.CellDamaged:
			run = s.paint(red, run)
		case static.CellQuantised:
			run = s.paint(green, run)
		case static.CellNone, static.CellPlain:
		}
		b.WriteString(run)
		i = j
	}
	return strings.TrimRight(b.String(), " ")
}

// Estimate writes what the checkpoint costs.
func Estimate(w io.Writer, s Style, c Checkpoint) {
	if s.Quiet {
		return
	}
	e := c.Estimate
	label := s.paint(bold, "estimate ")
	line := func(format string, a ...any) {
		fmt.Fprintf(w, "%s  %s\n", label, fmt.Sprintf(format, a...))
		label = strings.Repeat(" ", len("estimate "))
	}
	if e.Download >= 0 || e.Weights >= 0 {
		line("download %s, weights in memory %s%s", size(e.Download), size(e.Weights), dtypes(e.DTypes))
	}
	if k := e.KV; k.PerToken > 0 {
		line("KV cache %s a token at 16 bit (%s)%s", size(k.PerToken), kvLayers(k), kvAt(k, c.Context))
	}
	if c.Memory.Each > 0 {
		line("%s", fits(e, c.Memory))
	}
}

func dtypes(list []static.DTypeBytes) string {
	var parts []string
	for i, d := range list {
		if i == 4 {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, fmt.Sprintf("%s %s", gates.Printable(string(d.DType), 20), size(d.Bytes)))
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func kvLayers(k static.KVCache) string {
	parts := []string{k.Kind, plural(int(k.Layers), "layer")}
	if k.Windowed > 0 {
		parts = append(parts, fmt.Sprintf("%d with a window of %d", k.Windowed, k.Window))
	}
	if k.Stateless > 0 {
		parts = append(parts, fmt.Sprintf("%d without a cache", k.Stateless))
	}
	return strings.Join(parts, ", ")
}

func kvAt(k static.KVCache, context int64) string {
	if context <= 0 {
		return ""
	}
	return fmt.Sprintf("; %d tokens, all that it is made for: %s", context, size(k.Bytes(context)))
}

// fits says whether the weights fit, and what remains for the cache.
func fits(e static.Estimate, m hardware.Memory) string {
	name := fmt.Sprintf("%s (%s)", gates.Printable(m.Name, 40), size(m.Total()))
	left := m.Total() - e.Weights
	switch {
	case e.Weights < 0:
		return "whether it fits " + name + " is not known: the sizes of the weights are not"
	case left < 0:
		return fmt.Sprintf("does not fit %s: the weights alone are %s too large", name, size(-left))
	case e.KV.PerToken == 0:
		return fmt.Sprintf("weights fit %s, %s left", name, size(left))
	}
	tokens := e.KV.Tokens(left)
	room := fmt.Sprintf("at most %d tokens of cache", tokens)
	if tokens < 0 {
		room = "any length of one sequence"
	}
	return fmt.Sprintf("weights fit %s, %s left: %s before what the engine itself needs", name, size(left), room)
}

// size writes bytes in binary units.
func size(n int64) string {
	const unit = 1024
	switch {
	case n < 0:
		return "not known"
	case n < unit:
		return fmt.Sprintf("%d B", n)
	}
	v, i := float64(n), -1
	for v >= unit && i < 4 {
		v /= unit
		i++
	}
	return fmt.Sprintf("%.1f %ciB", v, "KMGTP"[i])
}

type checkpointWire struct {
	Name        string       `json:"name"`
	Revision    string       `json:"revision,omitempty"`
	Kind        string       `json:"kind"`
	Fingerprint string       `json:"fingerprint"`
	Inventory   gridWire     `json:"inventory"`
	Estimate    estimateWire `json:"estimate"`
}

type gridWire struct {
	Prefix string        `json:"prefix"`
	Layers int           `json:"layers"`
	Legend string        `json:"legend"`
	Rows   []gridRowWire `json:"rows"`
}

type gridRowWire struct {
	Name  string `json:"name"`
	Cells string `json:"cells"`
}

type estimateWire struct {
	DownloadBytes int64       `json:"download_bytes"`
	WeightBytes   int64       `json:"weight_bytes"`
	DTypes        []dtypeWire `json:"dtypes"`
	KV            *kvWire     `json:"kv_cache,omitempty"`
	Context       int64       `json:"context_tokens,omitempty"`
	Device        *deviceWire `json:"device,omitempty"`
}

type dtypeWire struct {
	DType   string `json:"dtype"`
	Tensors int    `json:"tensors"`
	Bytes   int64  `json:"bytes"`
}

type kvWire struct {
	Kind              string `json:"kind"`
	BytesPerToken     int64  `json:"bytes_per_token"`
	BytesBeyondWindow int64  `json:"bytes_per_token_beyond_window"`
	WindowTokens      int64  `json:"window_tokens,omitempty"`
	Layers            int64  `json:"layers"`
	WindowedLayers    int64  `json:"windowed_layers"`
	StatelessLayers   int64  `json:"layers_without_cache"`
}

type deviceWire struct {
	Name        string `json:"name"`
	MemoryBytes int64  `json:"memory_bytes"`
	LeftBytes   int64  `json:"left_bytes"`
	CacheTokens int64  `json:"cache_tokens"`
}

func (c *Checkpoint) wire() *checkpointWire {
	if c == nil {
		return nil
	}
	out := &checkpointWire{Name: c.Name, Revision: c.Revision, Kind: c.Kind, Fingerprint: c.Fingerprint}
	out.Inventory = gridWire{Prefix: c.Grid.Prefix, Layers: c.Grid.Layers, Legend: "# quantised, . plain, ! a part lost, % experts lost, ? not as declared, X lost", Rows: []gridRowWire{}}
	for _, r := range c.Grid.Rows {
		out.Inventory.Rows = append(out.Inventory.Rows, gridRowWire{r.Name, string(cellBytes(r.Cells))})
	}
	e := c.Estimate
	out.Estimate = estimateWire{DownloadBytes: e.Download, WeightBytes: e.Weights, DTypes: []dtypeWire{}, Context: c.Context}
	for _, d := range e.DTypes {
		out.Estimate.DTypes = append(out.Estimate.DTypes, dtypeWire{string(d.DType), d.Tensors, d.Bytes})
	}
	if k := e.KV; k.PerToken > 0 {
		out.Estimate.KV = &kvWire{k.Kind, k.PerToken, k.BeyondWindow, k.Window, k.Layers, k.Windowed, k.Stateless}
	}
	if c.Memory.Each > 0 {
		left := c.Memory.Total() - max(e.Weights, 0)
		out.Estimate.Device = &deviceWire{c.Memory.Name, c.Memory.Total(), left, e.KV.Tokens(left)}
	}
	return out
}
