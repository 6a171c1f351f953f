package kernels

import (
	"cmp"
	"slices"

	"infbench/stages/hardware/tree"
)

// Inventory is what was found in one image, wheel, folder or file.
type Inventory struct {
	// Name is the base name of what was read, Kind what it is, such as "folder".
	Name, Kind string
	// Platform and Digest are of an image, "" for anything else.
	Platform, Digest string
	// Libraries are those with compiled code, by path.
	Libraries []Library
	// Marks are the files that tell which engines, compilers and tools are there.
	Marks []string
	// Damaged are files that could not be read.
	Damaged []Damaged
	// Plain counts libraries without device code, NotELF files that are called libraries and
	// are none, Links what was not followed.
	Plain, NotELF, Links int
	// Notes say what was passed over.
	Notes []string
}

// Damaged is a file that could not be read.
type Damaged struct{ Path, Why string }

// String names the file and the reason.
func (d Damaged) String() string { return d.Path + ": " + d.Why }

// Engines returns the engines that are there, as their marks tell.
func (inv Inventory) Engines() []string {
	files := make([]string, len(inv.Marks))
	for i, m := range inv.Marks {
		files[i] = inv.full(m)
	}
	return enginesAmong(files)
}

// full is a path with the name of the folder that was read, which may itself be the
// package that a pattern names.
func (inv Inventory) full(file string) string {
	if inv.Kind == string(tree.Folder) {
		return inv.Name + "/" + file
	}
	return file
}

// Join returns the inventories as one: what an engine has of several folders. Paths of
// several begin with the names of what they lie in.
func Join(list ...Inventory) Inventory {
	if len(list) == 1 {
		return list[0]
	}
	var all Inventory
	for _, inv := range list {
		for _, l := range inv.Libraries {
			l.Path = inv.within(l.Path)
			all.Libraries = append(all.Libraries, l)
		}
		for _, m := range inv.Marks {
			all.Marks = append(all.Marks, inv.within(m))
		}
		for _, d := range inv.Damaged {
			all.Damaged = append(all.Damaged, Damaged{inv.within(d.Path), d.Why})
		}
		all.Platform = cmp.Or(all.Platform, inv.Platform)
		all.Plain += inv.Plain
		all.NotELF += inv.NotELF
		all.Links += inv.Links
		all.Notes = append(all.Notes, inv.Notes...)
	}
	return all
}

// within is a path that is told apart from those of other inventories.
func (inv Inventory) within(file string) string {
	if file == inv.Name {
		return file
	}
	return inv.Name + "/" + file
}

// sorted puts everything in the order of paths.
func (inv *Inventory) sorted() {
	slices.SortFunc(inv.Libraries, func(a, b Library) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(inv.Damaged, func(a, b Damaged) int { return cmp.Compare(a.Path, b.Path) })
	slices.Sort(inv.Marks)
}

// Whole reports whether it is all that a container sees, so that what is not there is
// nowhere.
func (inv Inventory) Whole() bool { return inv.Platform != "" }

// RoleOf returns what the library at a path is to the engines that were found.
func (inv Inventory) RoleOf(path string) Role { return roleOf(inv.full(path), inv.Engines()).Role }
