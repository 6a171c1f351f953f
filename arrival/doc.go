// Package arrival says how load arrives: which clock or which person starts the
// next request.
//
// An [ArrivalModel] is part of every measurement: two honest runs at equal
// throughput can differ threefold in latency by the arrival model alone
// (Schroeder, Wierman, Harchol-Balter, "Open Versus Closed", NSDI 2006). A model is
// a pure function from a seed to due times (open loop) or think times (closed
// loop); no model owns a clock or a loop of its own, and but for [Parse], which reads the
// file that a replay names, nothing here does I/O. [Drive] is the one driver that
// starts requests on time, and it keeps the time at which each was due.
//
// The one rule: no invalid model is quietly reinterpreted. Poisson(0) is an error,
// not "as fast as possible". The zero ArrivalModel is none, and does not marshal.
//
// A new model is one new file that registers its kind. arrival is a leaf.
package arrival
