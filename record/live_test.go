package record_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"infbench/arrival"
	"infbench/gates"
	"infbench/record"
	"infbench/record/recordtest"
)

func proven(t *testing.T) (gates.GateSet, arrival.ArrivalModel) {
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
	return g, m
}

func liveParts() record.LiveParts {
	return record.LiveParts{
		Running: 4 * time.Second, Issued: 12, InFlight: 4, InFlightMean: 3.5, Good: 8, Counted: 4, Failed: map[record.Outcome]int{},
		TTFT: 36500 * time.Microsecond, Rated: 4, TokensPerSecond: 466.9, DepthTokens: 544,
	}
}

func TestLiveNeedsProofAndModel(t *testing.T) {
	t.Parallel()
	g, m := proven(t)
	var ungated *record.UngatedResultError
	if _, err := record.NewLive(gates.GateSet{}, m, liveParts()); !errors.As(err, &ungated) {
		t.Errorf("without gates: %v", err)
	}
	var unmodelled *record.UnmodelledArrivalError
	if _, err := record.NewLive(g, arrival.ArrivalModel{}, liveParts()); !errors.As(err, &unmodelled) {
		t.Errorf("without a model: %v", err)
	}
	if _, ok := (record.Live{}).TTFT().Value(); ok {
		t.Error("the zero look has a figure")
	}
	if _, ok := (record.Live{}).Decode().PerSecond(); ok {
		t.Error("the zero look has a rate")
	}
}

// A look has no mouth: neither JSON nor any verb gives its numbers away.
func TestLiveHasNoMouth(t *testing.T) {
	t.Parallel()
	g, m := proven(t)
	l, err := record.NewLive(g, m, liveParts())
	if err != nil {
		t.Fatal(err)
	}
	var ungated *record.UngatedResultError
	if b, err := json.Marshal(struct{ L record.Live }{l}); !errors.As(err, &ungated) {
		t.Errorf("marshalled: %s, %v", b, err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
		if s := fmt.Sprintf(verb, l); strings.ContainsAny(s, "0123456789") {
			t.Errorf("%s prints %q", verb, s)
		}
	}
	if v, ok := l.TTFT().Value(); !ok || v != 36500*time.Microsecond {
		t.Errorf("TTFT %v", l.TTFT())
	}
	if s := l.Decode().String(); s != "466.9 tok/s at depth 544, 3.5 in flight" {
		t.Errorf("decode %s", s)
	}
}

// What voids a level voids the look at it; a request that was turned away or given up
// by the person does not.
func TestLiveOfGarbageHasNoSpeed(t *testing.T) {
	t.Parallel()
	g, m := proven(t)
	for _, c := range []struct {
		outcome record.Outcome
		void    bool
	}{
		{record.Rejected, false},
		{record.Cancelled, false},
		{record.HTTPError, true},
		{record.Unreached, true},
		{record.TimedOut, true},
		{record.Cut, true},
		{record.ServerSaid, true},
		{record.Empty, true},
		{record.Degenerate, true},
		{record.Wrong, true},
	} {
		p := liveParts()
		p.Failed[c.outcome] = 1
		l, err := record.NewLive(g, m, p)
		if err != nil {
			t.Fatal(err)
		}
		_, ttft := l.TTFT().Value()
		_, rate := l.Decode().PerSecond()
		if ttft == c.void || rate == c.void || l.Failed() != 1 {
			t.Errorf("%s: TTFT %v, decode %v, failed %d", c.outcome, l.TTFT(), l.Decode(), l.Failed())
		}
	}
	few := liveParts()
	few.Counted, few.Rated = 1, 1
	l, _ := record.NewLive(g, m, few)
	if l.TTFT().Withheld() != "n=1, p50 needs 2" || l.Decode().Withheld() != "n=1, a median needs 2" {
		t.Errorf("one sample: %v, %v", l.TTFT(), l.Decode())
	}
	uncounted := liveParts()
	uncounted.RatesWithheld = "nobody counted the tokens"
	l, _ = record.NewLive(g, m, uncounted)
	if l.Decode().Withheld() != "nobody counted the tokens" {
		t.Errorf("uncounted: %v", l.Decode())
	}
}
