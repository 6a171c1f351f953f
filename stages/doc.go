// Package stages runs a plan: five stages, cheapest first, and the first failure
// ends it.
//
// A [Plan] is made of [Stage] values in ascending order; [NewPlan] refuses another
// order. Inside a stage every check runs, so that one sitting shows every fault; a
// stage that does not start is "not run" with the reason, never absent. A stage that
// measures is [Gated]: it is opened with the proof that the stages before it made, so
// that measuring first and judging later does not compile.
//
// The runner prints nothing. It emits [Event] values, and renderers turn them into
// words.
package stages
