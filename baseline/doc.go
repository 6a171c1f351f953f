// Package baseline answers the narrow question that people have of a change: did it do
// anything, and to which part?
//
// A [Suite] is a frozen workload: prompts of exact lengths made from a seed, sent one at a
// time, repeated and interleaved. Two hashes say whether two records are about the same: that
// of the suite, and that of the prompts which came of it for a server's tokenizer. [Compare]
// refuses more than it reports, and inside the noise it says "no detectable change".
package baseline
