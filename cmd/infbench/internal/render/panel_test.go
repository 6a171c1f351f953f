package render

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/mattn/go-runewidth"

	"infbench/arrival"
	"infbench/record"
	"infbench/record/recordtest"
	"infbench/stages"
)

func look(t testing.TB, p record.LiveParts) stages.LevelProgress {
	t.Helper()
	required, verdicts := recordtest.Passing()
	g, err := recordtest.Ledger(recordtest.Identity("sha256:aa", "x"), required, verdicts).Gates()
	if err != nil {
		t.Fatal(err)
	}
	m, err := arrival.Sessions(4, 0, arrival.DefaultSeed)
	if err != nil {
		t.Fatal(err)
	}
	l, err := record.NewLive(g, m, p)
	if err != nil {
		t.Fatal(err)
	}
	return stages.LevelProgress{Index: 1, Of: 3, Expected: 10 * time.Second, Left: 16 * time.Second, Live: l}
}

func parts(running time.Duration, failed map[record.Outcome]int) record.LiveParts {
	return record.LiveParts{
		Running: running, Issued: 37, InFlight: 4, InFlightMean: 3.96, Good: 33, Counted: 29, Failed: failed,
		TTFT: 36500 * time.Microsecond, Rated: 29, TokensPerSecond: 466.9, DepthTokens: 544,
	}
}

const label = "closed loop, 4 sessions, no think time"

// The panel at the sizes that people have, healthy and not, and before there is anything to say.
func TestPanel(t *testing.T) {
	t.Parallel()
	young := record.LiveParts{Running: 600 * time.Millisecond, Issued: 4, InFlight: 4, InFlightMean: 4}
	deep := look(t, parts(4200*time.Millisecond, nil))
	deep.Depth, deep.Expected, deep.Left = 8192, 0, 0
	var b strings.Builder
	for _, c := range []struct {
		name string
		p    stages.LevelProgress
	}{
		{"no look yet", stages.LevelProgress{Of: 3, Expected: 10 * time.Second}},
		{"nothing answered yet", look(t, young)},
		{"in the middle", look(t, parts(4200*time.Millisecond, nil))},
		{"turned away", look(t, parts(4200*time.Millisecond, map[record.Outcome]int{record.Rejected: 3}))},
		{"garbage", look(t, parts(4200*time.Millisecond, map[record.Outcome]int{record.Wrong: 2, record.Cut: 1}))},
		{"longer than expected", look(t, parts(13*time.Second, nil))},
		{"a depth of unknown length", deep},
	} {
		for _, width := range []int{120, 80, 40, 10} {
			fmt.Fprintf(&b, "--- %s, %d columns\n%s\n", c.name, width, strings.Join(panel(Style{}, label, c.p, width), "\n"))
		}
	}
	path := filepath.Join("testdata", "panel.golden")
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("-golden +drawn\n%s", diff)
	}
}

// FuzzPanel: whatever the width and the words, no line is too long for the terminal, none has a
// control character, and there are never more lines than rows.
func FuzzPanel(f *testing.F) {
	f.Add(80, label, int64(4*time.Second), 33, true)
	f.Add(0, "\x1b[2J\x1b]0;x\x07", int64(-1), -5, false)
	f.Add(60, label, int64(-1<<62), 2, false)
	f.Add(-7, "日本語\u202e\n\r\t", int64(1<<62), 1<<40, true)
	f.Fuzz(func(t *testing.T, width int, label string, running int64, n int, garbage bool) {
		width %= 400
		p := parts(time.Duration(running), nil)
		p.Issued, p.InFlight, p.Good, p.Counted = n, n, n, n
		if garbage {
			p.Failed = map[record.Outcome]int{record.Degenerate: 1}
		}
		lines := panel(Style{}, label, look(t, p), width)
		if len(lines) > panelRows {
			t.Errorf("%d lines", len(lines))
		}
		for _, line := range lines {
			if w := runewidth.StringWidth(line); w > max(width-1, 0) {
				t.Errorf("%d columns of %d: %q", w, width, line)
			}
			if i := strings.IndexFunc(line, unicode.IsControl); i >= 0 {
				t.Errorf("a control character in %q", line)
			}
		}
	})
}

