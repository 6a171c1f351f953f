// Package x invents an arrival model.
package x

import "infbench/arrival"

type mine struct{}

func (mine) String() string { return "as fast as possible" }

var (
	_ = arrival.ArrivalModel{m: nil} // want "unknown field m\|cannot refer to unexported field m"
	_ = arrival.ArrivalModel(mine{}) // want "cannot convert"
)
