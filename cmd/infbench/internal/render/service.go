package render

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"infbench/gates"
	"infbench/record"
)

// service writes what a record came to against the tiers that it was held to: each level's
// verdict with its context beside it, and how many people each tier holds.
func service(w io.Writer, s Style, p record.PerfRecord) error {
	tiers := p.Objectives().Tiers
	if len(tiers) == 0 {
		return nil // of a version that had none
	}
	fmt.Fprintf(w, "  %s  of all requests, failed ones included, 99 of 100 are to be within every limit\n", s.paint(bold, "held to"))
	for _, t := range tiers {
		fmt.Fprintf(w, "    %s\n", t)
	}
	if !p.Objectives().Codes {
		fmt.Fprintln(w, "    answers without their code count: the model does not give codes back alone either")
	}
	var all []record.Service
	for _, t := range tiers {
		all = append(all, p.Against(t))
	}
	if err := attainments(w, p, all); err != nil {
		return err
	}
	reasons(w, p, all)
	for _, of := range all {
		published(w, p, of)
	}
	for _, of := range all {
		for _, c := range of.Capacities {
			fmt.Fprintf(w, "  %s  %s\n", s.paint(bold, of.Tier.Name()), capacity(p, of, c))
		}
	}
	return interactivity(w, p)
}

func attainments(w io.Writer, p record.PerfRecord, all []record.Service) error {
	levels, contexts := p.Levels(), p.Contexts()
	t := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
	fmt.Fprintln(t, "  tier\tarrivals\t@ depth\tfrom cache\twithin/issued\tverdict\tgoodput\tmissed")
	for _, of := range all {
		for i, a := range of.Levels {
			good := "—"
			if n, ok := a.Good.N(); ok {
				good = fmt.Sprint(n)
			}
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s/%d\t%s\t%s\t%s\n", of.Tier.Name(), gates.Printable(levels[i].Arrival.Label(), 60), deep(contexts[i]), cached(contexts[i]),
				good, a.Issued, a.Standing, goodput(a.Goodput), missed(a))
		}
	}
	return t.Flush()
}

func deep(c record.Context) string {
	if n, ok := c.DepthTokens.N(); ok {
		return fmt.Sprint(n)
	}
	return "—"
}

func cached(c record.Context) string {
	if share, ok := c.HitRate(); ok {
		return fmt.Sprintf("%.0f %%", 100*share)
	}
	return "not told"
}

func goodput(g record.Goodput) string {
	if requests, tokens, ok := g.PerSecond(); ok {
		return fmt.Sprintf("%.2f requests/s, %.1f tok/s", requests, tokens)
	}
	return "—"
}

// missed counts what the requests missed; one may miss several things.
func missed(a record.Attainment) string {
	var out []string
	for _, x := range []struct {
		n    int
		what string
	}{{a.Missed.TTFT, "TTFT"}, {a.Missed.TPOT, "TPOT"}, {a.Missed.Gap, "gap"}, {a.Missed.Failed, "failed"}, {a.Missed.Wrong, "wrong"}} {
		if x.n > 0 {
			out = append(out, fmt.Sprintf("%s %d", x.what, x.n))
		}
	}
	_, judged := a.Good.N()
	switch {
	case len(out) > 0:
		return strings.Join(out, ", ")
	case !judged:
		return "—"
	}
	return "nothing"
}

// reasons says once why a level is not judged, where its figures do not say it already.
func reasons(w io.Writer, p record.PerfRecord, all []record.Service) {
	for i, l := range p.Levels() {
		said := map[string]bool{"": true, l.Figures.TTFT.P50().Withheld(): true}
		for _, of := range all {
			if why := of.Levels[i].Why; !said[why] {
				said[why] = true
				fmt.Fprintf(w, "  — %s: %s\n", gates.Printable(l.Arrival.Label(), 60), gates.Printable(why, 200))
			}
		}
	}
}

// published tells the rule that a tier's limits were published with, where that is another
// one than ours.
func published(w io.Writer, p record.PerfRecord, of record.Service) {
	if !of.Tier.Marginal() {
		return
	}
	fmt.Fprintf(w, "  %s by its own rule, p99 of TTFT and p99 of TPOT each within its limit:\n", of.Tier.Name())
	for i, l := range p.Levels() {
		m := of.Levels[i].Published
		fmt.Fprintf(w, "    %s  %s", gates.Printable(l.Arrival.Label(), 60), m.Standing)
		if m.TTFT.Requests > 0 {
			fmt.Fprintf(w, ": %d of %d over in TTFT, %d of %d in TPOT; early stopping needs %d", m.TTFT.Over, m.TTFT.Requests, m.TPOT.Over, m.TPOT.Requests, max(m.TTFT.Needed, m.TPOT.Needed))
		}
		fmt.Fprintln(w)
	}
}

