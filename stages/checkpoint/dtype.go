package checkpoint

// DType is the storage type of a tensor, in the words of the container ("BF16").
type DType string

// dtypeBits are the dtypes of the container and their widths; anything else is
// refused by readers.
var dtypeBits = map[DType]uint64{
	"BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8,
	"F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
	"I16": 16, "U16": 16, "F16": 16, "BF16": 16,
	"I32": 32, "U32": 32, "F32": 32,
	"C64": 64, "F64": 64, "I64": 64, "U64": 64,
}

// Bits returns the width of one value; ok is false for an unknown dtype.
func (d DType) Bits() (n uint64, ok bool) {
	n, ok = dtypeBits[d]
	return n, ok
}

// Plain reports whether the dtype is one in which unquantised weights are stored.
func (d DType) Plain() bool {
	return d == "BF16" || d == "F16" || d == "F32" || d == "F64"
}

// known returns the dtype that s names without keeping s's text alive.
func knownDType(s string) (DType, bool) {
	for d := range dtypeBits {
		if string(d) == s {
			return d, true
		}
	}
	return "", false
}
