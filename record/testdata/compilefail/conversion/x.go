// Package x converts a look-alike into the proof.
package x

import (
	"infbench/gates"
	"infbench/record"
)

type lookalike struct{ ledger struct{} }

var (
	_                   = gates.GateSet(lookalike{})                                // want "cannot convert"
	_                   = record.PerfRecord(struct{ TokensPerSecond float64 }{1e6}) // want "cannot convert"
	_ record.PerfRecord = record.Measurements{}                                     // want "cannot use"
)
