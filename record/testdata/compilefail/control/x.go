// Package x does everything by the public path and compiles: without it, a typing
// error in its siblings could pass for a refusal.
package x

import (
	"infbench/arrival"
	"infbench/gates"
	"infbench/record"
)

func numbers(id record.Identity, g gates.GateSet, a arrival.ArrivalModel, m record.Measurements) (record.PerfRecord, error) {
	return record.NewPerfRecord(id, g, a, m)
}

var _ = numbers
