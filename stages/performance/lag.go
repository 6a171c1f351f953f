package performance

import (
	"fmt"
	"slices"
	"time"

	"infbench/record"
)

// The budgets of the harness's own lag: over them the figures are void.
const (
	lagBudget = 5 * time.Millisecond // or 1 % of the TTFT
	lagMost   = 50 * time.Millisecond
	// closedShare is the share of a closed loop's time that may be lost to lag.
	closedShare = 0.01
)

// judgeLevel returns why the level's figures must not be used.
func (r *levelResult) judgeLevel(p record.LevelParts, able bool) []string {
	var void []string
	samples := p.Samples
	for _, o := range []record.Outcome{record.Wrong, record.Degenerate, record.Empty, record.Cut, record.ServerSaid, record.HTTPError, record.Unreached, record.TimedOut} {
		if n := r.failed[o]; n > 0 {
			void = append(void, fmt.Sprintf("%d of %d answers were %s", n, len(samples), o))
		}
	}
	if r.good > 0 && r.buffered*2 > r.good {
		void = append(void, fmt.Sprintf("%d of %d answers came in one piece: something buffers the stream", r.buffered, r.good))
	}
	if r.lostCodes(able) {
		void = append(void, fmt.Sprintf("only %d of %d answers hold the code that was asked for; alone, every one did", r.held, r.good))
	}
	if late := lateDispatch(p); late != "" {
		void = append(void, late)
	}
	return void
}

// lateDispatch says how the harness's own lag spoils a level, "" when it does not. In an
// open loop a late start hides the queue that it should have met, so single lags count.
// In a closed loop it only thins the load a little: there the share of time counts. A
// burst starts its requests one after another as fast as it can; its lag is what it is.
func lateDispatch(p record.LevelParts) string {
	var lags, ttfts []time.Duration
	var sum time.Duration
	for _, s := range p.Samples {
		lags = append(lags, s.Sent-s.Due)
		sum += s.Sent - s.Due
		if s.Outcome == record.OK {
			ttfts = append(ttfts, s.First-s.Sent)
		}
	}
	slices.Sort(lags)
	slices.Sort(ttfts)
	worst := lags[len(lags)-1]
	if n := p.Arrival.Sessions(); n > 0 {
		if share := float64(sum) / float64(p.Window) / float64(n); share > closedShare {
			return fmt.Sprintf("late_dispatch: the harness was late for %.1f %% of the sessions' time (at most %v at once)", 100*share, worst.Round(time.Millisecond))
		}
		return ""
	}
	if p.Arrival.Requests() > 0 {
		return ""
	}
	budget := lagBudget
	if n := len(ttfts); n > 0 {
		budget = max(budget, ttfts[n/2]/100)
	}
	if p99 := lags[(len(lags)*99+99)/100-1]; p99 > budget || worst > max(lagMost, budget) {
		return fmt.Sprintf("late_dispatch: the harness started requests up to %v late (p99 %v, budget %v)", worst.Round(time.Microsecond), p99.Round(time.Microsecond), budget)
	}
	return ""
}
