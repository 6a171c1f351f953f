// Package evidence keeps what a verdict was reached by: every request of the check and all
// that came back, in one file that can be asked again.
//
// The one rule: nothing gets into a [Bundle] but through the redactor that [New] is given,
// and nothing comes out of a file but through the same bounds that it was written under.
package evidence
