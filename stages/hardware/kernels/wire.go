package kernels

import (
	"encoding/json"
	"errors"
	"fmt"

	"infbench/gates"
	"infbench/stages/hardware/arch"
)

// inventorySchema names the form of a written inventory.
const inventorySchema = "infbench.kernels/v1"

// Bounds on a written inventory: an image with two engines has 300 libraries with code.
const maxLibraries, maxMarks, maxTargets = 20_000, 20_000, 1_000

type inventoryWire struct {
	Schema    string        `json:"schema"`
	Name      string        `json:"name"`
	Kind      string        `json:"kind,omitempty"`
	Platform  string        `json:"platform,omitempty"`
	Digest    string        `json:"digest,omitempty"`
	Engines   []string      `json:"engines,omitempty"` // for readers: Marks say it
	Libraries []libraryWire `json:"libraries"`
	Damaged   []damagedWire `json:"damaged,omitempty"`
	Marks     []string      `json:"marks,omitempty"`
	Plain     int           `json:"without_device_code"`
	NotELF    int           `json:"not_elf"`
	Links     int           `json:"links"`
	Notes     []string      `json:"notes,omitempty"`
}

type libraryWire struct {
	Path    string     `json:"path"`
	Files   int        `json:"files,omitempty"` // where it is more than one
	Targets []string   `json:"targets"`
	Objects [][]string `json:"relocatable_objects,omitempty"`
	Needs   []string   `json:"needs,omitempty"`
}

type damagedWire struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// MarshalJSON writes the inventory as "infbench.kernels/v1".
func (inv Inventory) MarshalJSON() ([]byte, error) {
	w := inventoryWire{
		Schema: inventorySchema, Name: inv.Name, Kind: inv.Kind, Platform: inv.Platform, Digest: inv.Digest, Engines: inv.Engines(),
		Libraries: []libraryWire{}, Marks: inv.Marks, Plain: inv.Plain, NotELF: inv.NotELF, Links: inv.Links, Notes: inv.Notes,
	}
	for _, l := range inv.Libraries {
		lw := libraryWire{Path: l.Path, Targets: names(l.Targets), Needs: l.Needs}
		if l.Files > 1 {
			lw.Files = l.Files
		}
		for _, o := range l.Objects {
			lw.Objects = append(lw.Objects, names(o))
		}
		w.Libraries = append(w.Libraries, lw)
	}
	for _, d := range inv.Damaged {
		w.Damaged = append(w.Damaged, damagedWire(d))
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads what MarshalJSON wrote. It refuses what cannot be an inventory.
func (inv *Inventory) UnmarshalJSON(b []byte) error {
	var w inventoryWire
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	switch {
	case w.Schema != inventorySchema:
		return fmt.Errorf("schema %.40q, want %q", w.Schema, inventorySchema)
	case len(w.Libraries) > maxLibraries || len(w.Marks) > maxMarks || len(w.Damaged) > maxLibraries:
		return errors.New("more libraries than any image has")
	case w.Plain < 0 || w.NotELF < 0 || w.Links < 0:
		return errors.New("a count below zero")
	}
	out := Inventory{
		Name: gates.Printable(w.Name, 200), Kind: gates.Printable(w.Kind, 60), Platform: gates.Printable(w.Platform, 60), Digest: gates.Printable(w.Digest, 100),
		Marks: printable(w.Marks), Plain: w.Plain, NotELF: w.NotELF, Links: w.Links, Notes: printable(w.Notes),
	}
	for _, lw := range w.Libraries {
		l := Library{Path: gates.Printable(lw.Path, maxPath), Files: max(1, lw.Files), Needs: printable(lw.Needs)}
		var err error
		if l.Targets, err = targets(lw.Targets); err != nil {
			return fmt.Errorf("%s: %w", l.Path, err)
		}
		for _, o := range lw.Objects {
			ts, err := targets(o)
			if err != nil {
				return fmt.Errorf("%s: %w", l.Path, err)
			}
			l.Objects = append(l.Objects, ts)
		}
		out.Libraries = append(out.Libraries, l)
	}
	for _, d := range w.Damaged {
		out.Damaged = append(out.Damaged, Damaged{gates.Printable(d.Path, maxPath), gates.Printable(d.Why, 300)})
	}
	*inv = out
	return nil
}

// maxPath is as long as a path in a finding or a document gets.
const maxPath = 300

func names(ts []arch.Target) []string {
	out := make([]string, len(ts))
	for i, t := range ts {
		out[i] = t.String()
	}
	return out
}

func targets(list []string) ([]arch.Target, error) {
	if len(list) > maxTargets {
		return nil, errors.New("more targets than there are architectures")
	}
	var out []arch.Target
	for _, s := range list {
		t, err := arch.ParseTarget(s)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return arch.Unique(out), nil
}

func printable(list []string) []string {
	var out []string
	for _, s := range list {
		out = append(out, gates.Printable(s, maxPath))
	}
	return out
}
