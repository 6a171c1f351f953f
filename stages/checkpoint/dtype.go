package checkpoint

// DType is the storage type of a tensor, in the words of the container ("BF16").
type DType string

// dtypeOf returns the dtype that s names and the bits of one of its values; ok is false
// for anything but the container's own dtypes, which readers refuse. The text of s is
// not kept alive.
func dtypeOf(s string) (d DType, bits uint64, ok bool) {
	switch s { // for each tensor of each header: a switch costs no hash
	case "BF16":
		return "BF16", 16, true
	case "F32":
		return "F32", 32, true
	case "F16":
		return "F16", 16, true
	case "F8_E4M3":
		return "F8_E4M3", 8, true
	case "U8":
		return "U8", 8, true
	case "I8":
		return "I8", 8, true
	case "I32":
		return "I32", 32, true
	case "U32":
		return "U32", 32, true
	case "I64":
		return "I64", 64, true
	case "BOOL":
		return "BOOL", 8, true
	case "F4":
		return "F4", 4, true
	case "F6_E2M3":
		return "F6_E2M3", 6, true
	case "F6_E3M2":
		return "F6_E3M2", 6, true
	case "F8_E5M2":
		return "F8_E5M2", 8, true
	case "F8_E8M0":
		return "F8_E8M0", 8, true
	case "F8_E4M3FNUZ":
		return "F8_E4M3FNUZ", 8, true
	case "F8_E5M2FNUZ":
		return "F8_E5M2FNUZ", 8, true
	case "I16":
		return "I16", 16, true
	case "U16":
		return "U16", 16, true
	case "C64":
		return "C64", 64, true
	case "F64":
		return "F64", 64, true
	case "U64":
		return "U64", 64, true
	}
	return "", 0, false
}

// Bits returns the width of one value; ok is false for an unknown dtype.
func (d DType) Bits() (n uint64, ok bool) {
	_, n, ok = dtypeOf(string(d))
	return n, ok
}

// Plain reports whether the dtype is one in which unquantised weights are stored.
func (d DType) Plain() bool {
	return d == "BF16" || d == "F16" || d == "F32" || d == "F64"
}
