package record

// The window's own form, for its fuzz test.
var (
	DecodeEngine = func(b []byte) (EngineWindow, error) { return decodeEngine(b) }
	EncodeEngine = func(e EngineWindow) ([]byte, error) { return e.encode() }
)
