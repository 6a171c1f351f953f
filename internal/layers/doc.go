// Package layers guards the map of packages: its test says which room may know which,
// and why the tempting arrows are wrong. It holds nothing else.
package layers
