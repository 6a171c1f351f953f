// Package gates says how a claim about a served model is asked, judged and
// proven.
//
// A [Check] asks one claim of one subject and returns a [Finding]. [Run] turns
// it into a [Verdict], which is the only way to get one inside the program.
// The verdicts about one [Subject] make a [Ledger], and a ledger in which every
// required check ran, none failed and the smoke and correctness stages really
// passed something makes a [GateSet]: the proof without which no performance
// number can exist.
//
// The one rule: a value that exists has been checked. Fields are unexported,
// constructors demand what they need, and a zero value proves nothing and
// refuses to be written. This holds against mistakes in the program and against
// edits that leave the verdicts behind; it is no signature.
//
// gates is a leaf: it imports the standard library only.
package gates
