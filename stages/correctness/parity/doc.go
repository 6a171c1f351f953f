// Package parity compares two servers that should say the same: a target, and a reference
// of the same weights.
//
// Both are asked the same prompts at temperature 0. Their answers are compared position by
// position up to and including the first token in which they differ: what follows stands
// behind different prefixes and says nothing. At each position the lists of the likeliest
// tokens are compared too, so that a server which still says the same, but less surely,
// shows.
//
// The one rule: asking and comparing are apart. [Record] asks one server; [Compare] is a
// pure function of two recordings, and gives for a recording and itself exactly zero.
package parity
