package render

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"infbench/gates"
	"infbench/stages"
)

// Terminal shows a run on a terminal: one line that names the stage, the check, how
// long it has run and how long it takes on a healthy server; while a level is measured a
// panel in its place. Lines that matter stay.
type Terminal struct {
	progress *mpb.Progress
	bar      *mpb.Bar
	style    Style
	said     string // the last summary shown: nine checks with one reason are one line

	stage  string
	checks int

	mu     sync.Mutex
	label  string
	since  time.Time
	expect time.Duration
	look   stages.LevelProgress
}

// NewTerminal returns a terminal renderer that writes to w.
func NewTerminal(w io.Writer, s Style) *Terminal {
	return &Terminal{progress: mpb.New(mpb.WithConsoleWriter(newScreen(w)), mpb.WithWidth(24), mpb.WithRefreshRate(120*time.Millisecond)), style: s}
}

// Emit takes an event.
func (t *Terminal) Emit(e stages.Event) {
	switch e := e.(type) {
	case stages.StageStarted:
		t.stage, t.checks = fmt.Sprintf("stage %d %s", e.Stage, e.Stage), e.Checks
		t.begin(e.Cost)
	case stages.WorkStated:
		t.say("", e.Expected)
		t.line("stage %d %-12s %s", e.Stage, e.Stage, e.Text)
	case stages.CheckStarted:
		t.say(e.ID, e.Cost)
	case stages.CheckFinished:
		if st := e.Verdict.Status(); (st == gates.Failed || st == gates.Warned) && e.Verdict.Summary() != t.said {
			t.said = e.Verdict.Summary()
			t.line("%s %s: %s", t.style.status(st), e.Verdict.Check(), e.Verdict.Summary())
		}
		if t.bar != nil {
			t.bar.Increment()
		}
	case stages.StageFinished:
		t.end()
		t.line("stage %d %-12s %s in %v", e.Result.Stage, e.Result.Stage, t.style.status(e.Result.Status), round(e.Result.Took))
	case stages.StageNotRun:
		t.line("stage %d %-12s not run: %s", e.NotRun.Stage, e.NotRun.Stage, e.NotRun.Why)
	case stages.LevelStarted:
		if e.Restored {
			t.line("%s", restoredLine(e))
			return
		}
		t.see(stages.LevelProgress{Index: e.Index, Of: e.Of, Depth: e.Depth, Expected: e.Expected})
		t.say(e.Arrival, e.Expected)
		t.showPanel()
	case stages.LevelProgress:
		t.see(e)
	case stages.LevelFinished:
		t.begin(0)
		t.line("%s %d of %d: %d of %d requests good", step(e.Depth), e.Index+1, e.Of, e.Good, e.Issued)
	case stages.Interrupted:
		t.line("interrupted: what was measured is kept")
	}
}

// Close ends the live line.
func (t *Terminal) Close() {
	t.end()
	t.progress.Wait()
}

func (t *Terminal) line(format string, a ...any) {
	_, _ = fmt.Fprintf(t.progress, format+"\n", a...)
}

func (t *Terminal) say(label string, expect time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.label, t.since, t.expect = label, time.Now(), expect
}

func (t *Terminal) see(look stages.LevelProgress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.look = look
}

// showPanel draws the panel in the place of the line.
func (t *Terminal) showPanel() {
	t.end()
	row := func(i int) mpb.BarFillerFunc {
		return func(w io.Writer, stat decor.Statistics) error {
			t.mu.Lock()
			lines := panel(t.style, t.label, t.look, stat.AvailableWidth)
			t.mu.Unlock()
			if i >= len(lines) {
				return nil
			}
			end := "\n"
			if i == 0 {
				end = "" // the library ends the first one itself
			}
			_, err := io.WriteString(w, lines[i]+end)
			return err
		}
	}
	var below []mpb.BarFiller
	for i := range panelRows - 1 {
		below = append(below, row(i+1))
	}
	t.bar, _ = t.progress.Add(1, row(0), mpb.BarFillerTrim(), mpb.BarRemoveOnComplete(), mpb.BarBtmExtender(below...)) // an error says that all is over: nothing is drawn then
}

// begin draws the line of the stage's checks.
func (t *Terminal) begin(cost time.Duration) {
	t.end()
	t.say("", cost)
	t.bar = t.progress.AddBar(int64(t.checks), mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(t.stage, decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
			t.mu.Lock()
			defer t.mu.Unlock()
			took := time.Since(t.since).Round(100 * time.Millisecond)
			if t.expect == 0 {
				return fmt.Sprintf("%s  %v", t.label, took)
			}
			return fmt.Sprintf("%s  %v of about %v", t.label, took, round(t.expect))
		})))
}

func (t *Terminal) end() {
	if t.bar != nil {
		t.bar.Abort(true)
		t.bar.Wait()
		t.bar = nil
	}
}
