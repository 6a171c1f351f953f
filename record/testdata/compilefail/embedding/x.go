// Package x embeds the proof in a type of its own.
package x

import (
	"infbench/arrival"
	"infbench/gates"
	"infbench/record"
)

type proof struct{ gates.GateSet }

type model struct{ arrival.ArrivalModel }

func numbers(id record.Identity, m record.Measurements) {
	_, _ = record.NewPerfRecord(id, proof{}, arrival.ArrivalModel{}, m) // want "cannot use proof"
	_, _ = record.NewPerfRecord(id, gates.GateSet{}, model{}, m)        // want "cannot use model"
	_, _ = record.NewPerfRecord(id, arrival.ArrivalModel{}, m)          // want "not enough arguments"
}
