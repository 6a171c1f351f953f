package soak

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"infbench/gates"
)

const schema = "infbench.soak/v1"

// wire is the written form of an entry: exactly one of the events is there.
type wire struct {
	Schema    string     `json:"schema"`
	Time      time.Time  `json:"time"`
	AtMS      int64      `json:"at_ms"`
	Begun     *Begun     `json:"begun,omitempty"`
	Resumed   *Resumed   `json:"resumed,omitempty"`
	Reading   *Reading   `json:"reading,omitempty"`
	Round     *Round     `json:"round,omitempty"`
	Failed    *Failed    `json:"failed,omitempty"`
	Again     *Again     `json:"again,omitempty"`
	Healed    *Healed    `json:"healed,omitempty"`
	Away      *Away      `json:"away,omitempty"`
	Restarted *Restarted `json:"restarted,omitempty"`
	Drifts    *Drifts    `json:"drifts,omitempty"`
	Ended     *Ended     `json:"ended,omitempty"`
}

// MarshalJSON writes the entry as one line of a journal has it.
func (e Entry) MarshalJSON() ([]byte, error) {
	w := wire{Schema: schema, Time: e.Time.UTC().Truncate(time.Millisecond), AtMS: e.At.Milliseconds()}
	switch v := e.Event.(type) {
	case Begun:
		w.Begun = &v
	case Resumed:
		w.Resumed = &v
	case Reading:
		w.Reading = &v
	case Round:
		w.Round = &v
	case Failed:
		w.Failed = &v
	case Again:
		w.Again = &v
	case Healed:
		w.Healed = &v
	case Away:
		w.Away = &v
	case Restarted:
		w.Restarted = &v
	case Drifts:
		w.Drifts = &v
	case Ended:
		w.Ended = &v
	case nil:
		return nil, errors.New("an entry without an event does not marshal")
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads one line of a journal. It is untrusted: texts are made printable, and
// what no soak can have written is an error.
func (e *Entry) UnmarshalJSON(b []byte) error {
	var w wire
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	if w.Schema != schema {
		return fmt.Errorf("schema %.40q is not %s", w.Schema, schema)
	}
	const most = int64(10 * 365 * 24 * time.Hour / time.Millisecond)
	if w.AtMS < 0 || w.AtMS > most || w.Time.Year() < 2000 || w.Time.Year() >= 2200 {
		return errors.New("it says not when")
	}
	events := w.events()
	if len(events) != 1 {
		return fmt.Errorf("%d events in one line", len(events))
	}
	if err := sound(events[0]); err != nil {
		return err
	}
	*e = Entry{w.Time.UTC(), time.Duration(w.AtMS) * time.Millisecond, events[0]}
	return nil
}

// events returns what is there, with its texts made printable.
func (w wire) events() []Event {
	var out []Event
	if v := w.Begun; v != nil {
		v.Run, v.Harness = short(v.Run), short(v.Harness)
		out = append(out, *v)
	}
	if v := w.Resumed; v != nil {
		v.Harness = short(v.Harness)
		out = append(out, *v)
	}
	if v := w.Reading; v != nil {
		out = append(out, *v)
	}
	if v := w.Round; v != nil {
		v.Void = short(v.Void)
		out = append(out, *v)
	}
	if v := w.Failed; v != nil {
		v.Check, v.Summary = short(v.Check), short(v.Summary)
		v.Evidence = v.Evidence[:min(len(v.Evidence), mostEvidence)]
		for i, line := range v.Evidence {
			v.Evidence[i] = short(line)
		}
		out = append(out, *v)
	}
	if v := w.Again; v != nil {
		v.Check, v.Summary = short(v.Check), short(v.Summary)
		out = append(out, *v)
	}
	if v := w.Healed; v != nil {
		v.Check = short(v.Check)
		out = append(out, *v)
	}
	if v := w.Away; v != nil {
		v.What = short(v.What)
		out = append(out, *v)
	}
	if v := w.Restarted; v != nil {
		v.What = short(v.What)
		out = append(out, *v)
	}
	if v := w.Drifts; v != nil {
		v.Metric, v.Mode, v.Text = short(v.Metric), short(v.Mode), short(v.Text)
		out = append(out, *v)
	}
	if v := w.Ended; v != nil {
		v.Cause = short(v.Cause)
		out = append(out, *v)
	}
	return out
}

const mostEvidence = 12

// short makes a text of a journal safe to print. Ours are shorter by far, escapes included.
func short(s string) string { return gates.Printable(s, 5000) }

// sound returns what is impossible about an event.
func sound(e Event) error {
	counts := func(a Answers) error {
		if min(a.Asked, a.Right, a.Wrong, a.Busy, a.Lost, a.Foreign) < 0 || a.Right+a.Wrong+a.Busy+a.Lost+a.Foreign != a.Asked || a.Asked > mostAsked {
			return errors.New("the counts of the load do not add up")
		}
		return nil
	}
	round := func(n, least int) error {
		if n < least || n > 10*mostRounds {
			return fmt.Errorf("there is no round %d", n)
		}
		return nil
	}
	switch v := e.(type) {
	case Begun:
		if v.Run == "" || v.Plan == (Plan{}) || v.Subject.IsZero() {
			return errors.New("a soak begins with its plan and what it is about")
		}
	case Resumed:
		return about(v.Subject)
	case Restarted:
		return about(v.Subject)
	case Reading:
		return errors.Join(counts(v.Load), round(v.Round, 1))
	case Round:
		return round(v.N, 0)
	case Failed:
		return errors.Join(round(v.Round, 0), round(v.LastRight, -1))
	case Healed:
		return round(v.Round, 0)
	case Ended:
		return counts(v.Load)
	case Again:
		if v.Right < 0 || v.Right > v.Asked || v.Asked > mostAsked {
			return errors.New("more right answers than questions")
		}
	case Away, Drifts:
	}
	return nil
}

func about(s gates.Subject) error {
	if s.IsZero() {
		return errors.New("it says not what it is about")
	}
	return nil
}

// mostAsked bounds a count of questions.
const mostAsked = 1_000_000_000
