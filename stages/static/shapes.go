package static

import (
	"slices"

	"infbench/stages/checkpoint"

	"github.com/tidwall/gjson"
)

// excluded returns the matcher of the first of the declaration's keys that is a
// list with entries.
func excluded(d checkpoint.Declaration, keys ...string) matcher {
	var entries []gjson.Result
	for _, k := range keys {
		if r := d.Fields.Get(k); r.IsArray() {
			entries = append(entries, r.Array()...)
		}
	}
	return matching(entries)
}

// cdiv divides and rounds up.
func cdiv(a, b int64) int64 { return (a + b - 1) / b }

// squeeze drops axes of size one: writers differ in whether they keep them.
func squeeze(shape []int64) []int64 {
	if shape == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(shape), func(n int64) bool { return n == 1 })
}

// product returns the number of values of a shape; [] is a scalar.
func product(shape []int64) int64 {
	n := int64(1)
	for _, s := range shape {
		n *= s
	}
	return n
}
