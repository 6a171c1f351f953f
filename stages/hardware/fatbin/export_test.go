package fatbin

import (
	"os"

	"infbench/stages/hardware/arch"
)

// Read lists the device code of a file.
func Read(path string) (Library, error) {
	f, err := os.Open(path)
	if err != nil {
		return Library{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Library{}, err
	}
	return ReadAt(f, info.Size())
}

// Holds reports whether the library holds device code that could run anywhere.
func (l Library) Holds() bool { return len(l.Targets)+len(l.Relocatable) > 0 }

// String lists what the library can run on.
func (l Library) String() string {
	switch {
	case len(l.Targets) > 0 || len(l.Relocatable) == 0:
		return arch.Join(l.Targets)
	}
	return "relocatable: " + arch.Join(l.Relocatable)
}
