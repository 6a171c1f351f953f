package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// CalibrationParts is what a [Calibration] is made of. Durations are the client's own error
// against a server in the same process, on one clock.
type CalibrationParts struct {
	// During says that the load was a small one beside a level, not the level's own before it.
	During bool
	// Streams at once, TTFT, TPOT and OutputTokens are what the truth server was set to.
	Streams      int
	TTFT, TPOT   time.Duration
	OutputTokens int
	// Lags are the times from just before a token's write to the read that brought it.
	Lags []time.Duration
	// TTFTErrors are the client's TTFT less the server's own.
	TTFTErrors []time.Duration
	// DispatchLags are the times from due to sent.
	DispatchLags []time.Duration
	// Coalesced is the number of tokens that shared a read with an earlier one.
	Coalesced int
	// Late are the times by which the truth server itself was behind its schedule.
	Late []time.Duration
	// WorstPause is the longest stop for a garbage collection, SchedulingP99 the 99th
	// percentile of what a goroutine that could run waited.
	WorstPause, SchedulingP99 time.Duration
}

// Calibration is what the measuring client's own error was, under a load of known timing. It
// is about this program on this machine and about no server, so it may stand on its own. The
// zero Calibration is none and does not marshal.
type Calibration struct {
	during        bool
	streams       int
	ttft, tpot    time.Duration
	outputTokens  int
	lag           Distribution
	ttftError     Distribution
	dispatch      Distribution
	late          Distribution
	coalesced     int
	worstPause    time.Duration
	schedulingP99 time.Duration
}

// NewCalibration checks the parts and returns the calibration; without a single token there
// is none.
func NewCalibration(p CalibrationParts) (Calibration, error) {
	c := Calibration{
		during: p.During, streams: p.Streams, ttft: p.TTFT, tpot: p.TPOT, outputTokens: p.OutputTokens, coalesced: p.Coalesced,
		lag: newDistribution(p.Lags, ""), ttftError: newDistribution(p.TTFTErrors, ""), dispatch: newDistribution(p.DispatchLags, ""), late: newDistribution(p.Late, ""),
		worstPause: p.WorstPause, schedulingP99: p.SchedulingP99,
	}
	for _, d := range slices.Concat(p.Lags, p.TTFTErrors, p.DispatchLags, p.Late) {
		if d < 0 {
			return Calibration{}, fmt.Errorf("an error of %v: what was sent and what was read are not on one clock, or not one thing", d)
		}
	}
	if err := c.check(); err != nil {
		return Calibration{}, err
	}
	return c, nil
}

func (c Calibration) check() error {
	switch {
	case c.streams < 1 || c.outputTokens < 1 || c.ttft < 0 || c.tpot < 0:
		return fmt.Errorf("a calibration with %d streams of %d tokens, TTFT %v and TPOT %v", c.streams, c.outputTokens, c.ttft, c.tpot)
	case c.lag.n < 1 || c.ttftError.n < 1 || c.late.n < 1:
		return errors.New("a calibration without a token that was sent and read")
	case c.coalesced < 0 || c.coalesced > c.lag.n:
		return fmt.Errorf("%d of %d tokens shared a read", c.coalesced, c.lag.n)
	case c.worstPause < 0 || c.schedulingP99 < 0:
		return errors.New("a pause of less than nothing")
	}
	for _, d := range []Distribution{c.lag, c.ttftError, c.dispatch, c.late} {
		if _, ok := d.max.Value(); ok != (d.n > 0) {
			return errors.New("a calibration has a worst error where it has any")
		}
	}
	return nil
}

// IsZero reports whether there is no calibration.
func (c Calibration) IsZero() bool { return c.lag.n == 0 }

// During reports whether it was taken beside a level, with a small load of its own.
func (c Calibration) During() bool { return c.during }

// Streams returns how many streams the truth server sent at once.
func (c Calibration) Streams() int { return c.streams }

// Lag returns the times from a token's write to the read that brought it.
func (c Calibration) Lag() Distribution { return c.lag }

// TTFTError returns the client's TTFT less the server's own.
func (c Calibration) TTFTError() Distribution { return c.ttftError }

// Dispatch returns the times from due to sent.
func (c Calibration) Dispatch() Distribution { return c.dispatch }

