// Package x makes up an event of its own.
package x

import "infbench/stages"

type mine struct{}

func (mine) event() {}

var _ stages.Event = mine{} // want "missing method event|unexported method event"
