package render_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"infbench/cmd/infbench/internal/render"
	"infbench/gates"
	"infbench/internal/evidence"
	"infbench/internal/replay"
	"infbench/record/recordtest"
	"infbench/stages/endpoint"
)

// awful is what a server may say to a terminal, to a page and to a document.
const awful = "\x1b[2J\u009b31m\u202e```\n````\n# <b>|*_ \U000e0041"

func aBundle(t *testing.T) evidence.Bundle {
	t.Helper()
	subject, err := gates.NewSubject(gates.SubjectParts{Endpoint: "http://loopback:8000", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := evidence.New(evidence.Parts{
		Run: "20260102T030405Z-0123abcd", Command: "stage2", Harness: "infbench test", Model: "m", Subject: subject, Dropped: 3,
		Verdict: recordtest.Verdict("smoke/known-answer", gates.Fail("answered %q, want 42", awful).With("asked for 42").Because("NaN logits")),
		Exchanges: []evidence.Exchange{
			{Number: 1, Stream: true, HangUp: 5, Again: true, Body: `{"model":"m","messages":[{"role":"user","content":"What is it?"}]}`, Answer: endpoint.Answer{
				Status: 200, Content: awful, Reasoning: "I think", Finish: "stop\x1b", End: endpoint.Done, Usage: endpoint.Usage{Prompt: gates.CountOf(9), Completion: gates.CountOf(4)},
				Calls: []endpoint.ToolCall{{Name: "f\x1b", Arguments: awful}}, Broke: []endpoint.Breach{{What: "two ends"}},
				Logprobs: []endpoint.TokenLogprob{{Alternative: endpoint.Alternative{Token: "a\x1b", Logprob: math.NaN()}}},
				Timing:   endpoint.Timing{FirstToken: 5 * time.Millisecond, Ended: 12 * time.Millisecond},
			}},
			{Number: 2, Began: 90 * time.Millisecond, Body: awful, Raw: "<html>\n" + awful, Cut: true, Answer: endpoint.Answer{
				Status: 502, End: endpoint.Failed, Failure: &endpoint.Failure{Kind: endpoint.ServerFault, Status: 502, What: "the server answered 502", Said: awful},
				Timing: endpoint.Timing{Ended: time.Millisecond},
			}},
			{Number: 3, Began: time.Second, NoBody: true},
		},
	}, func(s string) string { return s })
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func describe(body string) string { return gates.Quote(body, 30) }

// harmless reports what of a text a terminal would take for something else than itself.
func harmless(t *testing.T, what, text string) {
	t.Helper()
	for _, bad := range []string{"\x1b", "\u009b", "\u202e", "\U000e0041"} {
		if strings.Contains(text, bad) {
			t.Errorf("%s holds %q", what, bad)
		}
	}
}

func TestEvidence(t *testing.T) {
	t.Parallel()
	b := aBundle(t)
	var list, full, page strings.Builder
	render.Evidence(&list, render.Style{}, b, nil, describe)
	render.Evidence(&full, render.Style{}, b, []int{2}, describe)
	if err := render.EvidencePage(&page, b, nil, describe); err != nil {
		t.Fatal(err)
	}
	golden(t, "evidence", list.String()+"\n"+full.String())
	golden(t, "evidence_page", page.String())
	harmless(t, "the list", list.String()+full.String())
	harmless(t, "the page", page.String())
}

// The document means the same with its escapes.
func TestVisibleJSON(t *testing.T) {
	t.Parallel()
	doc, err := aBundle(t).JSON()
	if err != nil {
		t.Fatal(err)
	}
	shown := render.VisibleJSON(doc)
	harmless(t, "the document", string(shown))
	b, err := evidence.Parse(shown)
	if err != nil || b.Exchanges()[0].Answer.Content != awful {
		t.Errorf("%v, read %+v", err, b.Exchanges())
	}
}

func TestReplay(t *testing.T) {
	t.Parallel()
	b := aBundle(t)
	x := b.Exchanges()
	results := []replay.Result{
		{Recorded: x[0], Now: x[0], Outcome: replay.Differs, Difference: &replay.Difference{Where: "the content", At: 3, Recorded: `"ab"`, Now: `"ac"`}},
		{Recorded: x[1], Now: x[1], Outcome: replay.Failed, Difference: &replay.Difference{Where: "the outcome", Recorded: "an answer", Now: "the server answered 502"}},
		{Recorded: x[2], Outcome: replay.NotSent, Why: "the request was too large to be kept"},
		{Recorded: x[0], Now: x[0], Outcome: replay.AsRecorded},
	}
	to := render.ReplayTarget{Name: "m" + awful, Engine: "vllm", Address: "http://loopback:8000", Alone: true}
	var text, doc strings.Builder
	render.Replay(&text, render.Style{}, b, to, results, 1, describe)
	if err := render.ReplayJSON(&doc, b, to, results, 1); err != nil {
		t.Fatal(err)
	}
	golden(t, "replay", text.String())
	golden(t, "replay_json", doc.String())
	harmless(t, "the text", text.String())
	harmless(t, "the document", doc.String())
	if !json.Valid([]byte(doc.String())) {
		t.Error("the document is no JSON")
	}
}
