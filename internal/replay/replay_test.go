package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"infbench/gates"
	"infbench/internal/evidence"
	"infbench/record/recordtest"
	"infbench/stages/endpoint"
)

func answer(content string) endpoint.Answer {
	return endpoint.Answer{Status: 200, Content: content, Finish: "stop", End: endpoint.Done}
}

func failure(k endpoint.Kind, status int, said string) endpoint.Answer {
	return endpoint.Answer{Content: "half", End: endpoint.Failed, Failure: &endpoint.Failure{Kind: k, Status: status, What: "it went wrong", Said: said}}
}

// Two answers are the same or not; the first difference is told by where it is and what
// stands there.
func TestCompare(t *testing.T) {
	t.Parallel()
	with := func(change func(*endpoint.Answer)) endpoint.Answer {
		a := answer("the same")
		change(&a)
		return a
	}
	called := func(name, args string) endpoint.Answer {
		return with(func(a *endpoint.Answer) { a.Calls = []endpoint.ToolCall{{ID: args, Name: name, Arguments: args}} })
	}
	logprob := func(p float64) endpoint.Answer {
		return with(func(a *endpoint.Answer) {
			a.Logprobs = []endpoint.TokenLogprob{{Alternative: endpoint.Alternative{Token: "a"}}, {Alternative: endpoint.Alternative{Token: "b", Logprob: p}}}
		})
	}
	beside := func(list ...endpoint.Alternative) endpoint.Answer {
		return with(func(a *endpoint.Answer) {
			a.Logprobs = []endpoint.TokenLogprob{{Alternative: endpoint.Alternative{Token: "a"}, Top: list}}
		})
	}
	alt := func(token string, p float64) endpoint.Alternative {
		return endpoint.Alternative{Token: token, Logprob: p}
	}
	hungUp := func(content string) endpoint.Answer { return endpoint.Answer{Content: content, End: endpoint.HungUp} }
	long := strings.Repeat("ä", 50)
	for name, c := range map[string]struct {
		was, now endpoint.Answer
		outcome  Outcome
		want     string
	}{
		"equal":                 {answer("42"), with(func(a *endpoint.Answer) { a.Content, a.ID, a.Model = "42", "other", "other" }), AsRecorded, ""},
		"another word":          {answer("the cat sat"), answer("the cut sat"), Differs, `the content at 6: "the cat sat" | "the cut sat"`},
		"a longer one":          {answer("4"), answer("42"), Differs, `the content at 2: "4" | "42"`},
		"nothing":               {answer("42"), answer(""), Differs, `the content at 1: "42" | ""`},
		"deep inside":           {answer(long + "x" + long + long), answer(long + "y" + long + long), Differs, "the content at 51: …\"" + long[:48] + "x" + (long + long)[:142] + "\"… | …\"" + long[:48] + "y" + (long + long)[:142] + "\"…"},
		"broken characters":     {answer("a\xffb"), answer("a\xfeb"), Differs, `the content at 2: "a\xffb" | "a\xfeb"`},
		"escapes":               {answer("\x1b[2J"), answer(""), Differs, `the content at 1: "\u{1b}[2J" | ""`},
		"reasoning comes first": {with(func(a *endpoint.Answer) { a.Reasoning = "x" }), answer("other"), Differs, `the reasoning at 1: "x" | ""`},
		"a refusal":             {with(func(a *endpoint.Answer) { a.Refusal = "no" }), answer("the same"), Differs, `the refusal at 1: "no" | ""`},
		"another id of a call":  {called("f", "{}"), with(func(a *endpoint.Answer) { a.Calls = []endpoint.ToolCall{{ID: "z", Name: "f", Arguments: "{}"}} }), AsRecorded, ""},
		"another argument":      {called("f", `{"a":1}`), called("f", `{"a":2}`), Differs, `the arguments of call 1 at 6: "{\"a\":1}" | "{\"a\":2}"`},
		"another call":          {called("f", "{}"), called("g", "{}"), Differs, `the name of call 1 at 1: "f" | "g"`},
		"no call":               {called("f", "{}"), answer("the same"), Differs, "the calls at 0: 1 call | no call"},
		"another finish":        {answer("x"), with(func(a *endpoint.Answer) { a.Content, a.Finish = "x", "length" }), Differs, `finish_reason at 0: "stop" | "length"`},
		"another end":           {answer("x"), with(func(a *endpoint.Answer) { a.Content, a.End = "x", endpoint.Closed }), Differs, "the end at 0: done | closed"},
		"the contract":          {answer("the same"), with(func(a *endpoint.Answer) { a.Broke = []endpoint.Breach{{What: "two ends"}} }), Differs, "the contract at 0: kept | two ends"},
		"cached tokens":         {answer("the same"), with(func(a *endpoint.Answer) { a.Usage.Cached = gates.CountOf(9) }), AsRecorded, ""},
		"counted otherwise":     {answer("the same"), with(func(a *endpoint.Answer) { a.Usage.Completion = gates.CountOf(9) }), Differs, "the usage at 0: prompt unknown, completion unknown | prompt unknown, completion 9"},
		"logprobs near":         {logprob(-1), logprob(-1.05), AsRecorded, ""},
		"logprobs apart":        {logprob(-1), logprob(-1.5), Differs, `the logprob of token 2 at 0: "b" -1.000 beside 0 | "b" -1.500 beside 0`},
		"no number twice":       {logprob(math.NaN()), logprob(math.NaN()), AsRecorded, ""},
		"no number now":         {logprob(-1), logprob(math.NaN()), Differs, `the logprob of token 2 at 0: "b" -1.000 beside 0 | "b" NaN beside 0`},
		"as likely in turn":     {beside(alt("a", -1), alt("b", -1.01), alt("c", -5)), beside(alt("b", -1), alt("a", -1.02), alt("c", -5.05)), AsRecorded, ""},
		"another at the edge":   {beside(alt("a", -1), alt("c", -5)), beside(alt("a", -1), alt("d", -5.05)), AsRecorded, ""},
		"listed apart":          {beside(alt("a", -1), alt("b", -2), alt("c", -5)), beside(alt("a", -1), alt("b", -2.2), alt("c", -5)), Differs, `the logprobs listed with token 1 at 0: "b" -2.000 | "b" -2.200`},
		"another name":          {beside(alt("a", -0.7), alt("b", -9)), beside(alt("zzz", -0.7), alt("b", -9)), Differs, `the logprobs listed with token 1 at 0: "a" -0.700 | no "a"`},
		"another on top":        {beside(alt("a", -4), alt("b", -4)), beside(alt("zzz", 5.5), alt("b", -4)), Differs, `the logprobs listed with token 1 at 0: no "zzz" | "zzz" 5.500`},
		"fewer of a name":       {beside(alt("�", -1), alt("�", -1.05), alt("b", -9)), beside(alt("�", -1.02), alt("x", -1.05), alt("b", -9)), Differs, `the logprobs listed with token 1 at 0: "�" -1.050 | "�" -1.020`},
		"no number listed":      {beside(alt("a", math.NaN())), beside(alt("a", math.NaN())), AsRecorded, ""},
		"no number listed now":  {beside(alt("a", -1), alt("b", -9)), beside(alt("a", math.NaN()), alt("b", -9)), Differs, `the logprobs listed with token 1 at 0: "a" -1.000 | "a" NaN`},
		"no logprobs":           {logprob(-1), answer("the same"), Differs, "the logprobs at 0: 2 tokens | no token"},
		"fails as it did":       {failure(endpoint.ServerFault, 500, "id 1"), failure(endpoint.ServerFault, 500, "id 2"), AsRecorded, ""},
		"fails otherwise":       {failure(endpoint.ServerFault, 500, ""), failure(endpoint.Busy, 503, "full"), Differs, "the outcome at 0: it went wrong | it went wrong: full"},
		"is answered now":       {failure(endpoint.ServerFault, 500, ""), answer("42"), Differs, "the outcome at 0: it went wrong | an answer"},
		"fails now":             {answer("42"), failure(endpoint.BrokenOff, 0, ""), Failed, "the outcome at 0: an answer | it went wrong"},
		"is not there":          {failure(endpoint.Busy, 503, ""), failure(endpoint.Unreachable, 0, ""), Failed, "the outcome at 0: it went wrong | it went wrong"},
		"dropped sooner":        {hungUp("one two"), hungUp("one"), AsRecorded, ""},
		"dropped, and another":  {hungUp("one two"), hungUp("ane"), Differs, `the content at 1: "one two" | "ane"`},
		"broken off":            {failure(endpoint.Stopped, 0, ""), failure(endpoint.Stopped, 0, ""), AsRecorded, ""},
		"over before":           {failure(endpoint.Stopped, 0, ""), answer("half and half"), AsRecorded, ""},
		"over, and another":     {failure(endpoint.Stopped, 0, ""), answer("other"), Differs, `the content at 1: "half" | "other"`},
	} {
		r := judge(evidence.Exchange{Answer: c.was}, evidence.Exchange{Answer: c.now}, false)
		got := ""
		if d := r.Difference; d != nil {
			got = fmt.Sprintf("%s at %d: %s | %s", d.Where, d.At, d.Recorded, d.Now)
		}
		if r.Outcome != c.outcome || got != c.want {
			t.Errorf("%s: %s\n got %s\nwant %s", name, r.Outcome, got, c.want)
		}
	}
}

