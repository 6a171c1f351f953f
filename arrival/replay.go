package arrival

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

var _ = register(kind{
	name:   "replay",
	usage:  "replay:mode=open,file=PATH,scale=1",
	decode: decodeReplay,
	parse:  parseReplay,
})

// openReplay holds one row of gaps, closedReplay one row of think times a session.
type (
	openReplay   struct{ recording }
	closedReplay struct{ recording }
)

// Replay is an open loop that starts requests at recorded times, whatever the answers
// take. The times are in order and count from the first, which is due at once; they are
// kept in whole microseconds. A scale of 0.5 halves every gap and doubles the rate.
func Replay(starts []time.Duration, scale float64) (ArrivalModel, error) {
	if len(starts) == 0 {
		return ArrivalModel{}, errors.New("a replay of 0 requests")
	}
	if !slices.IsSorted(starts) {
		return ArrivalModel{}, errors.New("the times of a replay are not in order")
	}
	gaps := make([]int64, len(starts))
	last := int64(0)
	for i, at := range starts {
		us := micros(at - starts[0])
		gaps[i], last = us-last, us
	}
	r, err := newRecording([][]int64{gaps}, scale)
	if err != nil {
		return ArrivalModel{}, err
	}
	return ArrivalModel{openReplay{r}}, nil
}

// ReplaySessions is a closed loop that replays recorded sessions: each waits for its own
// answer, then for its next recorded think time, and ends after its last. The first think
// time of a session is waited for before its first request: so the recording says how the
// sessions start. They are kept in whole microseconds, and stretched by scale.
func ReplaySessions(thinks [][]time.Duration, scale float64) (ArrivalModel, error) {
	times := make([][]int64, len(thinks))
	for i, session := range thinks {
		for _, d := range session {
			times[i] = append(times[i], micros(d))
		}
	}
	r, err := newRecording(times, scale)
	if err != nil {
		return ArrivalModel{}, err
	}
	return ArrivalModel{closedReplay{r}}, nil
}

func (r openReplay) String() string {
	return fmt.Sprintf("open loop, replay of %s over %v, %s", counted(r.count(), "request"), r.takes().Round(time.Millisecond), r.of())
}

func (r closedReplay) String() string {
	return fmt.Sprintf("closed loop, replay of %s with %s and their think times, %s", counted(len(r.times), "session"), counted(r.count(), "request"), r.of())
}

func (r openReplay) label() string   { return r.brief("open") }
func (r closedReplay) label() string { return r.brief("closed") }

func (r recording) brief(mode string) string {
	text := fmt.Sprintf("replay:mode=%s,n=%d,%s", mode, r.count(), r.hash())
	if r.scale != 1 {
		text += fmt.Sprintf(",scale=%g", r.scale)
	}
	return text
}

// replayWire is the JSON: the recorded times, without the name of their file.
type replayWire struct {
	Kind     string    `json:"kind,omitempty"`
	Mode     string    `json:"mode"`
	Scale    float64   `json:"scale"`
	GapsUS   []int64   `json:"gaps_us,omitempty"`
	ThinksUS [][]int64 `json:"thinks_us,omitempty"`
}

func (r openReplay) spec() any {
	return replayWire{Mode: "open", Scale: r.scale, GapsUS: r.times[0]}
}

func (r closedReplay) spec() any {
	return replayWire{Mode: "closed", Scale: r.scale, ThinksUS: r.times}
}

func decodeReplay(raw json.RawMessage) (ArrivalModel, error) {
	var w replayWire
	if err := strict(raw, &w); err != nil {
		return ArrivalModel{}, err
	}
	switch {
	case w.Mode == "open" && w.ThinksUS == nil:
		r, err := newRecording([][]int64{w.GapsUS}, w.Scale)
		if err != nil {
			return ArrivalModel{}, err
		}
		if w.GapsUS[0] != 0 {
			return ArrivalModel{}, errors.New("the first request of an open replay is due at once")
		}
		return ArrivalModel{openReplay{r}}, nil
	case w.Mode == "closed" && w.GapsUS == nil:
		r, err := newRecording(w.ThinksUS, w.Scale)
		if err != nil {
			return ArrivalModel{}, err
		}
		return ArrivalModel{closedReplay{r}}, nil
	}
	return ArrivalModel{}, fmt.Errorf("mode %.20q: want open with gaps_us, or closed with thinks_us", w.Mode)
}

func parseReplay(a arguments) (ArrivalModel, error) {
	mode := a.text("mode", "")
	if mode != "open" && mode != "closed" {
		return ArrivalModel{}, fmt.Errorf("mode=%.20q: want mode=open (recorded times) or mode=closed (recorded think times after each answer)", mode)
	}
	scale, most := 1.0, 0
	if _, ok := a["scale"]; ok {
		s, err := a.number("scale")
		if err != nil {
			return ArrivalModel{}, err
		}
		scale = s
	}
	if _, ok := a["first"]; ok {
		n, err := a.count("first")
		if err != nil {
			return ArrivalModel{}, err
		}
		if n < 1 || n > maxReplay {
			return ArrivalModel{}, fmt.Errorf("first=%d: want 1 to %d", n, maxReplay)
		}
		most = n
	}
	path := a.text("file", "")
	if path == "" {
		return ArrivalModel{}, errors.New("file is missing")
	}
	return readReplay(path, mode, most, scale)
}

// gaps derives each due time from the recorded one, so that rounding does not add up.
func (r openReplay) gaps() func() (time.Duration, bool) {
	left := r.times[0]
	var at int64
	var last time.Duration
	return func() (time.Duration, bool) {
		if len(left) == 0 {
			return 0, false
		}
		at += left[0]
		left = left[1:]
		due := r.stretch(at)
		gap := due - last
		last = due
		return gap, true
	}
}

func (r closedReplay) sessions() int { return len(r.times) }

func (r closedReplay) think(session int) func() (time.Duration, bool) {
	left := r.times[session]
	return func() (time.Duration, bool) {
		if len(left) == 0 {
			return 0, false
		}
		wait := r.stretch(left[0])
		left = left[1:]
		return wait, true
	}
}
