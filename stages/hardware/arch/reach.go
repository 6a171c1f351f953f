package arch

// Reach says how code gets onto a device; the larger, the better.
type Reach uint8

// The ways onto a device.
const (
	None       Reach = iota // it cannot run there
	ByLink                  // the driver compiles and links relocatable code when it is loaded
	ByPTX                   // the driver compiles it when it is first loaded
	Compatible              // machine code that the device runs, made for another: an earlier one of its major, or its family
	Native                  // machine code for this device
)

var reachNames = [...]string{"none", "by linking when loaded", "through PTX", "compatible", "native"}

// String returns the reach in words.
func (r Reach) String() string { return reachNames[r] }

// Best returns how the best of the targets reaches the device.
func Best[T Target](ts []T, d Device) Reach {
	r := None
	for _, t := range ts {
		r = max(r, t.On(d))
	}
	return r
}