func bundleOf(t *testing.T, redact func(string) string, list ...evidence.Exchange) evidence.Bundle {
	t.Helper()
	subject, err := gates.NewSubject(gates.SubjectParts{Endpoint: "http://loopback:8000"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		list[i].Number = i + 1
	}
	b, err := evidence.New(evidence.Parts{
		Run: "20260102T030405Z-0123abcd", Model: "old", Subject: subject, Verdict: recordtest.Verdict("smoke/known-answer", gates.Fail("no")), Exchanges: list,
	}, redact)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What is sent is what was recorded, but for the model; what is left out says why.
func TestRun(t *testing.T) {
	t.Parallel()
	redact := func(s string) string { return strings.ReplaceAll(s, "secret", "«key»") }
	x := func(body, content string) evidence.Exchange {
		a := answer(content)
		a.End = endpoint.Whole
		return evidence.Exchange{Body: body, Answer: a}
	}
	list := []evidence.Exchange{
		x(`{"a": {"model":"old"},  "model": "old"}`, "42"), x(`{"model":"third"}`, "42"), x(`{"model": `, "42"), x(`{"b":"old"}`, "my secret"),
		{NoBody: true, Answer: answer("")},
		x(`[`+strings.Repeat(`[`, 100_000), "42"),
	}
	var sent []string
	ep, err := endpoint.Open(t.Context(), target(t), endpoint.Options{Transport: server(func(body string) string {
		content := "42"
		if sent = append(sent, body); strings.Contains(body, `"b"`) {
			content = "my secret"
		}
		return `{"choices":[{"index":0,"message":{"content":"` + content + `"},"finish_reason":"stop"}]}`
	})})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Model: `n"w`, Redact: redact, Alone: true, Send: ep.Exchange}
	results := Run(t.Context(), bundleOf(t, redact, list...), o)
	want := []string{`{"a": {"model":"old"},  "model": "n\"w"}`, `{"model":"third"}`, `{"model": `, `{"b":"old"}`, list[5].Body}
	if !slices.Equal(sent, want) {
		t.Errorf("sent %.300q, want %.300q", sent, want)
	}
	if tally := TallyOf(results); tally != (Tally{AsRecorded: 5, NotSent: 1}) || tally.Of() != 6 || results[4].Why != "the request was too large to be kept" {
		t.Errorf("%+v, %q", tally, results[4].Why)
	}
	sent = nil
	o.Only = []int{2, 4}
	if got := Run(t.Context(), bundleOf(t, redact, list...), o); len(got) != 2 || len(sent) != 2 || got[1].Recorded.Number != 4 {
		t.Errorf("%d results, sent %q", len(got), sent)
	}
}

// A logprob that JSON has no number for is written as none, and is as recorded when it comes
// again.
func TestNoNumberIsAsRecorded(t *testing.T) {
	t.Parallel()
	redact := func(s string) string { return s }
	one := `{"token":"hello","logprob":-1e999,"top_logprobs":[{"token":"hello","logprob":-1e999},{"token":"b","logprob":-9}]}`
	ep, err := endpoint.Open(t.Context(), target(t), endpoint.Options{Transport: server(func(string) string {
		return `{"choices":[{"index":0,"message":{"content":"hello"},"finish_reason":"stop","logprobs":{"content":[` + one + `]}}]}`
	})})
	if err != nil {
		t.Fatal(err)
	}
	sent := ep.Exchange(t.Context(), endpoint.PrepareBody([]byte(`{"model":"old"}`), false, 0))
	if !math.IsInf(sent.Answer.Logprobs[0].Logprob, -1) {
		t.Fatalf("the client reads %v", sent.Answer.Logprobs)
	}
	var file bytes.Buffer
	if err := bundleOf(t, redact, evidence.Of(sent, redact)).Write(&file); err != nil {
		t.Fatal(err)
	}
	b, err := evidence.Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Run(t.Context(), b, Options{Model: "n", Redact: redact, Send: ep.Exchange}) {
		if r.Outcome != AsRecorded {
			t.Errorf("%s: %+v", r.Outcome, r.Difference)
		}
	}
	if !math.IsInf(sent.Answer.Logprobs[0].Top[0].Logprob, -1) {
		t.Error("what the asker has was changed")
	}
}

func target(t *testing.T) endpoint.Target {
	t.Helper()
	out, err := endpoint.ParseTarget("http://127.0.0.1:1", endpoint.TargetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// server answers each request for an answer with what the function returns for its body.
type server func(body string) string

func (s server) RoundTrip(r *http.Request) (*http.Response, error) {
	said := `{"data":[{"id":"n"}]}`
	if strings.HasSuffix(r.URL.Path, "/completions") {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		said = s(string(b))
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(said))}, nil
}

// An error page is another error than one in JSON; the words in it are not compared.
func TestTheFormOfAnError(t *testing.T) {
	t.Parallel()
	refused := func(raw string) evidence.Exchange {
		return evidence.Exchange{Raw: raw, Answer: failure(endpoint.Refused, 400, "")}
	}
	for _, c := range []struct{ was, now, want string }{
		{`{"error":"a"}`, ` {"error":"b"}`, ""},
		{"<html>", "<!doctype html>", ""},
		{"a", "b", ""},
		{"", " ", ""},
		{"<html>", `{"error":"b"}`, "HTML JSON"},
		{"a", "", "text no body"},
	} {
		got := ""
		if d := compare(refused(c.was), refused(c.now)); d != nil {
			got = d.Recorded + " " + d.Now
		}
		if got != c.want {
			t.Errorf("%q and %q: got %q, want %q", c.was, c.now, got, c.want)
		}
	}
}

// What the client had broken off is broken off after as long; an interrupt ends all, and
// is no finding.
func TestBrokenOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dropped := failure(endpoint.Stopped, 0, "")
		dropped.Timing.Ended = 3 * time.Second
		ctx, interrupt := context.WithCancelCause(t.Context())
		defer interrupt(nil)
		start := time.Now()
		time.AfterFunc(10*time.Second, func() { interrupt(gates.ErrStopped) })
		var took []time.Duration
		results := Run(ctx, bundleOf(t, func(s string) string { return s },
			evidence.Exchange{Body: "{}", Answer: dropped}, evidence.Exchange{Began: 4 * time.Second, Body: "{}", Answer: answer("x")}, evidence.Exchange{Began: 9 * time.Second, Body: "{}", Answer: answer("x")}),
			Options{Redact: func(s string) string { return s }, Send: func(ctx context.Context, _ endpoint.Prepared) endpoint.Exchange {
				a := failure(endpoint.Stopped, 0, "")
				a.Timing.Began = time.Now()
				<-ctx.Done()
				took = append(took, time.Since(start))
				return endpoint.Exchange{Answer: a}
			}})
		got := ""
		for _, r := range results {
			got += string(r.Outcome) + " " + r.Why + "; "
		}
		if want := "as_recorded ; not_sent interrupted before it was answered; not_sent interrupted before it was sent; "; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if !slices.Equal(took, []time.Duration{3 * time.Second, 10 * time.Second}) || !errors.Is(context.Cause(ctx), gates.ErrStopped) {
			t.Errorf("broken off after %v", took)
		}
	})
}
