package render

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"infbench/record"
)

// SideBySide writes the figures of several gated records beside each other, a column each,
// and says what that is not.
func SideBySide(w io.Writer, s Style, perfs []record.PerfRecord) error {
	for _, p := range perfs {
		if p.IsZero() {
			return &record.UngatedResultError{Reason: "there is no gated record to report"}
		}
	}
	fmt.Fprintf(w, "%s\n", s.paint(bold, "side by side"))
	t := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
	fmt.Fprint(t, "  arrivals\tfigure")
	for i := range perfs {
		fmt.Fprintf(t, "\ttarget %d", i+1)
	}
	fmt.Fprintln(t)
	for _, level := range perfs[0].Levels() {
		for i, f := range sideFigures {
			label := level.Arrival.Label()
			if i > 0 {
				label = ""
			}
			fmt.Fprintf(t, "  %s\t%s", label, f.name)
			for _, p := range perfs {
				fmt.Fprintf(t, "\t%s", figureAt(p, level, f.of))
			}
			fmt.Fprintln(t)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "  no verdict of a change (that is compare): figures of single runs differ by chance, and more than chance shows only in repeated runs")
	return nil
}

var sideFigures = []struct {
	name string
	of   func(record.Figures) string
}{
	{"good/issued", func(f record.Figures) string { return fmt.Sprintf("%d/%d", f.Good, f.Issued-f.Warmup) }},
	{"in flight", func(f record.Figures) string { return fmt.Sprintf("%.1f", f.InFlightMean) }},
	{"TTFT p50", func(f record.Figures) string { return duration(f.TTFT.P50()) }},
	{"TPOT p50", func(f record.Figures) string { return duration(f.TPOT.P50()) }},
	{"E2E p50", func(f record.Figures) string { return duration(f.E2E.P50()) }},
	{"decode/stream", func(f record.Figures) string {
		if _, ok := f.Decode.PerSecond(); ok {
			return fmt.Sprintf("%s @ depth %d", rate(f.Decode.Rate), f.Decode.DepthTokens)
		}
		return rate(f.Decode.Rate)
	}},
	{"emitted", func(f record.Figures) string { return rate(f.Emitted) }},
}

// figureAt is the figure of the level that was driven by the same arrivals; a sweep may have
// ended before it.
func figureAt(p record.PerfRecord, level record.Measured, of func(record.Figures) string) string {
	for _, l := range p.Levels() {
		if l.Arrival.Equal(level.Arrival) {
			return of(l.Figures)
		}
	}
	return "not measured"
}

// Raw is a JSON document that was written already.
type Raw = json.RawMessage

// JSONTogether writes the reports of several targets as one document.
func JSONTogether(w io.Writer, command string, exit int, reports []Raw) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(struct {
		Schema  string `json:"schema"`
		Command string `json:"command"`
		Exit    int    `json:"exit"`
		Reports []Raw  `json:"reports"`
	}{"infbench.reports/v1", command, exit, reports})
}
