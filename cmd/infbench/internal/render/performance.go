package render

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"infbench/gates"
	"infbench/record"
)

// Performance writes the numbers of a record with what makes them numbers. It
// refuses an empty record with an [*record.UngatedResultError].
func Performance(w io.Writer, s Style, p record.PerfRecord) error {
	if p.IsZero() {
		return &record.UngatedResultError{Reason: "there is no gated record to report"}
	}
	wl := p.Workload()
	forced := "free"
	if wl.ForcedLength {
		forced = "forced"
	}
	fmt.Fprintf(w, "\n%s  %s\n", s.paint(bold, "measured"), p.Identity().Subject())
	fmt.Fprintf(w, "  prompts %d tokens %s, output %d tokens (%s), tokens counted by %s, at temperature 0\n", wl.PromptTokens, wl.CacheIntent, wl.OutputTokens, forced, wl.TokenSource)
	t := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
	fmt.Fprintln(t, "  arrivals\tin flight\tgood/issued\tTTFT p50\tTTFT p95\tTPOT p50\tE2E p50\tdecode/stream\t@ depth\temitted")
	for _, l := range p.Levels() {
		f := l.Figures
		depth := "—"
		if _, ok := f.Decode.PerSecond(); ok {
			depth = fmt.Sprint(f.Decode.DepthTokens)
		}
		fmt.Fprintf(t, "  %s\t%.1f (peak %d)\t%d/%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.Arrival.Label(), f.InFlightMean, f.InFlightPeak, f.Good, f.Issued-f.Warmup,
			duration(f.TTFT.P50()), duration(f.TTFT.P95()), duration(f.TPOT.P50()), duration(f.E2E.P50()), rate(f.Decode.Rate), depth, rate(f.Emitted))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	prefill(w, p)
	if err := engineTimers(w, s, p); err != nil {
		return err
	}
	withheld(w, p)
	trust(w, p)
	client(w, p)
	if err := ladder(w, p); err != nil {
		return err
	}
	if err := service(w, s, p); err != nil {
		return err
	}
	for i, c := range p.Caveats() {
		if i == 0 {
			fmt.Fprintf(w, "  %s\n", s.paint(bold, "to be read with"))
		}
		fmt.Fprintf(w, "    · %s\n", gates.Printable(c, 400))
	}
	return nil
}

// duration shows an estimate; a dash where it is withheld, with the reason below.
func duration(e record.Estimate) string {
	v, ok := e.Value()
	if !ok {
		return "—"
	}
	if v >= time.Second {
		return v.Round(10 * time.Millisecond).String()
	}
	return fmt.Sprintf("%.1fms", float64(v)/float64(time.Millisecond))
}

func rate(r record.Rate) string {
	if v, ok := r.PerSecond(); ok {
		return fmt.Sprintf("%.1f tok/s", v)
	}
	return "—"
}

func prefill(w io.Writer, p record.PerfRecord) {
	for _, l := range p.Levels() {
		_, nominal := l.Figures.PrefillNominal.PerSecond()
		if !nominal {
			continue
		}
		fmt.Fprintf(w, "  prefill, serial (queue inside, if any): nominal %s, computed %s\n", l.Figures.PrefillNominal, l.Figures.PrefillComputed)
		return
	}
}

// withheld says once why a column holds dashes.
func withheld(w io.Writer, p record.PerfRecord) {
	said := map[string]bool{}
	say := func(level, what, why string) {
		if why != "" && !said[level+why] {
			said[level+why] = true
			fmt.Fprintf(w, "  — %s, %s: %s\n", level, what, gates.Printable(why, 200))
		}
	}
	for _, l := range p.Levels() {
		f, level := l.Figures, l.Arrival.Label()
		say(level, "TTFT p95", f.TTFT.P95().Withheld())
		say(level, "TPOT", f.TPOT.P50().Withheld())
		say(level, "decode", f.Decode.Withheld())
		say(level, "emitted", f.Emitted.Withheld())
	}
}

// trust says where the blocks of a level do not agree with each other.
func trust(w io.Writer, p record.PerfRecord) {
	for _, l := range p.Levels() {
		for _, t := range []record.Trust{l.Figures.TTFTTrust, l.Figures.TPOTTrust} {
			if t.Verdict == record.Untrusted || t.Verdict == record.Drifting {
				fmt.Fprintf(w, "  ! %s, %s: %s\n", l.Arrival.Label(), t.Verdict, gates.Printable(t.Why, 200))
			}
		}
	}
}

// client says what the client's own error was, at the level where it was largest.
func client(w io.Writer, p record.PerfRecord) {
	var worst record.Calibration
	at, lag := "", time.Duration(-1)
	for _, l := range p.Levels() {
		for _, c := range l.Calibrations {
			if v, ok := c.Lag().P99().Value(); ok && v > lag {
				worst, at, lag = c, l.Arrival.Label(), v
			}
		}
	}
	if at != "" {
		fmt.Fprintf(w, "  the client's own error, largest at %s: %s\n", at, worst)
	}
}
