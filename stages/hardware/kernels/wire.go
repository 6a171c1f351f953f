package kernels

import (
	"encoding/json"

	"infbench/stages/hardware/arch"
)

// inventorySchema names the form of a written inventory.
const inventorySchema = "infbench.kernels/v1"

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

// maxPath is as long as a path in a finding or a document gets.
const maxPath = 300

func names(ts []arch.Target) []string {
	out := make([]string, len(ts))
	for i, t := range ts {
		out[i] = t.String()
	}
	return out
}
