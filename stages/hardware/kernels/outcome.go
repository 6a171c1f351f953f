package kernels

import (
	"fmt"
	"strings"

	"infbench/stages/hardware/arch"
)

// Outcome is what an inventory comes to on a device, in a word or two.
type Outcome string

// The outcomes, the best first.
const (
	Runs    Outcome = "native"         // all that the engine needs is made for the device
	RunsAs  Outcome = "compatible"     // it runs, some of it as code for another device
	Without Outcome = "no backend"     // it runs, and a backend that it can do without does not
	Starts  Outcome = "slow start"     // the driver compiles some of what it needs when it is loaded
	Fails   Outcome = "fails"          // something that it needs does not run
	Other   Outcome = "another vendor" // all of the code is for another vendor's devices
	Broken  Outcome = "damaged"        // a file could not be read
	Nothing Outcome = "no code"        // no device code was found
)

// Outcome returns what the inventory comes to on the device, and in a few words why.
func (inv Inventory) Outcome(d arch.Device) (o Outcome, why string) {
	j := inv.On(d)
	fails, lacks, slow := j.Of(Row.Fails), j.Of(Row.Lacks), j.Of(Row.Slow)
	switch {
	case len(inv.Damaged) > 0:
		return Broken, inv.Damaged[0].String()
	case len(j.Rows) == 0:
		return Nothing, ""
	case j.Foreign():
		return Other, ""
	case len(fails) > 0:
		return Fails, few(fails)
	case len(slow) > 0:
		return Starts, few(slow)
	case len(lacks) > 0:
		return Without, few(lacks)
	case len(j.Of(func(r Row) bool { return !r.Foreign && !r.Served && r.Reach == arch.Compatible })) > 0:
		return RunsAs, ""
	}
	return Runs, ""
}

// few names the first libraries of a list.
func few(rows []Row) string {
	const most = 2
	var out []string
	for _, r := range rows[:min(most, len(rows))] {
		out = append(out, fmt.Sprintf("%s (%s)", r.Path, r.Library))
	}
	if n := len(rows) - most; n > 0 {
		out = append(out, fmt.Sprintf("%d more", n))
	}
	return strings.Join(out, "; ")
}
