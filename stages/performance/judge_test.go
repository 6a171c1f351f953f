package performance

import (
	"strings"
	"testing"
	"time"

	"infbench/gates"
	"infbench/record"
	"infbench/stages/endpoint"
)

// sane is an answer of 20 tokens, one in each chunk.
func sane() endpoint.Answer {
	a := endpoint.Answer{Content: strings.Repeat("the harbour is quiet now ", 4), Finish: "length", End: endpoint.Done, Status: 200, Model: "truth"}
	a.Usage.Completion = gates.CountOf(20)
	for k := range 20 {
		a.Timing.Marks = append(a.Timing.Marks, endpoint.Mark{At: time.Duration(k+1) * time.Millisecond, Tokens: 1})
	}
	return a
}

func failed(kind endpoint.Kind, status int) func(a *endpoint.Answer) {
	return func(a *endpoint.Answer) {
		a.Failure, a.Status = &endpoint.Failure{Kind: kind, Status: status, What: "it"}, status
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	codes := gates.NewCanaries(1)
	mine, other := codes.Issue(), codes.Issue()
	for name, c := range map[string]struct {
		change func(a *endpoint.Answer)
		lax    record.Outcome // as one answer of a level
		exact  record.Outcome // as one of a load in which each must be as asked for
	}{
		"sane":                        {func(*endpoint.Answer) {}, record.OK, record.OK},
		"its own code":                {func(a *endpoint.Answer) { a.Content += mine.String() }, record.OK, record.OK},
		"thinking alone":              {func(a *endpoint.Answer) { a.Content, a.Reasoning = "", a.Content }, record.OK, record.OK},
		"nobody counted":              {func(a *endpoint.Answer) { a.Usage = endpoint.Usage{} }, record.OK, record.OK},
		"nobody counted, few chunks":  {func(a *endpoint.Answer) { a.Usage = endpoint.Usage{}; a.Timing.Marks = a.Timing.Marks[:5] }, record.OK, record.OK},
		"two tokens a chunk":          {func(a *endpoint.Answer) { a.Timing.Marks = twoEach(a.Timing.Marks[:10]) }, record.OK, record.OK},
		"tokens of a chunk not known": {func(a *endpoint.Answer) { a.Timing.Marks = a.Timing.Marks[:7]; a.Timing.Marks[3].Tokens = 0 }, record.OK, record.OK},
		"one token more":              {func(a *endpoint.Answer) { a.Usage.Completion = gates.CountOf(21) }, record.OK, record.OK},
		"a dated model":               {func(a *endpoint.Answer) { a.Model = "truth-2026-01-01" }, record.OK, record.OK},
		"a model without its folder":  {func(a *endpoint.Answer) { a.Model = "models/truth" }, record.OK, record.OK},
		"a soft breach":               {func(a *endpoint.Answer) { a.Broke = []endpoint.Breach{{What: "x"}} }, record.OK, record.OK},
		"no [DONE]":                   {func(a *endpoint.Answer) { a.End = endpoint.Closed }, record.OK, record.Cut},
		"another model":               {func(a *endpoint.Answer) { a.Model = "other" }, record.OK, record.Wrong},
		"stopped early": {func(a *endpoint.Answer) {
			a.Finish = "stop"
			a.Usage.Completion = gates.CountOf(5)
			a.Timing.Marks = a.Timing.Marks[:5]
		}, record.OK, record.Wrong},
		"stopped, and all counted":     {func(a *endpoint.Answer) { a.Finish = "stop" }, record.OK, record.Wrong},
		"cut for length early":         {func(a *endpoint.Answer) { a.Usage.Completion = gates.CountOf(5); a.Timing.Marks = a.Timing.Marks[:5] }, record.OK, record.Wrong},
		"a hard breach":                {func(a *endpoint.Answer) { a.Broke = []endpoint.Breach{{Hard: true, What: "x"}} }, record.Cut, record.Cut},
		"no text":                      {func(a *endpoint.Answer) { a.Content = "" }, record.Empty, record.Empty},
		"another request's code":       {func(a *endpoint.Answer) { a.Content += " " + other.String() }, record.Wrong, record.Wrong},
		"twice the usage":              {func(a *endpoint.Answer) { a.Usage.Completion = gates.CountOf(40) }, record.Wrong, record.Wrong},
		"no usage":                     {func(a *endpoint.Answer) { a.Usage.Completion = gates.CountOf(0) }, record.Wrong, record.Wrong},
		"usage unlike its own account": {func(a *endpoint.Answer) { a.Timing.Marks = a.Timing.Marks[:3] }, record.Wrong, record.Wrong},
		"one character":                {func(a *endpoint.Answer) { a.Content = strings.Repeat("!", 20) }, record.Degenerate, record.Degenerate},
		"one word":                     {func(a *endpoint.Answer) { a.Content = strings.Repeat(" the", 16) }, record.OK, record.Degenerate},
		"one word, less often":         {func(a *endpoint.Answer) { a.Content = strings.Repeat(" the", 15) }, record.OK, record.OK},
		"broken characters":            {func(a *endpoint.Answer) { a.Content = strings.Repeat("ж̷a漢ب", 40) }, record.Degenerate, record.Degenerate},
		"429":                          {failed(endpoint.Busy, 429), record.Rejected, record.Rejected},
		"503":                          {failed(endpoint.Busy, 503), record.Rejected, record.Rejected},
		"500":                          {failed(endpoint.ServerFault, 500), record.HTTPError, record.HTTPError},
		"a web page":                   {failed(endpoint.NotTheAPI, 200), record.HTTPError, record.HTTPError},
		"nobody there":                 {failed(endpoint.Unreachable, 0), record.Unreached, record.Unreached},
		"reset before an answer":       {failed(endpoint.BrokenOff, 0), record.Unreached, record.Unreached},
		"reset in the answer":          {failed(endpoint.BrokenOff, 200), record.Cut, record.Cut},
		"silence":                      {failed(endpoint.TooSlow, 200), record.TimedOut, record.TimedOut},
		"an error in the stream":       {failed(endpoint.SaidError, 200), record.ServerSaid, record.ServerSaid},
		"stopped by the person":        {failed(endpoint.Stopped, 0), record.Cancelled, record.Cancelled},
	} {
		a := sane()
		c.change(&a)
		asked := Asked{OutputTokens: 20, Forced: true, Canary: mine, Canaries: codes}
		if got, why := Judge(asked, a); got != c.lax || (why == "") != (got == record.OK) {
			t.Errorf("%s: %s (%s), want %s", name, got, why, c.lax)
		}
		asked.Exact, asked.Model = true, "truth"
		if got, why := Judge(asked, a); got != c.exact || (why == "") != (got == record.OK) {
			t.Errorf("%s, exactly: %s (%s), want %s", name, got, why, c.exact)
		}
	}
}

func twoEach(marks []endpoint.Mark) []endpoint.Mark {
	for i := range marks {
		marks[i].Tokens = 2
	}
	return marks
}
