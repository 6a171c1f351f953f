// Package static is stage 0: can this checkpoint be right? It judges a
// [checkpoint.Inventory] and nothing else, so it needs no server, no device and
// no network, and takes milliseconds.
//
// Each check is one file that adds itself to the list; what several share is in
// names.go (what tensors there are), stack.go (the decoder's layers), family.go
// (shapes of known architectures), quant.go (a declaration against the modules),
// form.go (what a quantised module stores, as a table) and engines.go (what engines
// do with a defect). A quantisation scheme is one file, scheme_….go, and so is a
// family.
//
// Outcomes: a claim without meaning for this source, such as one about shard
// headers before any shard has landed, is "not applicable" and does not disturb;
// a claim that should have been asked and could not be, such as one about a
// quantisation method that is not covered, is "skipped" and makes the exit code 1.
// What is only worth recording passes, and its summary begins with "info:".
package static

import (
	"time"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

// checks is the stage's own list; the files of the checks add to it.
var checks gates.Registry[checkpoint.Inventory]

// Checks returns the checks of stage 0, cheapest first.
func Checks() []gates.Check[checkpoint.Inventory] { return checks.All() }

// Infos returns the documentation of the checks.
func Infos() []gates.Info { return checks.Infos() }

// What a check costs on a large checkpoint of 100,000 tensors.
const (
	glance = 10 * time.Microsecond // looks at a field or two
	pass   = 5 * time.Millisecond  // walks over all names
	deep   = 30 * time.Millisecond // walks over all names and headers
)

// since is the version that brought this stage.
const since = "0.1.0"

// again is the command that asks once more after a repair.
const again = "infbench stage0 --checkpoint DIR"
