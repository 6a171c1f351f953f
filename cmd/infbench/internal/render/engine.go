package render

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"infbench/gates"
	"infbench/record"
)

// engineTimers writes what the engine's own counters and timers say of each level, and how
// they agree with what clients saw. Where no engine told anything the reason stands alone.
func engineTimers(w io.Writer, s Style, p record.PerfRecord) error {
	var lines, lost []record.Measured
	for _, l := range p.Levels() {
		switch {
		case l.Engine.Source == "": // a record from before engines were asked
		case l.Engine.Agreement.Lost() != "":
			lost = append(lost, l)
		default:
			lines = append(lines, l)
		}
	}
	for i, l := range lost {
		if why := l.Engine.Agreement.Lost(); i == 0 || why != lost[i-1].Engine.Agreement.Lost() {
			fmt.Fprintf(w, "  engine's own timers: none at %s, %s\n", l.Arrival.Label(), gates.Printable(why, 200))
		}
	}
	if lines == nil {
		return nil
	}
	fmt.Fprintf(w, "  %s  means over requests, warm-up included, source %s\n", s.paint(bold, "engine's own timers"), gates.Printable(lines[0].Engine.Source, 40))
	t := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
	fmt.Fprintln(t, "  arrivals\tqueue\tprefill\tTTFT\tprefill computed\tnominal\tdecode\tcache hits\tpreempted\taccepted\trunning (peak)\twaiting (peak)")
	for _, l := range lines {
		f := l.Engine
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.Arrival.Label(), duration(f.Queue), duration(f.Prefill), duration(f.TTFT),
			rate(f.PrefillComputed), rate(f.PrefillNominal), rate(f.Decode), share(f.CacheHits), tally(f.Preempted), share(f.Acceptance), gauge(f.Running), gauge(f.Waiting))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	said := map[string]bool{}
	note := func(text string) {
		if !said[text] {
			said[text] = true
			fmt.Fprintf(w, "  %s\n", text)
		}
	}
	for _, l := range lines {
		f := l.Engine
		if f.Batched {
			note("prefill times are of batches: its rate is the machine's, not that of a request")
		}
		if f.FirstToo {
			note("decode rates count first tokens too, which prefill makes: the engine does not count requests")
		}
		if text := power(f.Device); text != "" {
			note(l.Arrival.Label() + ": " + text)
		}
	}
	for _, l := range lines {
		fmt.Fprintf(w, "  %s: client and engine %s\n", l.Arrival.Label(), agreement(l.Engine.Agreement))
	}
	return nil
}

// agreement says in words how client and engine stand to each other: what differs first.
func agreement(a record.Agreement) string {
	var parts, agree, open []string
	for _, c := range a {
		switch c.Accord {
		case record.Disagrees:
			parts = append(parts, "disagree about "+c.What+" ("+c.Words+")")
		case record.Apart:
			parts = append(parts, "are apart in "+c.What+" ("+c.Words+")")
		case record.Agrees:
			agree = append(agree, c.What)
		default:
			open = append(open, c.What)
		}
	}
	if agree != nil {
		parts = append(parts, "agree about "+strings.Join(agree, ", "))
	}
	if open != nil {
		parts = append(parts, "were not compared in "+strings.Join(open, ", "))
	}
	return gates.Printable(strings.Join(parts, "; "), 600)
}

func share(s record.Share) string {
	if v, ok := s.Of(); ok {
		return fmt.Sprintf("%.1f %%", 100*v)
	}
	return "—"
}

func tally(t record.Tally) string {
	if n, ok := t.N(); ok {
		return fmt.Sprint(n)
	}
	return "—"
}

func gauge(g record.Gauge) string {
	if mean, ok := g.Mean(); ok {
		return fmt.Sprintf("%.1f (%d)", mean, g.Max)
	}
	return "—"
}

// power says what the accelerators drew, "" where nobody told.
func power(d record.DeviceFigures) string {
	watts, ok := d.Watts.V()
	if !ok {
		return ""
	}
	text := fmt.Sprintf("%.0f W by %s, %s", watts, gates.Printable(d.By, 40), plural(d.Devices, "accelerator"))
	if v, ok := d.JoulesPerToken.V(); ok {
		text += fmt.Sprintf(", %.2f J an output token", v)
	}
	if n, ok := d.MemoryBytes.N(); ok {
		text += fmt.Sprintf(", %.1f GiB in use", float64(n)/(1<<30))
	}
	return text
}
