// Package stat says how much a share or a percentile of so many samples is worth, without
// assuming a law for what was sampled: bounds of Clopper and Pearson, and intervals by the
// order of the samples. What a sample cannot carry is said to be none, never guessed.
//
// Special functions are gonum's; nothing here approximates a binomial by a normal law.
package stat
