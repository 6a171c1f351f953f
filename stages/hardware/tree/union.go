package tree

import (
	"hash/maphash"
	"strings"
)

// entry is what a layer says of one path.
type entry struct {
	path   string
	kind   kind
	id     int    // of what was kept, or nothing
	target string // of a hard link
}

type kind uint8

const (
	regular  kind = iota
	folder        // leaves what is below it
	other         // links, pipes, devices: hides what was there
	hardLink      // a second name
	whiteout      // hides the path, and all below it, of lower layers
	opaque        // hides all below the path, of lower layers
)

const nothing = -1

// union is what can be seen of the layers that were laid on one another so far: of the
// files that are kept, that is.
type union struct {
	files map[string]int // id by path
	below map[string]int // how many of them lie below a folder
	names map[uint64]struct{}
	seed  maphash.Seed
}

// lay lays a layer on those before it, and returns how many hard links led to no file, and
// how many to one that is kept. It gives up when those are more than there is room for.
func (u *union) lay(entries []entry, room int) (dangling, links int) {
	// A whiteout hides what lower layers have, wherever in its own layer it stands.
	for _, e := range entries {
		switch e.kind {
		case whiteout:
			u.remove(e.path)
			u.removeBelow(e.path)
		case opaque:
			u.removeBelow(e.path)
		case regular, folder, other, hardLink:
		}
	}
	for _, e := range entries {
		switch e.kind {
		case hardLink:
			if _, ok := u.names[u.hash(e.target)]; !ok {
				dangling++
			}
			e.id = nothing
			if id, ok := u.files[e.target]; ok {
				e.id = id
				if links++; links > room {
					return dangling, links
				}
			}
			u.add(e)
		case regular, folder, other:
			u.add(e)
		case whiteout, opaque:
		}
	}
	return dangling, links
}

// add puts an entry in its place, and hides what was there.
func (u *union) add(e entry) {
	// What is above it is a folder now.
	for i := strings.LastIndexByte(e.path, '/'); i > 0; i = strings.LastIndexByte(e.path[:i], '/') {
		u.remove(e.path[:i])
	}
	u.remove(e.path)
	if e.kind == folder {
		return
	}
	u.removeBelow(e.path)
	if e.kind == regular || e.kind == hardLink {
		if u.names == nil {
			u.names, u.seed = map[uint64]struct{}{}, maphash.MakeSeed()
		}
		u.names[u.hash(e.path)] = struct{}{}
	}
	if e.id != nothing && (e.kind == regular || e.kind == hardLink) {
		if u.files == nil {
			u.files, u.below = map[string]int{}, map[string]int{}
		}
		u.files[e.path] = e.id
		u.count(e.path, 1)
	}
}

func (u *union) hash(path string) uint64 {
	if u.names == nil {
		return 0
	}
	return maphash.String(u.seed, path)
}

func (u *union) remove(path string) {
	if _, ok := u.files[path]; ok {
		delete(u.files, path)
		u.count(path, -1)
	}
}

// removeBelow looks through all files only when it is going to remove one.
func (u *union) removeBelow(dir string) {
	if dir == "" {
		clear(u.files)
		clear(u.below)
		return
	}
	if u.below[dir] == 0 {
		return
	}
	for path := range u.files {
		if len(path) > len(dir) && path[len(dir)] == '/' && path[:len(dir)] == dir {
			u.remove(path)
		}
	}
}

func (u *union) count(path string, by int) {
	for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
		dir := path[:i]
		if u.below[dir] += by; u.below[dir] == 0 {
			delete(u.below, dir)
		}
	}
}
