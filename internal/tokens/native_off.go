//go:build !cgo || !hftokenizers

package tokens

const nativeBuilt = false

func newNative([]byte) (encoder, error) { return nil, ErrUnsupported }
