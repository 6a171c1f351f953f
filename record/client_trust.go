package record

import (
	"fmt"
	"time"
)

// The budgets of the client's own error. See [Calibration.Judge].
const (
	// A gap between tokens is believed when the 99th percentile of the read lag is within
	// the larger of these.
	lagBudget      = time.Millisecond
	lagBudgetShare = 20 // of the TPOT: 5 %
	// A client that reads each tenth token half a gap late does not keep up, nor does one whose
	// hundredth token is later than the larger of these: medians move with it.
	lagWorst     = 20 * time.Millisecond
	lagWorstGaps = 5
	// A start is on time within the larger of these.
	dispatchBudget      = 5 * time.Millisecond
	dispatchBudgetShare = 100 // of the TTFT: 1 %
	// No single start may be later.
	dispatchMost = 50 * time.Millisecond
	// One that is so wrong about the first token does not either: its medians are its own.
	ttftBudget      = time.Millisecond
	ttftBudgetShare = 50 // of the TTFT: 2 %, for the median of the error
	ttftWorstShare  = 10 // of the TTFT: 10 %, for its 99th percentile
	ttftWorstBudget = 10 * time.Millisecond
	// More chunks than this share of them in a read with others, and gaps are made up.
	coalescedPercent = 10
)

// ClientTrust is what the client's own error leaves of a level's figures. The zero ClientTrust takes
// nothing away. Each field says why, in words for the level, or is "".
type ClientTrust struct {
	// ITLUntrusted: the times between tokens and between chunks are not to be believed;
	// TTFT, TPOT and end-to-end times are.
	ITLUntrusted string
	// LateDispatch: the requests did not start when they should have. The level is void.
	LateDispatch string
	// ClientLimited: the client did not keep up. All figures of the level are withheld.
	ClientLimited string
}

// And returns what both leave.
func (t ClientTrust) And(o ClientTrust) ClientTrust {
	first := func(a, b string) string {
		if a != "" {
			return a
		}
		return b
	}
	return ClientTrust{first(t.ITLUntrusted, o.ITLUntrusted), first(t.LateDispatch, o.LateDispatch), first(t.ClientLimited, o.ClientLimited)}
}

// Void returns why all figures must be withheld, nil when some may stand.
func (t ClientTrust) Void() []string {
	var out []string
	for _, why := range []string{t.ClientLimited, t.LateDispatch} {
		if why != "" {
			out = append(out, why)
		}
	}
	return out
}

// Judge says what the calibration leaves of a level with these medians; 0 where there is
// none. A level that was not calibrated is not trusted with the times between tokens. A
// percentile that the sample cannot carry accuses nobody.
func (c Calibration) Judge(ttft, tpot time.Duration) ClientTrust {
	if c.IsZero() {
		return ClientTrust{ITLUntrusted: "itl_untrusted: the client was not calibrated"}
	}
	var t ClientTrust
	under := "with " + streams(c.streams)
	limit, worst, budget := max(lagBudget, tpot/2), max(lagWorst, lagWorstGaps*tpot), max(lagBudget, tpot/lagBudgetShare)
	often, _ := c.lag.p90.Value()
	switch lag, _ := c.lag.p99.Value(); {
	case often > limit:
		t.ClientLimited = fmt.Sprintf("client-limited: %s the client read tokens %v after they were sent (p90, it keeps up below %v)", under, brief(often), brief(limit))
	case lag > worst:
		t.ClientLimited = fmt.Sprintf("client-limited: %s the client read tokens %v after they were sent (p99, it keeps up below %v)", under, brief(lag), brief(worst))
	case lag > budget:
		t.ITLUntrusted = fmt.Sprintf("itl_untrusted: %s the client read tokens %v after they were sent (p99, budget %v)", under, brief(lag), brief(budget))
	}
	for _, e := range []struct {
		name   string
		of     Estimate
		budget time.Duration
	}{{"p50", c.ttftError.p50, max(ttftBudget, ttft/ttftBudgetShare)}, {"p99", c.ttftError.p99, max(ttftWorstBudget, ttft/ttftWorstShare)}} {
		if v, _ := e.of.Value(); v > e.budget {
			t = t.And(ClientTrust{ClientLimited: fmt.Sprintf("client-limited: %s the client's TTFT is %v too long (%s, budget %v)", under, brief(v), e.name, brief(e.budget))})
		}
	}
	if p99, _ := c.dispatch.p99.Value(); p99 > startBudget(ttft) {
		t.LateDispatch = fmt.Sprintf("late_dispatch: %s the client started requests %v late (p99, budget %v)", under, brief(p99), brief(startBudget(ttft)))
	}
	t = t.And(ClientTrust{ITLUntrusted: JudgeCoalesced(c.coalesced, c.lag.n)})
	if late, _ := c.late.p99.Value(); late > max(lateBudget, c.tpot) {
		t = t.And(ClientTrust{ITLUntrusted: fmt.Sprintf("itl_untrusted: here %s of a token each %v are sent %v late (p99), so what the client adds to them is not known", streams(c.streams), c.tpot, brief(late))})
	}
	return t
}

// JudgeBoth judges by what was seen beside the level where that is enough to have a 99th
// percentile, since it was seen under the very load; by the calibration before it otherwise. The
// starts are those of the calibration in any case. Either may be absent.
func JudgeBoth(before, beside Calibration, ttft, tpot time.Duration) ClientTrust {
	if _, enough := beside.lag.p99.Value(); beside.IsZero() || !enough {
		return before.Judge(ttft, tpot)
	}
	t := beside.Judge(ttft, tpot)
	if !before.IsZero() {
		t = t.And(ClientTrust{LateDispatch: before.Judge(ttft, tpot).LateDispatch})
	}
	return t
}

// lateBudget is what the truth server may be late by, or a whole gap.
const lateBudget = 5 * time.Millisecond

func startBudget(ttft time.Duration) time.Duration {
	return max(dispatchBudget, ttft/dispatchBudgetShare)
}

// JudgeDispatch says why the requests of a level with this median TTFT were not started on
// time, "" when they were. It is for models by which a clock starts the requests.
func JudgeDispatch(lag Distribution, ttft time.Duration) string {
	budget := startBudget(ttft)
	p99, carried := lag.p99.Value()
	worst, _ := lag.max.Value()
	if !(carried && p99 > budget) && worst <= max(dispatchMost, budget) {
		return ""
	}
	return fmt.Sprintf("late_dispatch: requests were started up to %v late (p99 %s, budget %v)", brief(worst), lag.p99, brief(budget))
}

// JudgeCoalesced says why gaps between chunks are not believed when so many of them shared
// a read with an earlier one, "" when they are.
func JudgeCoalesced(coalesced, chunks int) string {
	if chunks <= 0 || coalesced*100 <= coalescedPercent*chunks {
		return ""
	}
	return fmt.Sprintf("itl_untrusted: %.0f %% of the chunks shared a read with an earlier one (at most %d %%)", 100*float64(coalesced)/float64(chunks), coalescedPercent)
}

func brief(d time.Duration) time.Duration {
	if d >= 10*time.Millisecond {
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(time.Microsecond)
}
