package static

import (
	"cmp"
	"slices"
	"strings"
)

// SchemeInfo documents a quantisation scheme: what it answers to, where it is
// declared, and what its variants store.
type SchemeInfo struct {
	Methods  []string      `json:"methods"`
	Declared string        `json:"declared"`
	Variants []VariantInfo `json:"variants"`
}

// VariantInfo documents one way in which a scheme stores a linear layer.
type VariantInfo struct {
	Name  string     `json:"name"`
	When  string     `json:"when"`
	Parts []PartInfo `json:"parts"`
}

// PartInfo documents one tensor of a layer: the names that it may have, its dtypes
// (none: any), its shape in N outputs and K inputs ("": any), and when it is required.
type PartInfo struct {
	Names []string `json:"names"`
	Types []string `json:"types,omitempty"`
	Shape string   `json:"shape,omitempty"`
	When  string   `json:"when"`
}

// Schemes returns the documentation of the covered schemes, by the name of their
// first method. It is made of the tables that the checks judge by.
func Schemes() []SchemeInfo {
	var out []SchemeInfo
	for _, s := range schemes {
		info := SchemeInfo{Methods: slices.Clone(s.methods), Declared: s.declared}
		for _, v := range s.variants {
			vi := VariantInfo{Name: v.name, When: cmp.Or(v.when, "declared by that name")}
			for _, p := range v.parts {
				vi.Parts = append(vi.Parts, PartInfo{p.names(), strings.Fields(p.types), p.shape, cmp.Or(p.when.words, "always")})
			}
			info.Variants = append(info.Variants, vi)
		}
		out = append(out, info)
	}
	slices.SortFunc(out, func(a, b SchemeInfo) int { return cmp.Compare(a.Methods[0], b.Methods[0]) })
	return out
}

// NamedOnly returns the methods that are known by name and whose tensors are not
// looked at: what they store is never called right.
func NamedOnly() []string { return slices.Sorted(slices.Values(knownMethods)) }
