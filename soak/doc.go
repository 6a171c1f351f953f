// Package soak asks whether a server that is right at first is still right after hours:
// the checks of stages 2 and 3 by turns beside a light constant load, with an eye on restarts
// and on what creeps up.
//
// A [Plan] is run by [Run] as rounds; each thing that happens is an [Event], and the
// [History] is nothing but the sum of them, so that a journal of events is all that is
// needed to go on after a kill. The verdict at the end is a check on the history.
//
// The one rule: what is said of speed is how it changed, never how much it is. A latency
// without the gates and the arrivals of a record is no number ([Ratio] cannot hold one).
package soak
