// Package pacer is a streaming endpoint of known timing: token k of an answer leaves at
// arrival + TTFT + k × ITL, an absolute schedule, so that a late token does not move the
// next ones. When each really left is written down, so that what a client says can be
// held against what happened. It has no model and checks nothing.
//
// It is real HTTP over a real connection: a client is calibrated by the path that its
// measurements take.
package pacer
