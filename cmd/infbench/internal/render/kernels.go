package render

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"infbench/gates"
	"infbench/matrix"
	"infbench/stages/hardware/arch"
	"infbench/stages/hardware/kernels"
)

// Kernels is what stage 1 shows of compiled code besides its verdicts: one inventory for
// each path that was named.
type Kernels struct {
	Inventories []kernels.Inventory
	// Device is what they are judged on, none where none is known.
	Device arch.Device
}

// kernelsWire is the inventories in a report, and how each library reaches the device.
type kernelsWire struct {
	Device      string              `json:"device,omitempty"`
	Inventories []kernels.Inventory `json:"inventories"`
	Reach       []reachWire         `json:"reach,omitempty"`
}

type reachWire struct {
	Path    string `json:"path"` // of several inventories with the name of its own before it
	Reach   string `json:"reach"`
	Role    string `json:"role,omitempty"`
	Served  bool   `json:"another_of_its_group_runs,omitempty"`
	Foreign bool   `json:"for_another_vendor,omitempty"`
}

func (k *Kernels) wire() *kernelsWire {
	if k == nil {
		return nil
	}
	w := &kernelsWire{Inventories: k.Inventories}
	// Several are judged as one, as the check does: an engine may lie in several folders.
	if k.Device == (arch.Device{}) {
		return w
	}
	w.Device = k.Device.String()
	for _, r := range kernels.Join(k.Inventories...).On(k.Device).Rows {
		w.Reach = append(w.Reach, reachWire{r.Path, r.Reach.String(), string(r.Role), r.Served, r.Foreign})
	}
	return w
}

// shownLibraries is how many libraries are listed where not all are wanted.
const shownLibraries = 20

// shownNotes is how many notes of what was passed over are shown likewise.
const shownNotes = 4

// KernelList lists the libraries of each inventory, the worst first.
func KernelList(w io.Writer, s Style, k Kernels) {
	if s.Quiet {
		return
	}
	all := kernels.Join(k.Inventories...)
	rows := all.On(k.Device).Rows
	if len(rows)+len(all.Notes) == 0 {
		return
	}
	for _, inv := range k.Inventories {
		fmt.Fprintf(w, "%s  %s\n", s.paint(bold, "kernels"), titleOf(inv))
	}
	t := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
	for i, r := range rows {
		if i == shownLibraries && !s.All {
			fmt.Fprintf(t, "  … and %d more (--all lists them)\n", len(rows)-i)
			break
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\n", gates.Printable(r.Path, 100), reachOf(r, k.Device), r.Library)
	}
	_ = t.Flush()
	for i, n := range all.Notes {
		if i == shownNotes && !s.All {
			fmt.Fprintf(w, "  … and %d more notes (--all lists them)\n", len(all.Notes)-i)
			break
		}
		fmt.Fprintf(w, "  note: %s\n", gates.Printable(n, 300))
	}
}

// titleOf names an inventory and what it is.
func titleOf(inv kernels.Inventory) string {
	parts := []string{gates.Printable(inv.Name, 80)}
	for _, p := range []string{inv.Kind, inv.Platform, short(inv.Digest), strings.Join(inv.Engines(), ", ")} {
		if p != "" {
			parts = append(parts, gates.Printable(p, 60))
		}
	}
	return strings.Join(parts, " · ")
}

// short cuts a digest to what people compare.
func short(digest string) string {
	digest = strings.TrimPrefix(digest, "sha256:")
	return digest[:min(12, len(digest))]
}

// reachOf says how a library reaches the device and what it is to the engine.
func reachOf(r kernels.Row, d arch.Device) string {
	switch {
	case d == arch.Device{}:
		return string(r.Role)
	case r.Foreign:
		return "not for this vendor"
	case r.Role == kernels.NotJudged:
		return "not judged"
	case r.Served:
		return "another of its group runs"
	case r.Role == kernels.Unlisted:
		return r.Reach.String()
	}
	return r.Reach.String() + ", " + string(r.Role)
}

// A KernelGrid shows inventories against devices.
type KernelGrid struct {
	Inventories []kernels.Inventory
	Devices     []arch.Device
}

// kernelLegend explains the cells.
const kernelLegend = "native: made for the device · compatible: made for another that it stands in for · slow start: the driver compiles first · no backend: an optional one does not run · fails: something that is needed does not run"

// outcomeOf is an outcome with a reason of bounded length: a library may be for a thousand
// architectures, and says so once for each device.
func outcomeOf(inv kernels.Inventory, d arch.Device) (kernels.Outcome, string) {
	o, why := inv.Outcome(d)
	return o, gates.Printable(why, 400)
}

// Text writes the grid and, below it, what decided each cell that is not native.
func (g KernelGrid) Text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 2, 8, 3, ' ', 0)
	fmt.Fprint(t, "image \\ device")
	for _, d := range g.Devices {
		fmt.Fprintf(t, "\t%s", d)
	}
	fmt.Fprintln(t)
	var why strings.Builder
	for _, inv := range g.Inventories {
		fmt.Fprint(t, titleOf(inv))
		for _, d := range g.Devices {
			o, reason := outcomeOf(inv, d)
			fmt.Fprintf(t, "\t%s", o)
			if reason != "" {
				fmt.Fprintf(&why, "\n%s on %s: %s\n  %s\n", gates.Printable(inv.Name, 80), d, o, reason)
			}
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n%s", kernelLegend, why.String())
	return err
}

// Markdown writes the grid for a page or a merge request.
func (g KernelGrid) Markdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| image \\\\ device |")
	for _, d := range g.Devices {
		fmt.Fprintf(&b, " %s |", d)
	}
	fmt.Fprintf(&b, "\n|---%s|\n", strings.Repeat("|---", len(g.Devices)))
	var why strings.Builder
	for _, inv := range g.Inventories {
		fmt.Fprintf(&b, "| %s |", matrix.MarkdownText(titleOf(inv)))
		for _, d := range g.Devices {
			o, reason := outcomeOf(inv, d)
			fmt.Fprintf(&b, " %s |", o)
			if reason != "" {
				fmt.Fprintf(&why, "\n- %s on %s: **%s**, %s", matrix.MarkdownText(inv.Name), d, o, matrix.MarkdownText(reason))
			}
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "\n%s\n%s\n", kernelLegend, why.String())
	_, err := io.WriteString(w, b.String())
	return err
}

// JSON writes the cells, row by row.
func (g KernelGrid) JSON(w io.Writer) error {
	type cell struct {
		Image   string          `json:"image"`
		Digest  string          `json:"digest,omitempty"`
		Engines []string        `json:"engines,omitempty"`
		Device  string          `json:"device"`
		Outcome kernels.Outcome `json:"outcome"`
		Why     string          `json:"why,omitempty"`
	}
	cells := []cell{}
	for _, inv := range g.Inventories {
		for _, d := range g.Devices {
			o, why := outcomeOf(inv, d)
			cells = append(cells, cell{inv.Name, inv.Digest, inv.Engines(), d.String(), o, why})
		}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Schema string `json:"schema"`
		Cells  []cell `json:"cells"`
	}{"infbench.kernel-matrix/v1", cells})
}
