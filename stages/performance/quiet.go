package performance

import (
	"math"
	"runtime"
	"runtime/debug"
)

// quietPercent lets the heap grow ninefold between collections, up to quietLimit, beyond which the
// collector works as it always does.
const (
	quietPercent = 800
	quietLimit   = 2 << 30
)

// Quiet keeps the garbage collector out of a measurement as far as memory allows, and returns
// what puts it back. A limit that the person has set stays.
func Quiet() (restore func()) {
	runtime.GC() // what was left over by the stages before is not collected in the middle
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		debug.SetMemoryLimit(quietLimit)
	}
	percent := debug.SetGCPercent(quietPercent)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}
