package fatbin

import "os"

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
