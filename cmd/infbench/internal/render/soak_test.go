package render_test

import (
	"strings"
	"testing"
	"time"

	"infbench/cmd/infbench/internal/render"
	"infbench/gates"
	"infbench/record/recordtest"
	"infbench/soak"
	"infbench/stages/endpoint"
)

// eventful is a soak in which something of everything happened.
func eventful(t *testing.T) (*soak.History, []soak.Entry) {
	t.Helper()
	subject := recordtest.Identity("sha256:aa", "rev1").Subject()
	ledger := func(verdicts ...gates.Verdict) gates.Ledger {
		var ids []string
		for _, v := range verdicts {
			ids = append(ids, v.Check())
		}
		l, err := gates.NewLedger(subject, ids, verdicts, nil)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	v, n := recordtest.Verdict, gates.CountOf
	same := v("correctness/same-server", gates.Pass("the same process throughout"))
	reading := func(round int) soak.Reading {
		return soak.Reading{
			Round: round, FirstToken: soak.RatioOf(time.Second, time.Second), PerToken: soak.RatioOf(time.Duration(90+10*round), 100),
			Rest: endpoint.Gauges{Running: n(0), ResidentBytes: n(1000 + 200*round)}, Load: soak.Answers{Asked: 10, Right: 9, Wrong: 1, PromptTokens: n(1000), CachedTokens: n(700)},
		}
	}
	plan := soak.DefaultPlan()
	plan.KeepGoing = true
	var entries []soak.Entry
	h := &soak.History{}
	at := func(d time.Duration, e soak.Event) {
		entry := soak.Entry{Time: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC).Add(d), At: d, Event: e}
		entries = append(entries, entry)
		if err := h.Add(entry); err != nil {
			t.Fatal(err)
		}
	}
	at(0, soak.Begun{Run: "r", Harness: "infbench", Plan: plan, Subject: subject})
	at(20*time.Second, soak.Round{N: 0, Answers: ledger(v("smoke/usage", gates.Pass("counted")))})
	for round := 1; round <= 6; round++ {
		start := time.Duration(round-1) * 5 * time.Minute
		at(start+21*time.Second, reading(round))
		if round == 4 {
			at(start+30*time.Second, soak.Failed{Check: "correctness/canaries", Round: 4, Summary: "3 of 24 are wrong in company", Evidence: []string{"asked for 1"}, LastRight: 3})
			at(start+31*time.Second, soak.Again{Check: "correctness/canaries", Status: gates.Passed, Summary: "24 of 24 right", Right: 3, Asked: 3})
			at(start+40*time.Second, soak.Round{N: 4, Answers: ledger(same, v("correctness/canaries", gates.Fail("3 of 24 are wrong in company")))})
			at(start+50*time.Second, soak.Away{What: "nothing listens at the target"})
			at(start+60*time.Second, soak.Restarted{What: "the server process was 1 and is 2", Allowed: true, Subject: subject})
			continue
		}
		if round == 5 {
			at(start+40*time.Second, soak.Round{N: 5, Void: "the server was replaced in it"})
			continue
		}
		if round == 6 {
			at(start+30*time.Second, soak.Healed{Check: "correctness/canaries", Round: 6, Restart: true})
		}
		at(start+40*time.Second, soak.Round{N: round, Answers: ledger(same, v("correctness/canaries", gates.Pass("24 of 24 right")))})
	}
	at(26*time.Minute, soak.Drifts{Metric: "resident memory", Mode: "OPS-08", Text: "it grows"})
	at(27*time.Minute, soak.Ended{Cause: "interrupted", Stopped: true})
	at(40*time.Minute, soak.Resumed{Harness: "infbench", Subject: subject})
	at(41*time.Minute, soak.Ended{Cause: "interrupted", Stopped: true})
	return h, entries
}

func TestSoak(t *testing.T) {
	t.Parallel()
	h, entries := eventful(t)
	var b, plain, quiet strings.Builder
	render.Soak(&b, render.Style{}, h)
	golden(t, "soak", b.String())
	loud, hushed := render.SoakPlain(&plain, false), render.SoakPlain(&quiet, true)
	for _, e := range entries {
		loud(e)
		hushed(e)
	}
	golden(t, "soak_plain", plain.String())
	golden(t, "soak_quiet", quiet.String())
}
