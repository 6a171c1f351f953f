package arch

import "strings"

// Products returns the architectures in the table, each with the names of its products.
func Products() map[string][]string {
	out := map[string][]string{}
	for _, g := range groups {
		for name := range strings.FieldsSeq(g.names) {
			name, _, _ = strings.Cut(name, ":")
			out[g.arch] = append(out[g.arch], name)
		}
	}
	return out
}