// A log is told of a level every ten seconds, and of its figures in no other way than the panel.
func TestPlainTellsOfALevel(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	emit := Plain(&b)
	emit(stages.LevelStarted{Index: 1, Of: 3, Arrival: label, Expected: 25 * time.Second})
	for running := 500 * time.Millisecond; running <= 31*time.Second; running += 500 * time.Millisecond {
		emit(look(t, parts(running, nil)))
	}
	emit(stages.LevelFinished{Index: 1, Of: 3, Issued: 37, Good: 37})
	emit(stages.LevelStarted{Index: 2, Of: 3, Arrival: label, Expected: 25 * time.Second})
	emit(look(t, parts(9500*time.Millisecond, nil)))
	emit(look(t, parts(10100*time.Millisecond, nil)))
	var told []string
	for line := range strings.Lines(b.String()) {
		if _, rest, ok := strings.Cut(line, ": "); ok && strings.Contains(rest, "in flight") {
			told = append(told, strings.Fields(rest)[0])
		}
	}
	if got := strings.Join(told, " "); got != "10s 20s 30s 10s" {
		t.Errorf("told at %s\n%s", got, &b)
	}
	want := "level 2 of 3: 10s of about 10s, in flight 4 · issued 37 · good 33 · failed 0; so far TTFT p50 36.5ms, decode 466.9 tok/s @ depth 544, 4.0 in flight\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("not told as it should be:\n%s", &b)
	}
}

// paper is a terminal as far as a screen uses one: it breaks lines at its width and knows
// "up" and "erase what follows".
type paper struct {
	width int
	rows  []string
	at    int
}

func (p *paper) write(t *testing.T, text string) {
	t.Helper()
	for text != "" {
		if strings.HasPrefix(text, "\x1b[") {
			var n int
			if _, err := fmt.Sscanf(text, "\x1b[%dA\x1b[J", &n); err != nil {
				t.Fatalf("an escape code that is not expected: %q", text)
			}
			p.at -= n
			if p.at < 0 {
				t.Fatalf("%d rows above the first", -p.at)
			}
			p.rows = p.rows[:p.at]
			text = text[strings.Index(text, "J")+1:]
			continue
		}
		line, rest, _ := strings.Cut(text, "\n")
		for len(line) > p.width {
			p.rows, line = append(p.rows, line[:p.width]), line[p.width:]
		}
		p.rows = append(p.rows, line)
		p.at, text = len(p.rows), rest
	}
}

// narrow makes the terminal narrower, as terminals do that break the lines they show.
func (p *paper) narrow(t *testing.T, width int) {
	t.Helper()
	old := p.rows
	*p = paper{width: width}
	for _, row := range old {
		p.write(t, row+"\n")
	}
}

// Frames are drawn over, lines before them stay, and a terminal that was made narrower keeps
// nothing of an older frame.
func TestScreen(t *testing.T) {
	t.Parallel()
	p := &paper{width: 40}
	var out bytes.Buffer
	s := &screen{out: &out, size: func() (int, int) { return p.width, 10 }}
	draw := func(stays string, frame ...string) {
		s.WriteString(stays)
		for _, line := range frame {
			s.WriteString(line + "\n")
		}
		if err := s.Flush(len(frame)); err != nil {
			t.Fatal(err)
		}
		p.write(t, out.String())
		out.Reset()
	}
	expect := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, p.rows); diff != "" {
			t.Errorf("-want +shown\n%s", diff)
		}
	}
	draw("stage 3 passed\n", "one", "two")
	expect("stage 3 passed", "one", "two")
	draw("", "three", "four", "five")
	expect("stage 3 passed", "three", "four", "five")
	draw("a line that stays\n", "six")
	expect("stage 3 passed", "a line that stays", "six")
	draw("", strings.Repeat("x", 39), "short")
	p.narrow(t, 20)
	expect("stage 3 passed", "a line that stays", strings.Repeat("x", 20), strings.Repeat("x", 19), "short")
	draw("", "seven", "eight")
	expect("stage 3 passed", "a line that stays", "seven", "eight")
	draw("")
	expect("stage 3 passed", "a line that stays")
	draw("")
	expect("stage 3 passed", "a line that stays")
}

// Colours are marks and no columns.
func TestScreenCountsNoMarks(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := &screen{out: &out, size: func() (int, int) { return 10, 10 }}
	s.WriteString(bold + strings.Repeat("x", 9) + reset + "\n")
	if err := s.Flush(1); err != nil || s.drawn[0] != 9 {
		t.Errorf("%v columns, %v", s.drawn, err)
	}
}
