package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"infbench/gates"
	"infbench/record"
	"infbench/stages"
)

// panelRows is the number of lines of a panel.
const panelRows = 5

// panel shows a level that is being measured, in lines of less than width columns. Without
// a look at it yet, which needs its first half second, it says which level it is.
func panel(s Style, label string, p stages.LevelProgress, width int) []string {
	left := ""
	if p.Left > 0 {
		left = fmt.Sprintf(", all in about %v", seconds(p.Left))
	}
	running := p.Live.Running()
	over := ""
	if p.Expected > 0 && running > p.Expected {
		over = ", not over yet"
	}
	lines := []string{
		fmt.Sprintf("stage 4 performance  %d of %d %ss done%s", p.Index, p.Of, step(p.Depth), left),
		"  " + label,
		fmt.Sprintf("  %s%s%s", track(running, p.Expected, width/3), spent(running, p.Expected), over),
	}
	if !p.Live.IsZero() {
		lines = append(lines, "  "+liveCounts(p.Live), "  "+liveFigures(p.Live))
	}
	for i, line := range lines {
		lines[i] = ""
		if width > 1 {
			lines[i] = runewidth.Truncate(gates.Printable(line, 0), width-1, "…")
		}
	}
	lines[0] = s.paint(bold, lines[0])
	if p.Live.Failed() > 0 {
		lines[3] = s.paint(yellow, lines[3])
	}
	return lines
}

// step is what a load point is called.
func step(depth int) string {
	if depth > 0 {
		return "depth"
	}
	return "level"
}

func restoredLine(e stages.LevelStarted) string {
	return fmt.Sprintf("%s %d of %d: %s, measured before the pause", step(e.Depth), e.Index+1, e.Of, e.Arrival)
}

func liveCounts(l record.Live) string {
	return fmt.Sprintf("in flight %d · issued %d · good %d · failed %d", l.InFlight(), l.Issued(), l.Good(), l.Failed())
}

// liveFigures are the figures so far, or why there are none.
func liveFigures(l record.Live) string {
	ttft, decode := l.TTFT(), l.Decode()
	out := fmt.Sprintf("so far TTFT p50 %s, decode %s", duration(ttft), rate(decode.Rate))
	if _, ok := decode.PerSecond(); ok {
		out += fmt.Sprintf(" @ depth %d, %.1f in flight", decode.DepthTokens, decode.InFlight)
	}
	why := ttft.Withheld()
	if why == "" {
		why = decode.Withheld()
	}
	if why != "" {
		out += " (" + why + ")"
	}
	return out
}

// track is a bar of so many columns and a space, "" where there is no room or nothing to show.
func track(done, all time.Duration, columns int) string {
	columns = min(columns, 24)
	if columns < 4 || all <= 0 {
		return ""
	}
	full := int(float64(columns) * max(0, min(1, float64(done)/float64(all))))
	return "[" + strings.Repeat("=", full) + strings.Repeat(".", columns-full) + "]  "
}

// spent says how much of a time is over; how long it will be is not always known.
func spent(running, expected time.Duration) string {
	if expected <= 0 {
		return seconds(running).String()
	}
	return fmt.Sprintf("%v of about %v", seconds(running), seconds(expected))
}

// seconds rounds to what a person waits by.
func seconds(d time.Duration) time.Duration {
	if d >= time.Minute {
		return d.Round(time.Second)
	}
	return d.Round(100 * time.Millisecond)
}

// progressEvery is how often a log is told of a level that goes on.
const progressEvery = 10 * time.Second

// progressLine is a panel in one line, for a log.
func progressLine(p stages.LevelProgress) string {
	return gates.Printable(fmt.Sprintf("%s %d of %d: %s, %s; %s", step(p.Depth), p.Index+1, p.Of, spent(p.Live.Running().Truncate(time.Second), p.Expected), liveCounts(p.Live), liveFigures(p.Live)), 0)
}
