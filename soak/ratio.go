package soak

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Ratio is how many times another duration a duration is. No duration and no rate can be
// had from it. The zero Ratio is unknown; it is written as null.
type Ratio struct{ r float64 }

// mostTimes bounds a ratio that is read: more is no slower server but another thing.
const mostTimes = 1e6

// RatioOf returns how many times base d is; unknown where either is.
func RatioOf(d, base time.Duration) Ratio {
	if d <= 0 || base <= 0 {
		return Ratio{}
	}
	return ratio(float64(d) / float64(base))
}

func ratio(r float64) Ratio {
	if !(r > 0) || r > mostTimes {
		return Ratio{}
	}
	return Ratio{math.Round(r*1e4) / 1e4}
}

// Times returns the ratio; ok is false when it is unknown.
func (r Ratio) Times() (times float64, ok bool) { return r.r, r.r > 0 }

// String returns the ratio as a reader sees it, a dash where it is unknown.
func (r Ratio) String() string {
	if r.r <= 0 {
		return "—"
	}
	return fmt.Sprintf("×%.2f", r.r)
}

// MarshalJSON writes a number or null.
func (r Ratio) MarshalJSON() ([]byte, error) {
	if r.r <= 0 {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, r.r, 'f', -1, 64), nil
}

// UnmarshalJSON reads what is written, and nothing beyond what a ratio can be.
func (r *Ratio) UnmarshalJSON(b []byte) error {
	var v *float64
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	if v == nil {
		*r = Ratio{}
		return nil
	}
	out := ratio(*v)
	if out == (Ratio{}) {
		return errors.New("a ratio is above 0, and no more than a million")
	}
	*r = out
	return nil
}
