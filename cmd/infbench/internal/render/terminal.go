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
// long it has run and how long it takes on a healthy server. Lines that matter stay.
type Terminal struct {
	progress *mpb.Progress
	bar      *mpb.Bar
	style    Style
	said     string // the last summary shown: nine checks with one reason are one line

	mu     sync.Mutex
	label  string
	since  time.Time
	expect time.Duration
}

// NewTerminal returns a terminal renderer that writes to w.
func NewTerminal(w io.Writer, s Style) *Terminal {
	return &Terminal{progress: mpb.New(mpb.WithOutput(w), mpb.WithWidth(24), mpb.WithRefreshRate(120*time.Millisecond)), style: s}
}

// Emit takes an event.
func (t *Terminal) Emit(e stages.Event) {
	switch e := e.(type) {
	case stages.StageStarted:
		t.begin(fmt.Sprintf("stage %d %s", e.Stage, e.Stage), e.Cost, e.Checks)
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
		t.say(fmt.Sprintf("level %d of %d: %s", e.Index+1, e.Of, e.Arrival), e.Expected)
	case stages.LevelFinished:
		t.line("level %d of %d: %d of %d requests good", e.Index+1, e.Of, e.Good, e.Issued)
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

func (t *Terminal) begin(stage string, cost time.Duration, checks int) {
	t.end()
	t.say("", cost)
	t.bar = t.progress.AddBar(int64(checks), mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(stage, decor.WCSyncSpaceR)),
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
