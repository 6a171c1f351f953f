package evidence

import (
	"bytes"
	"compress/gzip"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"infbench/gates"
	"infbench/record/recordtest"
	"infbench/stages/endpoint"
)

const aRun = "20260102T030405Z-0123abcd"

func plainly(s string) string { return s }

// parts returns the parts of a bundle about a failed check with these exchanges.
func parts(t testing.TB, exchanges ...Exchange) Parts {
	t.Helper()
	subject, err := gates.NewSubject(gates.SubjectParts{Endpoint: "http://loopback:8000", Model: "tiny"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range exchanges {
		exchanges[i].Number = i + 1
	}
	return Parts{
		Run: aRun, Command: "stage2", Harness: "infbench test", Written: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Model: "tiny", Subject: subject,
		Verdict: recordtest.Verdict("smoke/known-answer", gates.Fail("answered %q", "!!!!").With("asked for 42")), Exchanges: exchanges,
	}
}

func bundle(t testing.TB, exchanges ...Exchange) Bundle {
	t.Helper()
	b, err := New(parts(t, exchanges...), plainly)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func packed(t testing.TB, b Bundle) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := b.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func unpacked(t testing.TB, b []byte) string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

var equally = cmp.Options{cmpopts.EquateNaNs(), cmpopts.EquateEmpty(), cmp.AllowUnexported(gates.Count{}, gates.Span{}), cmpopts.IgnoreUnexported(endpoint.Answer{})}

// bytesOf draws a text that a server may have sent: JSON, escapes, no UTF-8, nothing.
func bytesOf(t *rapid.T, label string) string {
	return rapid.OneOf(
		rapid.String(),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 20), func(b []byte) string { return string(b) }),
		rapid.SampledFrom([]string{"", `{"a":"b\n"}`, "\x1b[2J", "<script>&amp;\u2028", "\xff\xfe", `"`, `\`}),
	).Draw(t, label)
}

func anExchange(t *rapid.T) Exchange {
	times := rapid.Int64Range(0, int64(longest)/4)
	moment := func(label string) time.Duration { return time.Duration(times.Draw(t, label)) }
	counted := func(label string) gates.Count {
		if n := rapid.IntRange(-1, 5).Draw(t, label); n >= 0 {
			return gates.CountOf(n)
		}
		return gates.Count{}
	}
	alternative := func(label string) endpoint.Alternative {
		return endpoint.Alternative{Token: bytesOf(t, label), Logprob: rapid.SampledFrom([]float64{0, -0.25, -1e-300, math.NaN()}).Draw(t, label+" logprob")}
	}
	x := Exchange{
		Stream: rapid.Bool().Draw(t, "stream"), HangUp: rapid.IntRange(0, 3).Draw(t, "hang up"), Again: rapid.Bool().Draw(t, "again"),
		Body: bytesOf(t, "body"), NoBody: rapid.Bool().Draw(t, "no body"), Cut: rapid.Bool().Draw(t, "cut"), Raw: bytesOf(t, "raw"),
		Answer: endpoint.Answer{
			Content: bytesOf(t, "content"), Reasoning: bytesOf(t, "reasoning"), Refusal: bytesOf(t, "refusal"), Finish: bytesOf(t, "finish"),
			ID: bytesOf(t, "id"), Model: bytesOf(t, "model"), ReasoningField: bytesOf(t, "field"), Status: rapid.IntRange(0, 599).Draw(t, "status"),
			End: endpoint.Done, Comments: rapid.IntRange(0, 3).Draw(t, "comments"),
			Usage: endpoint.Usage{Prompt: counted("prompt"), Completion: counted("completion"), Total: counted("total"), Cached: counted("cached"), Reasoning: counted("reasoning tokens")},
			Timing: endpoint.Timing{
				Headers: moment("headers"), FirstEvent: moment("event"), FirstToken: moment("token"), LastToken: moment("last"), Ended: moment("ended"),
				Fresh: rapid.Bool().Draw(t, "fresh"), Reads: 3, Bytes: 99,
				Engine: endpoint.EngineTiming{OutputTokens: counted("output"), Decode: moment("decode"), Queue: gates.SpanOf(moment("queue")), Drafted: counted("drafted")},
			},
		},
	}
	a := &x.Answer
	for range rapid.IntRange(0, 2).Draw(t, "calls") {
		a.Calls = append(a.Calls, endpoint.ToolCall{ID: bytesOf(t, "call"), Name: bytesOf(t, "name"), Arguments: bytesOf(t, "arguments")})
	}
	for range rapid.IntRange(0, 2).Draw(t, "logprobs") {
		a.Logprobs = append(a.Logprobs, endpoint.TokenLogprob{Alternative: alternative("token"), Top: []endpoint.Alternative{alternative("top")}})
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "marks") {
		a.Timing.Marks = append(a.Timing.Marks, endpoint.Mark{At: moment("mark"), Read: int32(i), Tokens: int32(i)})
	}
	if rapid.Bool().Draw(t, "broke") {
		a.Broke = []endpoint.Breach{{Hard: true, What: bytesOf(t, "breach")}}
	}
	if rapid.Bool().Draw(t, "failed") {
		a.Failure = &endpoint.Failure{Kind: endpoint.Busy, Status: 503, Said: bytesOf(t, "said"), What: bytesOf(t, "what"), Hint: "h", RetryAfter: moment("retry")}
	}
	return x
}

// What is written is read again, down to bytes that are no UTF-8 and logprobs that are no
// numbers.
func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var list []Exchange
		began := time.Duration(0)
		for range rapid.IntRange(1, 4).Draw(rt, "exchanges") {
			x := anExchange(rt)
			x.Began = began
			began += time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(rt, "gap"))
			list = append(list, x)
		}
		p := parts(t, list...)
		p.Dropped, p.Model = rapid.IntRange(0, 9).Draw(rt, "dropped"), bytesOf(rt, "served")
		b, err := New(p, plainly)
		if err != nil {
			rt.Fatal(err)
		}
		got, err := Read(bytes.NewReader(packed(t, b)))
		if err != nil {
			rt.Fatal(err)
		}
		if d := cmp.Diff(b.Exchanges(), got.Exchanges(), equally); d != "" {
			rt.Fatalf("-written +read\n%s", d)
		}
		if got.Model() != p.Model || got.Dropped() != p.Dropped || got.Run() != p.Run || got.Subject() != p.Subject || !got.Written().Equal(p.Written) ||
			got.Verdict().Summary() != p.Verdict.Summary() || got.Harness() != p.Harness || got.Command() != p.Command {
			rt.Fatalf("read %+v", got)
		}
	})
}

// Bundles that an honest writer does not make are refused in one line.
func TestBrokenBundles(t *testing.T) {
	t.Parallel()
	good := unpacked(t, packed(t, bundle(t, Exchange{Body: `{"model":"tiny"}`, Answer: endpoint.Answer{Content: "42"}}, Exchange{Began: time.Second})))
	if _, err := Parse([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ old, to, want string }{
		"another schema":      {"evidence/v1", "evidence/v9", `its schema is "infbench.evidence/v9", and this infbench reads infbench.evidence/v1`},
		"no schema":           {`"schema"`, `"scheme"`, "it names no schema"},
		"no JSON":             {`{"schema"`, `["schema"`, "not a bundle of evidence"},
		"a run with a path":   {aRun, "../../../etc/passwd", "is no run's id"},
		"a verdict left out":  {`"verdicts":[{`, `"verdicts":[],"x":[{`, "the verdict of smoke/known-answer is missing"},
		"a number twice":      {`"number":2`, `"number":1`, "exchange 2 has the number 1"},
		"time runs backwards": {`"began_ns":1000000000`, `"began_ns":-1`, "a time of -1ns"},
		"a time without end":  {`"began_ns":1000000000`, `"began_ns":9000000000000000000`, "a time of"},
		"a list that is none": {`"exchanges":[`, `"exchanges":{"a":[`, ""},
		"cut":                 {"]}\n", "", "not a bundle of evidence"},
		"no exchange":         {`"exchanges":[`, `"exchanges":[],"x":[`, "0 exchanges: want 1 to 2000"},
		"negative":            {`"exchanges":[`, `"dropped":-4,"exchanges":[`, "-4 exchanges were dropped"},
	} {
		doc := strings.Replace(good, c.old, c.to, 1)
		_, err := Parse([]byte(doc))
		if doc == good || err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	file := packed(t, bundle(t, Exchange{Body: strings.Repeat("x", 1000)}))
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"torn":         {file[:len(file)-9], "torn: the file ends inside it"},
		"nothing":      {nil, "not a compressed file"},
		"plain JSON":   {[]byte(good), "not a compressed file"},
		"a bit turned": {append(bytes.Clone(file[:len(file)-8]), 0, 0, 0, 0, 0, 0, 0, 0), "damaged"},
	} {
		if _, err := Read(bytes.NewReader(c.b)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// A small file that would take all the memory is given up before it does: one that
// unpacks to more than a bundle, and ones whose lists have more entries than any.
func TestBombs(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	z, err := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<20)
	for range maxDocument>>20 + 1 {
		_, _ = z.Write(zeros)
	}
	_ = z.Close()
	if _, err := Read(&bomb); err == nil || !strings.Contains(err.Error(), "larger than any bundle") {
		t.Errorf("got %v", err)
	}
	good := unpacked(t, packed(t, bundle(t, Exchange{Answer: endpoint.Answer{Content: "42"}})))
	entries := strings.TrimSuffix(strings.Repeat("{},", 100_000), ",")
	for name, doc := range map[string]string{
		"exchanges": strings.Replace(good, `"exchanges":[`, `"exchanges":[`+entries+",", 1),
		"marks":     strings.Replace(good, `"times":{`, `"times":{"marks":[`+entries+`],`, 1),
		"calls":     strings.Replace(good, `"answer":{`, `"answer":{"calls":[`+entries+`],`, 1),
		"logprobs":  strings.Replace(good, `"answer":{`, `"answer":{"logprobs":[`+entries+`],`, 1),
		"top":       strings.Replace(good, `"answer":{`, `"answer":{"logprobs":[{"top":[`+entries+`]}],`, 1),
		"verdicts":  strings.Replace(good, `"ledger":{`, `"ledger":{"required":[`+entries+`],`, 1),
	} {
		if _, err := Parse([]byte(doc)); err == nil || !strings.Contains(err.Error(), "more than") && !strings.Contains(err.Error(), "larger than any") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Exchanges that take more room written than a file has are left out of the middle.
func TestTheMiddleIsLeftOutOfAFile(t *testing.T) {
	t.Parallel()
	var list []Exchange
	for i := range 10 {
		list = append(list, Exchange{Began: time.Duration(i), Answer: endpoint.Answer{Content: strings.Repeat("x", 1000)}})
	}
	n, err := encoded(list[0])
	if err != nil {
		t.Fatal(err)
	}
	each := max(len(n), list[0].size()) + 2 + 30 // the numbers and times take a few more
	kept, out, err := fitting(list, 7*each)
	if err != nil || kept != 6 || len(out) != 6 { // three in each half
		t.Fatalf("%d kept of 10, %v", kept, err)
	}
	for i, began := range []string{`"began_ns":0,`, `"began_ns":1,`, `"began_ns":2,`, `"began_ns":7,`, `"began_ns":8,`, `"began_ns":9,`} {
		if !strings.Contains(string(out[i]), began) {
			t.Errorf("exchange %d is not that with %s", i+1, began)
		}
	}
	if kept, _, err := fitting(list, 100*each); kept != 10 || err != nil {
		t.Errorf("with room for all %d are kept, %v", kept, err)
	}
}

func TestABundleNeedsAnExchange(t *testing.T) {
	t.Parallel()
	if _, err := New(parts(t), plainly); err != ErrNothing { //nolint:errorlint // it is returned as it is
		t.Errorf("got %v", err)
	}
	if err := (Bundle{}).Write(io.Discard); err == nil {
		t.Error("the zero Bundle is written")
	}
	if name := bundle(t, Exchange{}).FileName(); name != "smoke.known-answer-"+aRun+".json.gz" || ours.FindString(name) != name {
		t.Errorf("the file is called %s", name)
	}
}
