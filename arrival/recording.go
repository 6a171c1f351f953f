package arrival

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"time"
)

// maxReplay bounds the requests of a replay. They are part of the model, so that a record
// can be read, compared and driven again where the file is not.
const maxReplay = 100_000

// recording is what both kinds of replay have in common: recorded times in whole
// microseconds, and the factor by which they are stretched.
type recording struct {
	times [][]int64
	scale float64
}

func micros(d time.Duration) int64 { return int64(d.Round(time.Microsecond) / time.Microsecond) }

// newRecording checks what a file or a record says.
func newRecording(times [][]int64, scale float64) (recording, error) {
	if !(scale >= 1e-3 && scale <= 1e3) { // also refuses NaN
		return recording{}, fmt.Errorf("a scale of %v: want 0.001 to 1000", scale)
	}
	n := 0
	for _, row := range times {
		if n += len(row); len(row) == 0 || n > maxReplay {
			return recording{}, fmt.Errorf("a replay of %d requests, with %d in one session: want 1 to %d", n, len(row), maxReplay)
		}
		left := int64(float64(longest/time.Microsecond) / max(1, scale))
		for _, us := range row {
			if us < 0 || us > left {
				return recording{}, fmt.Errorf("recorded times of less than 0, or of more than %v in all", longest)
			}
			left -= us
		}
	}
	if n == 0 {
		return recording{}, errors.New("a replay of 0 requests")
	}
	return recording{times, scale}, nil
}

func (recording) kind() string { return "replay" }

// ends says that the recording is not begun again.
func (recording) ends() {}

// count returns the number of recorded requests.
func (r recording) count() (n int) {
	for _, row := range r.times {
		n += len(row)
	}
	return n
}

// takes returns how long the longest session takes without its answers.
func (r recording) takes() (most time.Duration) {
	for _, row := range r.times {
		all := int64(0)
		for _, us := range row {
			all += us
		}
		most = max(most, r.stretch(all))
	}
	return most
}

// hash names the recording, whatever file it came from.
func (r recording) hash() string {
	h := sha256.New()
	var b [8]byte
	put := func(n int64) {
		binary.BigEndian.PutUint64(b[:], uint64(n))
		h.Write(b[:]) // a hash takes everything
	}
	for _, row := range r.times {
		put(int64(len(row)))
		for _, us := range row {
			put(us)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:8]
}

func (r recording) stretch(us int64) time.Duration {
	return time.Duration(math.Round(float64(us) * r.scale * float64(time.Microsecond)))
}

// of says the recording's hash and scale.
func (r recording) of() string {
	if r.scale == 1 {
		return "recording " + r.hash()
	}
	return fmt.Sprintf("recording %s, times × %g", r.hash(), r.scale)
}
