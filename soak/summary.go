package soak

import (
	"time"

	"infbench/gates"
)

// Summary is a history as it is written for machines.
type Summary struct {
	Run       string    `json:"run"`
	Journal   string    `json:"journal,omitempty"`
	Plan      Plan      `json:"plan"`
	Started   time.Time `json:"started"`
	LastedMS  int64     `json:"lasted_ms"`
	Complete  bool      `json:"complete"`
	Cause     string    `json:"cause,omitempty"`
	Rounds    int       `json:"rounds"`
	Voided    int       `json:"voided"`
	Resumed   int       `json:"resumed"`
	CleanFrom bool      `json:"clean_start"`
	Checks    []Counted `json:"checks"`
	Load      Answers   `json:"load"`
	Trends    []Trend   `json:"trends"`
	Alarms    []Moment  `json:"alarms"`
	Restarts  []Moment  `json:"restarts"`
	Failures  []Onset   `json:"failures"`
}

// Counted says how often a check came to what.
type Counted struct {
	Check         string `json:"check"`
	Passed        int    `json:"passed"`
	Warned        int    `json:"warned"`
	NotApplicable int    `json:"not_applicable"`
	Skipped       int    `json:"skipped"`
	Failed        int    `json:"failed"`
}

// Moment is something that happened once.
type Moment struct {
	Time    time.Time `json:"time"`
	AfterMS int64     `json:"after_ms"`
	What    string    `json:"what"`
}

// Onset is a failure, when it began and what became of it.
type Onset struct {
	Moment
	Check     string `json:"check"`
	Round     int    `json:"round"`
	LastRight int    `json:"last_right"`
	AtStart   bool   `json:"at_start"`
	Again     *Again `json:"again,omitempty"`
	// HealedIn is the round in which it held again, null where it did not.
	HealedIn  *int `json:"healed_in"`
	ByRestart bool `json:"by_restart,omitempty"`
}

// Summary returns the history for machines.
func (h *History) Summary(journal string) Summary {
	end, over := h.Ended()
	s := Summary{
		Run: h.begun.Run, Journal: journal, Plan: h.Plan(), Started: h.started.UTC(), LastedMS: h.Lasted().Milliseconds(), Complete: over && end.Cause == "", Cause: end.Cause,
		Rounds: h.Rounds(), Voided: h.voided, Resumed: h.resumed, CleanFrom: h.clean, Load: h.load, Trends: h.Trends(),
		Checks: []Counted{}, Alarms: []Moment{}, Restarts: []Moment{}, Failures: []Onset{},
	}
	for _, t := range h.tallies {
		s.Checks = append(s.Checks, Counted{t.Check, t.Counts[gates.Passed], t.Counts[gates.Warned], t.Counts[gates.NotApplicable], t.Counts[gates.Skipped], t.Counts[gates.Failed]})
	}
	for _, d := range h.drifts {
		s.Alarms = append(s.Alarms, Moment{d.Time, d.At.Milliseconds(), d.Event.Metric + ": " + d.Event.Text})
	}
	for _, r := range h.restarts {
		s.Restarts = append(s.Restarts, Moment{r.Time, r.At.Milliseconds(), r.Event.What})
	}
	for _, f := range h.failures {
		o := Onset{Moment: Moment{f.Time, f.At.Milliseconds(), f.Event.Summary}, Check: f.Event.Check, Round: f.Event.Round, LastRight: f.Event.LastRight, AtStart: f.AtStart, Again: f.Again}
		if f.Healed != nil {
			o.HealedIn, o.ByRestart = &f.Healed.Event.Round, f.Healed.Event.Restart
		}
		s.Failures = append(s.Failures, o)
	}
	return s
}
