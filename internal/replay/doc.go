// Package replay asks the requests of a bundle of evidence again, in the order and with
// the overlap in which they were asked, and says of each answer whether it is the same.
//
// The one rule: it judges nothing. A difference is told by where it is and by what stood
// and stands there, never by whether it matters.
package replay
