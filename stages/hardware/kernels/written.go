package kernels

import (
	"encoding/json"
	"errors"
	"fmt"

	"infbench/gates"
	"infbench/internal/lists"
	"infbench/stages/hardware/arch"
)

// Bounds on what was written: an image with two engines has 300 libraries with code, and
// "{}," is three bytes in a file and hundreds in memory.
const (
	maxInventories = 1_000
	maxLibraries   = 20_000
	maxMarks       = 20_000
	maxNotes       = 1_000
	maxTargets     = 1_000
	maxObjects     = 4_096 // of a library, as many as are read of a file
	maxNeeds       = 4_096
	maxEntries     = 1 << 20 // of all lists of a report together
)

// ReadReport returns the inventories of a report of stage 1, at least one.
func ReadReport(b []byte) ([]Inventory, error) {
	var report struct {
		Kernels struct {
			Inventories lists.List[Inventory] `json:"inventories"`
		} `json:"kernels"`
	}
	if err := json.Unmarshal(b, &report); err != nil {
		return nil, err
	}
	entries := 0
	list, err := lists.Read(report.Kernels.Inventories, maxInventories, func(inv Inventory) (Inventory, error) {
		if entries += inv.entries(); entries > maxEntries {
			return Inventory{}, errTooMuch
		}
		return inv, nil
	})
	if err == nil && len(list) == 0 {
		err = errors.New("it lists none")
	}
	return list, err
}

var errTooMuch = fmt.Errorf("more than %d entries, which no image has", maxEntries)

// entries counts what the lists of the inventory hold.
func (inv Inventory) entries() int {
	n := 1 + len(inv.Libraries) + len(inv.Damaged) + len(inv.Marks) + len(inv.Notes)
	for _, l := range inv.Libraries {
		n += len(l.Targets) + len(l.Objects) + len(l.Needs)
		for _, o := range l.Objects {
			n += len(o)
		}
	}
	return n
}

// writtenInventory is an inventory of which the lists are not read yet.
type writtenInventory struct {
	inventoryWire
	Engines   lists.List[string]         `json:"engines"`
	Libraries lists.List[writtenLibrary] `json:"libraries"`
	Damaged   lists.List[damagedWire]    `json:"damaged"`
	Marks     lists.List[string]         `json:"marks"`
	Notes     lists.List[string]         `json:"notes"`
}

type writtenLibrary struct {
	libraryWire
	Targets lists.List[string]             `json:"targets"`
	Objects lists.List[lists.List[string]] `json:"relocatable_objects"`
	Needs   lists.List[string]             `json:"needs"`
}

// UnmarshalJSON reads what MarshalJSON wrote. It refuses what cannot be an inventory.
func (inv *Inventory) UnmarshalJSON(b []byte) error {
	var w writtenInventory
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	switch {
	case w.Schema != inventorySchema:
		return fmt.Errorf("schema %s, want %q", gates.Quote(w.Schema, 40), inventorySchema)
	case w.Plain < 0 || w.NotELF < 0 || w.Links < 0:
		return errors.New("a count below zero")
	}
	out := Inventory{
		Name: gates.Printable(w.Name, 200), Kind: gates.Printable(w.Kind, 60), Platform: gates.Printable(w.Platform, 60), Digest: gates.Printable(w.Digest, 100),
		Plain: w.Plain, NotELF: w.NotELF, Links: w.Links,
	}
	r := room(maxEntries)
	var errs [4]error
	out.Marks, errs[0] = take(&r, "marks", w.Marks, maxMarks, printable)
	out.Notes, errs[1] = take(&r, "notes", w.Notes, maxNotes, printable)
	out.Damaged, errs[2] = take(&r, "damaged files", w.Damaged, maxLibraries, func(d damagedWire) (Damaged, error) {
		return Damaged{gates.Printable(d.Path, maxPath), gates.Printable(d.Why, 300)}, nil
	})
	out.Libraries, errs[3] = take(&r, "libraries", w.Libraries, maxLibraries, r.library)
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	*inv = out
	return nil
}

// room is how many entries may still be taken.
type room int

// take reads a list of so many entries at most, and no more than there is room for.
func take[A, B any](r *room, what string, l lists.List[B], most int, turn func(B) (A, error)) ([]A, error) {
	out, err := lists.Read(l, most, func(b B) (a A, err error) {
		if *r--; *r < 0 {
			return a, errTooMuch
		}
		return turn(b)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return out, nil
}

func (r *room) library(w writtenLibrary) (Library, error) {
	l := Library{Path: gates.Printable(w.Path, maxPath), Files: max(1, w.Files)}
	if w.Files < 0 {
		return Library{}, fmt.Errorf("%s: a count below zero", l.Path)
	}
	var errs [3]error
	l.Targets, errs[0] = r.targets(w.Targets)
	l.Objects, errs[1] = take(r, "relocatable objects", w.Objects, maxObjects, r.targets)
	l.Needs, errs[2] = take(r, "needs", w.Needs, maxNeeds, printable)
	if err := errors.Join(errs[:]...); err != nil {
		return Library{}, fmt.Errorf("%s: %w", l.Path, err)
	}
	return l, nil
}

func (r *room) targets(l lists.List[string]) ([]arch.Target, error) {
	ts, err := take(r, "targets", l, maxTargets, arch.ParseTarget)
	return arch.Unique(ts), err
}

func printable(s string) (string, error) { return gates.Printable(s, maxPath), nil }
