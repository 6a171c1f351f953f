package tree

import (
	"path"
	"strings"
)

// clean returns the path inside the root that an archive's name means. A name that leaves
// the root, or that no file can have, means none; a leading slash means the root, as it
// does to what unpacks images.
func clean(name string) (string, bool) {
	if len(name) > maxPath || strings.IndexByte(name, 0) >= 0 || strings.Count(name, "/") > maxDepth {
		return "", false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", false
		}
	}
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	return name, name != ""
}

const badName = "a name that leaves its folder, is too long or too deep, or that no file can have: not read"