// capacity says in words how much load a tier holds, and where: never without the context.
func capacity(p record.PerfRecord, of record.Service, c record.Capacity) string {
	if c.Withheld != "" {
		return fmt.Sprintf("how much it holds of %s is withheld: %s", gates.Printable(c.Family, 60), gates.Printable(c.Withheld, 200))
	}
	levels := p.Levels()
	label := func(i int) string { return gates.Printable(levels[i].Arrival.Label(), 60) }
	text := "at this context (" + context(p, c) + "): "
	switch {
	case c.Highest < 0 && of.Levels[c.Stopped].Standing == record.Fails:
		text += fmt.Sprintf("not even %s: %s does not hold", amount(levels[c.Levels[0]], c.Users), label(c.Stopped))
	case c.Highest < 0:
		text += fmt.Sprintf("cannot be told: %s: %s", label(c.Stopped), of.Levels[c.Stopped].Standing)
	default:
		text += "up to " + amount(levels[c.Highest], c.Users)
		switch {
		case c.Stopped < 0:
			text += " or more (nothing heavier was tried)"
		case of.Levels[c.Stopped].Standing != record.Fails:
			text += fmt.Sprintf(" or more (%s: %s)", label(c.Stopped), of.Levels[c.Stopped].Standing)
		}
		if tokens, ok := of.Levels[c.Highest].Goodput.TokensPerHour(); ok {
			text += fmt.Sprintf(", %s tokens per hour there", grouped(tokens))
		}
		text += fmt.Sprintf("; %.1f in flight on average", levels[c.Highest].Figures.InFlightMean)
	}
	if len(c.Beyond) > 0 {
		text += "; not monotone: " + label(c.Beyond[0]) + " holds again"
	}
	return text
}

// context says how deep the requests were and how much of them was cached, and how far the
// levels differ in depth where that is more than a tenth.
func context(p record.PerfRecord, c record.Capacity) string {
	text := deep(c.Context) + " tokens deep"
	least, most := 0, 0
	for _, i := range c.Levels {
		if n, ok := p.Contexts()[i].DepthTokens.N(); ok {
			if most == 0 {
				least = n
			}
			least, most = min(least, n), max(most, n)
		}
	}
	if 10*(most-least) > most {
		text += fmt.Sprintf(", the levels %d to %d", least, most)
	}
	if _, ok := c.Context.HitRate(); !ok {
		return text + ", what came from the cache is not told"
	}
	return text + ", " + cached(c.Context) + " from cache"
}

func amount(l record.Measured, users bool) string {
	load, _ := l.Arrival.Load()
	switch {
	case !users:
		return fmt.Sprintf("%g requests/s", load.Amount)
	case load.Amount == 1:
		return "1 concurrent user"
	}
	return fmt.Sprintf("%.0f concurrent users", load.Amount)
}

// grouped writes a whole number with a comma between thousands.
func grouped(v float64) string {
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// interactivity writes the slow end of each level that has one, and the score.
func interactivity(w io.Writer, p record.PerfRecord) error {
	t := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
	fmt.Fprintln(t, "  arrivals\tTTFT p99\tat most (95 %)\tTPOT p99\tat most (95 %)\tinteractivity, 0 to 100")
	rows, unbounded := 0, ""
	for i, x := range p.Interactivity() {
		if _, ok := x.Score.Value(); !ok {
			continue // p99 needs 100 requests
		}
		rows++
		unbounded = cmp.Or(unbounded, x.TTFT.Upper.Withheld(), x.TPOT.Upper.Withheld())
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%s\n", gates.Printable(p.Levels()[i].Arrival.Label(), 60), duration(x.TTFT.P99), duration(x.TTFT.Upper),
			duration(x.TPOT.P99), duration(x.TPOT.Upper), x.Score)
	}
	if rows == 0 {
		return nil
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if unbounded != "" {
		fmt.Fprintf(w, "  — at most: %s\n", gates.Printable(unbounded, 200))
	}
	return nil
}
