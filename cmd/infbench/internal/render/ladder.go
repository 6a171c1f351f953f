package render

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"infbench/gates"
	"infbench/record"
)

// ladder writes how one stream's decoding slows down with the KV depth.
func ladder(w io.Writer, p record.PerfRecord) error {
	l := p.Ladder()
	if len(l.Rungs) > 0 {
		fmt.Fprintln(w, "  one stream by depth (the first prompt of each depth is computed and not counted)")
		t := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
		fmt.Fprintln(t, "    @ depth\tdecode/stream\tTPOT p50\tanswers\t")
		for _, r := range l.Rungs {
			f := r.Figures
			depth := fmt.Sprint(f.Decode.DepthTokens)
			if f.Decode.DepthTokens == 0 {
				depth = fmt.Sprintf("about %d", r.AimTokens)
			}
			fmt.Fprintf(t, "    %s\t%s\t%s\t%d\t%s\n", depth, rate(f.Decode.Rate), duration(f.TPOT.P50()), f.Good, bar(f.Decode.Rate, l.Rungs))
		}
		if err := t.Flush(); err != nil {
			return err
		}
		if why := l.Fit.Withheld(); why != "" {
			fmt.Fprintf(w, "    no line through them: %s\n", gates.Printable(why, 200))
		} else {
			f := l.Fit
			fmt.Fprintf(w, "    TPOT = %s + %s per 1,000 tokens of depth (95 %%: %s to %s), least squares over %d answers; Theil–Sen %s\n",
				micro(f.Base.Value), micro(f.PerThousand.Value), micro(f.PerThousand.Low), micro(f.PerThousand.High), f.Answers, micro(f.Robust))
		}
	}
	for _, why := range l.Left {
		fmt.Fprintf(w, "    — %s\n", gates.Printable(why, 200))
	}
	return nil
}

func micro(d time.Duration) string {
	return fmt.Sprintf("%.3gms", float64(d)/float64(time.Millisecond))
}

// bar draws a rate beside the best of a ladder.
func bar(r record.Rate, rungs []record.MeasuredRung) string {
	best := 0.0
	for _, o := range rungs {
		if v, ok := o.Figures.Decode.PerSecond(); ok {
			best = max(best, v)
		}
	}
	v, ok := r.PerSecond()
	if !ok || best <= 0 {
		return ""
	}
	const width = 24
	out := ""
	for range int(v/best*width + 0.5) {
		out += "█"
	}
	return out
}
