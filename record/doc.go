// Package record holds what a run leaves behind: who was measured, what the gates
// said, and, only where they passed, the numbers.
//
// The one rule: no number without a verdict and an arrival model. A [PerfRecord]
// can be made only by [NewPerfRecord], from a satisfied [gates.GateSet] and an
// [arrival.ArrivalModel] about the same subject; decoding goes through it too.
// [Measurements] on their own have no mouth: they refuse to marshal and print as
// "measurements (ungated)". A [Run] is one line of a record file: every run leaves
// one, failures included, and only a run whose gates passed may hold numbers.
//
// The package is also the only door to the record files: [Open] appends under a
// lock and syncs, [Read] reports a torn or foreign line and goes on, and a
// [Redactor] takes out keys and host names on the way.
package record
