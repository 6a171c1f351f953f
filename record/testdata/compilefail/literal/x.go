// Package x writes the proof down as a literal.
package x

import (
	"infbench/gates"
	"infbench/record"
)

var (
	_ = gates.GateSet{ledger: gates.Ledger{}}      // want "ledger"
	_ = gates.Verdict{check: "smoke/known-answer"} // want "check"
	_ = record.PerfRecord{gates: gates.GateSet{}}  // want "gates"
	_ = record.Measurements{levels: nil}           // want "levels"
	_ = record.Live{parts: record.LiveParts{}}     // want "parts"
	_ = gates.Canary{digits: "12345678"}           // want "digits"
)
