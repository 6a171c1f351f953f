package render

import (
	"fmt"
	"io"
	"strings"
	"time"

	"infbench/gates"
	"infbench/internal/evidence"
	"infbench/internal/replay"
	"infbench/stages"
)

// ReplayTarget is what a bundle was asked of again.
type ReplayTarget struct {
	Name, Engine, Address string
	// Alone says that each request was sent alone.
	Alone bool
}

func (t ReplayTarget) String() string {
	how := "in the recorded order and overlap"
	if t.Alone {
		how = "one by one"
	}
	return fmt.Sprintf("%s · %s · %s, %s", gates.Printable(t.Name, 100), t.Engine, t.Address, how)
}

var outcomes = map[replay.Outcome]string{replay.AsRecorded: "as recorded", replay.Differs: "differs", replay.Failed: "failed", replay.NotSent: "not sent"}

// Replay writes what came of asking a bundle again: a line a request, and under one that
// is not as recorded where it differs first.
func Replay(w io.Writer, s Style, b evidence.Bundle, to ReplayTarget, results []replay.Result, exit int, describe func(body string) string) {
	evidenceHead(w, b)
	fmt.Fprintf(w, "asked of %s\n", to)
	for _, r := range results {
		fmt.Fprintf(w, "  %3d  %s  %s\n", r.Recorded.Number, s.paint(outcomeColours[r.Outcome], fmt.Sprintf("%-11s", outcomes[r.Outcome])), describe(r.Recorded.Body))
		switch d := r.Difference; {
		case r.Why != "":
			fmt.Fprintf(w, "       %s\n", r.Why)
		case d != nil && d.At > 0:
			fmt.Fprintf(w, "       in %s from character %d\n       recorded  %s\n       now       %s\n", d.Where, d.At, d.Recorded, d.Now)
		case d != nil:
			fmt.Fprintf(w, "       in %s\n       recorded  %s\n       now       %s\n", d.Where, d.Recorded, d.Now)
		}
	}
	t := replay.TallyOf(results)
	fmt.Fprintf(w, "%d of %d as recorded%s\n", t.AsRecorded, t.Of(), rest(b, t, results))
	colour := map[int]string{stages.ExitHealthy: green, stages.ExitWarnings: yellow}[exit]
	if colour == "" {
		colour = red
	}
	fmt.Fprintln(w, s.paint(colour, fmt.Sprintf("exit %d: %s", exit, replayExits[exit])))
}

var replayExits = map[int]string{
	stages.ExitHealthy: "all as recorded", stages.ExitWarnings: "not all as recorded", stages.ExitFailed: "nothing was answered", stages.ExitInterrupted: "interrupted",
}

var outcomeColours = map[replay.Outcome]string{replay.AsRecorded: green, replay.Differs: yellow, replay.Failed: red, replay.NotSent: dim}

// rest says what else came, and what to know of it.
func rest(b evidence.Bundle, t replay.Tally, results []replay.Result) string {
	differ := "%d differ"
	if t.Differ == 1 {
		differ = "%d differs"
	}
	var out []string
	for _, c := range []struct {
		n    int
		says string
	}{{t.Differ, differ}, {t.Failed, "%d failed"}, {t.NotSent, "%d not sent"}, {redacted(results), "%d with redacted texts"}, {b.Dropped(), "%d more were not kept"}} {
		if c.n > 0 {
			out = append(out, fmt.Sprintf(c.says, c.n))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "; " + strings.Join(out, ", ")
}

func redacted(results []replay.Result) (n int) {
	for _, r := range results {
		if r.Recorded.Redacted {
			n++
		}
	}
	return n
}

const replaySchema = "infbench.replay/v1"

type replayWire struct {
	Schema     string             `json:"schema"`
	Command    string             `json:"command"`
	Exit       int                `json:"exit"`
	Check      string             `json:"check"`
	Run        string             `json:"run"`
	Target     string             `json:"target"`
	Engine     string             `json:"engine"`
	Model      string             `json:"model"`
	OneByOne   bool               `json:"one_by_one"`
	Of         int                `json:"of"`
	AsRecorded int                `json:"as_recorded"`
	Differ     int                `json:"differ"`
	Failed     int                `json:"failed"`
	NotSent    int                `json:"not_sent"`
	Dropped    int                `json:"dropped,omitempty"`
	Requests   []replayResultWire `json:"requests"`
}

type replayResultWire struct {
	Number     int             `json:"number"`
	Outcome    replay.Outcome  `json:"outcome"`
	Why        string          `json:"why,omitempty"`
	Redacted   bool            `json:"redacted,omitempty"`
	Difference *differenceWire `json:"difference,omitempty"`
	Recorded   spanWire        `json:"recorded"`
	Now        spanWire        `json:"now,omitzero"`
}

type differenceWire struct {
	Where string `json:"where"`
	// Character counts from 1, 0 where the difference is in no text.
	Character int    `json:"character,omitempty"`
	Recorded  string `json:"recorded"`
	Now       string `json:"now"`
}

type spanWire struct {
	Began time.Duration `json:"began_ns"`
	Took  time.Duration `json:"took_ns"`
}

func span(x evidence.Exchange) spanWire { return spanWire{x.Began, x.Answer.Timing.Ended} }

// ReplayJSON writes the same as one document.
func ReplayJSON(w io.Writer, b evidence.Bundle, to ReplayTarget, results []replay.Result, exit int) error {
	t := replay.TallyOf(results)
	out := replayWire{
		Schema: replaySchema, Command: "replay", Exit: exit, Check: b.Verdict().Check(), Run: b.Run(), Target: to.Address, Engine: to.Engine, Model: gates.Printable(to.Name, 100),
		OneByOne: to.Alone, Of: t.Of(), AsRecorded: t.AsRecorded, Differ: t.Differ, Failed: t.Failed, NotSent: t.NotSent, Dropped: b.Dropped(), Requests: []replayResultWire{},
	}
	for _, r := range results {
		rw := replayResultWire{Number: r.Recorded.Number, Outcome: r.Outcome, Why: r.Why, Redacted: r.Recorded.Redacted, Recorded: span(r.Recorded), Now: span(r.Now)}
		if d := r.Difference; d != nil {
			rw.Difference = &differenceWire{d.Where, d.At, d.Recorded, d.Now}
		}
		out.Requests = append(out.Requests, rw)
	}
	return write(w, out)
}
