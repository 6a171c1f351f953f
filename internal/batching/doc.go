// Package batching decides what an inference server computes in its next step.
//
// It is the scheduler and the block-hashed prefix cache of a continuous-batching
// engine, with no clock, no goroutine and no I/O inside: a [Scheduler] is told
// which sequences arrived, says what the next step holds ([Scheduler.Plan]), and
// is told that the step is over ([Scheduler.Commit]). A [Cost] turns a step into
// a duration. Whoever owns the clock (the embedded engine, a simulator) supplies it.
//
// The one rule: every KV block is either free or held by a sequence that is
// running, and a sequence that leaves gives all of its blocks back at once.
package batching
