// Package hardware holds the checks of stage 1: does the engine run on its device,
// and which device and engine is it?
//
// The one rule: what a server does not tell is said to be unknown, never guessed, and
// a guess of ours about a device is never a verdict. A new check is one new file.
package hardware

import (
	"slices"
	"time"

	"infbench/gates"
	"infbench/record"
	"infbench/stages/endpoint"
	"infbench/stages/hardware/kernels"
)

// Subject is what stage 1 looks at: a running server, and the name of its device
// where a person stated one.
type Subject struct {
	endpoint.Endpoint
	// Device is the accelerator as stated by a person, "" when nobody did.
	Device string
	// Auto says that Device is the accelerator of the machine that infbench runs on, as was
	// asked for, and not a person's word.
	Auto bool
	// Host is the machine that infbench runs on, the zero Host where nobody looked.
	Host record.Host
	// Kernels is the compiled code that was named, one inventory for each path.
	Kernels []kernels.Inventory
	// Streams is the largest number of requests that are tried at once; 0 means
	// [DefaultStreams].
	Streams int
	// Limit is how long each walk through the kernels goes on to larger shapes; 0 means 12 s.
	Limit time.Duration
	// Log is the engine's log file, "" where none was named.
	Log string
}

var checks gates.Registry[Subject]

// Checks returns the checks of stage 1, cheapest first.
func Checks() []gates.Check[Subject] { return checks.All() }

// Offline returns the checks of stage 1 that ask no server.
func Offline() []gates.Check[Subject] {
	return slices.DeleteFunc(checks.All(), func(c gates.Check[Subject]) bool { return slices.Contains(c.Needs, endpoint.Server) })
}

// Infos returns the documentation of the checks.
func Infos() []gates.Info { return checks.Infos() }
