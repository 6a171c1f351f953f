package checkpoint

import (
	"testing"

	"pgregory.net/rapid"
)

// The set says of each name what a map says.
func TestNameSet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := newNameSet(rapid.IntRange(0, 20).Draw(t, "expected"))
		seen := map[string]bool{}
		for _, name := range rapid.SliceOf(rapid.StringMatching(`[ab]{0,6}`)).Draw(t, "names") {
			if got := s.add(name); got != seen[name] {
				t.Fatalf("%q: twice %v, a map says %v", name, got, seen[name])
			}
			seen[name] = true
		}
	})
}