// CoalescedShare returns the share of tokens that shared a read with an earlier one.
func (c Calibration) CoalescedShare() float64 {
	if c.lag.n == 0 {
		return 0
	}
	return float64(c.coalesced) / float64(c.lag.n)
}

// WorstPause returns the longest stop for a garbage collection.
func (c Calibration) WorstPause() time.Duration { return c.worstPause }

// SchedulingP99 returns the 99th percentile of what a goroutine that could run waited.
func (c Calibration) SchedulingP99() time.Duration { return c.schedulingP99 }

// String says the calibration in one line.
func (c Calibration) String() string {
	if c.IsZero() {
		return "not calibrated"
	}
	when := "before the level"
	if c.during {
		when = "beside the level"
	}
	short := func(e Estimate) string {
		if v, ok := e.Value(); ok {
			return v.Round(time.Microsecond).String()
		}
		return "—"
	}
	return fmt.Sprintf("the client, %s, %s of a token each %v: reads %s after the write (p99 %s, worst %s), TTFT error %s (p99 %s), dispatch p99 %s, %.1f %% of reads shared, worst GC pause %v",
		when, streams(c.streams), c.tpot, short(c.lag.p50), short(c.lag.p99), short(c.lag.max), short(c.ttftError.p50), short(c.ttftError.p99), short(c.dispatch.p99),
		100*c.CoalescedShare(), c.worstPause.Round(time.Microsecond))
}

func streams(n int) string {
	if n == 1 {
		return "1 stream"
	}
	return fmt.Sprintf("%d streams", n)
}

const calibrationSchema = "infbench.calibration/v1"

const before, during = "before the level", "during the level"

type calibrationWire struct {
	Schema          string           `json:"schema"`
	Taken           string           `json:"taken"`
	Streams         int              `json:"streams"`
	TTFTNS          int64            `json:"paced_ttft_ns"`
	TPOTNS          int64            `json:"paced_tpot_ns"`
	OutputTokens    int              `json:"output_tokens"`
	Lag             distributionWire `json:"emit_to_read"`
	TTFTError       distributionWire `json:"ttft_error"`
	Dispatch        distributionWire `json:"dispatch_lag"`
	Late            distributionWire `json:"server_late"`
	Coalesced       int              `json:"coalesced_tokens"`
	WorstPauseNS    int64            `json:"gc_pause_max_ns"`
	SchedulingP99NS int64            `json:"scheduling_p99_ns"`
}

// MarshalJSON refuses the zero Calibration.
func (c Calibration) MarshalJSON() ([]byte, error) {
	if c.IsZero() {
		return nil, errors.New("no calibration: it does not marshal")
	}
	w := calibrationWire{
		calibrationSchema, before, c.streams, int64(c.ttft), int64(c.tpot), c.outputTokens, c.lag.wire(), c.ttftError.wire(), c.dispatch.wire(), c.late.wire(),
		c.coalesced, int64(c.worstPause), int64(c.schedulingP99),
	}
	if c.during {
		w.Taken = during
	}
	return json.Marshal(w)
}

// UnmarshalJSON refuses unknown fields and what no calibration can have been; on error the
// calibration is left as it was.
func (c *Calibration) UnmarshalJSON(b []byte) error {
	var w calibrationWire
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&w); err != nil {
		return fmt.Errorf("calibration: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("calibration: something stands behind it")
	}
	if w.Schema != calibrationSchema || w.Taken != before && w.Taken != during {
		return fmt.Errorf("calibration: schema %.40q, taken %.40q", w.Schema, w.Taken)
	}
	out := Calibration{
		during: w.Taken == during, streams: w.Streams, ttft: time.Duration(w.TTFTNS), tpot: time.Duration(w.TPOTNS), outputTokens: w.OutputTokens,
		coalesced: w.Coalesced, worstPause: time.Duration(w.WorstPauseNS), schedulingP99: time.Duration(w.SchedulingP99NS),
	}
	for _, p := range []struct {
		from distributionWire
		to   *Distribution
	}{{w.Lag, &out.lag}, {w.TTFTError, &out.ttftError}, {w.Dispatch, &out.dispatch}, {w.Late, &out.late}} {
		var err error
		if *p.to, err = p.from.distribution(); err != nil {
			return fmt.Errorf("calibration: %w", err)
		}
	}
	if err := out.check(); err != nil {
		return err
	}
	*c = out
	return nil
}
