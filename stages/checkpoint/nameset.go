package checkpoint

import "hash/maphash"

// A nameSet finds names that occur twice among those of one header. It is a hash table
// with open addressing and nothing else, since a general map took a fifth of the time
// of reading a header.
type nameSet struct {
	names []string
	slots []uint32 // one more than an index into names, 0 where there is none
}

var nameSeed = maphash.MakeSeed()

func newNameSet(expected int) *nameSet {
	s := &nameSet{names: make([]string, 0, expected)}
	s.grow(expected)
	return s
}

// add adds a name and reports whether it was there already.
func (s *nameSet) add(name string) (twice bool) {
	if 2*len(s.names) >= len(s.slots) {
		s.grow(2 * len(s.names))
	}
	slot := s.find(name)
	if *slot != 0 {
		return true
	}
	s.names = append(s.names, name)
	*slot = uint32(len(s.names)) // a header of 100 MB holds less than 2^32 names
	return false
}

// find returns the slot of a name, or the empty one where it belongs.
func (s *nameSet) find(name string) *uint32 {
	mask := uint64(len(s.slots) - 1)
	for i := maphash.String(nameSeed, name) & mask; ; i = (i + 1) & mask {
		if at := s.slots[i]; at == 0 || s.names[at-1] == name {
			return &s.slots[i]
		}
	}
}

// grow makes room for n names, with at least half of the slots empty.
func (s *nameSet) grow(n int) {
	size := 16
	for size < 2*n+2 {
		size *= 2
	}
	s.slots = make([]uint32, size)
	for i, name := range s.names {
		*s.find(name) = uint32(i + 1)
	}
}
