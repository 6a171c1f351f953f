package gates

import (
	"encoding/json"
	"errors"
)

// Count is a number that may be absent, such as a server's cached tokens: absent
// is unknown, not 0. The zero Count is absent; it is written as null.
type Count struct {
	n     int
	known bool
}

// CountOf returns a known count.
func CountOf(n int) Count { return Count{n, true} }

// N returns the count; ok is false when it is absent.
func (c Count) N() (n int, ok bool) { return c.n, c.known }

// Or returns the count, or n when it is absent.
func (c Count) Or(n int) int {
	if c.known {
		return c.n
	}
	return n
}

// MarshalJSON writes the number or null.
func (c Count) MarshalJSON() ([]byte, error) {
	if !c.known {
		return []byte("null"), nil
	}
	return json.Marshal(c.n)
}

// UnmarshalJSON reads a number of 0 or more, or null.
func (c *Count) UnmarshalJSON(b []byte) error {
	var n *int
	if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	switch {
	case n == nil:
		*c = Count{}
	case *n < 0:
		return errors.New("a count is below 0")
	default:
		*c = CountOf(*n)
	}
	return nil
}
