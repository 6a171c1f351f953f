package faultproxy_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"infbench/internal/faultproxy"
)

// wrongSentence is the sentence with the middle digit slipped.
var wrongSentence = strings.Replace(sentence, "48213907", "48218907", 1)

// A gate lets no generation request on before it is opened.
type gate struct {
	arrived chan struct{}
	opened  chan struct{}
	up      http.Handler
}

func newGate(up http.Handler) *gate {
	return &gate{make(chan struct{}), make(chan struct{}), up}
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/completions") {
		select {
		case <-g.opened:
		default:
			g.arrived <- struct{}{}
			<-g.opened
		}
	}
	g.up.ServeHTTP(w, r)
}

// burst sends requests one after the other, so that all are in flight before any is
// answered. The answers are in the order of arrival.
func burst(t *testing.T, up http.Handler, spec string, bodies ...string) []answer {
	t.Helper()
	g := newGate(up)
	return g.burst(t, serve(t, proxy(t, g, spec)), bodies...)
}

func (g *gate) burst(t *testing.T, url string, bodies ...string) []answer {
	t.Helper()
	out := make([]answer, len(bodies))
	var wg sync.WaitGroup
	for i, body := range bodies {
		wg.Go(func() { out[i] = fetch(t, url, "/v1/chat/completions", body) })
		<-g.arrived
	}
	close(g.opened)
	wg.Wait()
	return out
}

// A crowd is what a burst must make of the fake's answers: one letter per request, x
// with the fault, . byte for byte as without.
type crowd struct {
	spec    string
	prompts []string
	want    string
	more    string
}

func (c crowd) run(t *testing.T, show symptom) {
	t.Helper()
	for _, stream := range []bool{true, false} {
		var bodies []string
		for _, p := range c.prompts {
			bodies = append(bodies, chatBody(p, stream, c.more))
		}
		control := serve(t, fake{})
		for i, got := range burst(t, fake{}, c.spec, bodies...) {
			good := fetch(t, control, "/v1/chat/completions", bodies[i])
			switch {
			case c.want[i] == '.':
				if got.raw != good.raw {
					t.Errorf("%s: request %d of %d, stream %t, was changed\ngot %s\nwant %s", c.spec, i+1, len(bodies), stream, got.raw, good.raw)
				}
			case show(got, good) != "":
				t.Errorf("%s: request %d of %d, stream %t: %s\n%s", c.spec, i+1, len(bodies), stream, show(got, good), got.raw)
			}
		}
	}
}

// Before a server that is reached by HTTP all is as before a handler.
func TestCompanyBeforeURL(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"first-user-only": ".x", "batch-size-wrong:sizes=2": "xx", "duplicated-stream": "xx", "preempt-offset:slots=2,at=30,tokens=1": ".x",
		"drift-in-company:words=3,share=100": "xx", "response-cache": "..", "quiet-kv": "..",
	} {
		for _, stream := range []bool{true, false} {
			const more = `,"max_tokens":100`
			g := newGate(fake{})
			url := serve(t, forURL(t, serve(t, g), spec))
			bodies := []string{chatBody(question, stream, more), chatBody(questions[1], stream, more)}
			for i, got := range g.burst(t, url, bodies...) {
				if s := healthy(got); s != "" || (got.text == sentence) != (want[i] == '.') {
					t.Errorf("%s: request %d, stream %t: %s %s", spec, i+1, stream, s, got.text)
				}
			}
			if again := fetch(t, url, "/v1/chat/completions", bodies[0]); again.text != sentence || healthy(again) != "" {
				t.Errorf("%s: alone: %s", spec, again.raw)
			}
		}
	}
}

// An answer that has begun behind an URL is put aside for another one.
func TestReplacedBeforeURL(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{true, false} {
		g := newGate(fake{})
		url := serve(t, forURL(t, serve(t, g), "guided-kills"))
		first := make(chan answer)
		go func() { first <- chat(t, url, question, stream, aSchema) }()
		<-g.arrived
		second := chat(t, url, question, stream, aSchema)
		close(g.opened)
		if a := <-first; refused(500)(a, a) != "" || refused(500)(second, second) != "" {
			t.Errorf("stream %t: %s, %s", stream, a.raw, second.raw)
		}
	}
}

func slipped(got, good answer) string {
	return all(healthy(got), usageSame(got, good), want(got.text == wrongSentence, got.text))
}

var questions = []string{question, question + " Say it.", question + " Say it once.", question + " Say it once more.", question + " Please."}

func TestFirstUserOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []crowd{
		{spec: "first-user-only", prompts: questions[:1], want: "."},
		{spec: "first-user-only", prompts: questions[:4], want: ".xxx"},
	} {
		c.run(t, slipped)
	}
}

func TestLateArrivalsDecay(t *testing.T) {
	t.Parallel()
	decayed := func(got, good answer) string {
		a, b := []rune(got.text), []rune(good.text)
		return all(healthy(got), usageSame(got, good), want(len(a) == len(b) && slices.Equal(a[:20], b[:20]), got.text),
			want(!strings.Contains(got.text, "3907") && !strings.Contains(got.text, "house"), got.text))
	}
	same := []string{question, question, question, question}
	for _, c := range []crowd{
		{spec: "late-arrivals-decay", prompts: questions[:2], want: ".."},
		{spec: "late-arrivals-decay", prompts: questions[:5], want: "..xxx"},
		{spec: "late-arrivals-decay:from=5", prompts: questions[:5], want: "....x"},
		{spec: "late-arrivals-decay", prompts: same, want: "...."},
		{spec: "late-arrivals-decay", prompts: append(same, questions[4]), want: "..xxx"},
	} {
		c.run(t, decayed)
	}
}

func TestContextDivided(t *testing.T) {
	t.Parallel()
	long := question + strings.Repeat(" And so on.", 10)
	cut := func(got, good answer) string {
		return all(healthy(got), want(strings.Contains(got.text, "000000"), got.text),
			want(got.usage.Get("prompt_tokens").Int() == 100, "usage"), want(good.usage.Get("prompt_tokens").Int() > 100, "control"))
	}
	for _, c := range []crowd{
		{spec: "context-divided:characters=99", prompts: []string{long}, want: "."},
		{spec: "context-divided:characters=200", prompts: []string{question, question}, want: ".."},
		{spec: "context-divided:characters=400", prompts: []string{question, long}, want: ".."},
		// A message ends in a line break, which the fake counts.
		{spec: "context-divided:characters=198", prompts: []string{long, long}, want: ".x"},
	} {
		c.run(t, cut)
	}
}

func TestMixedLengthsWrong(t *testing.T) {
	t.Parallel()
	long := question + strings.Repeat(" And so on.", 50)
	for _, c := range []crowd{
		{spec: "mixed-lengths-wrong", prompts: []string{question, question + " Say it."}, want: ".."},
		{spec: "mixed-lengths-wrong", prompts: []string{long, long}, want: ".."},
		{spec: "mixed-lengths-wrong", prompts: []string{question, long}, want: "x."},
		{spec: "mixed-lengths-wrong", prompts: []string{long, question}, want: ".x"},
		{spec: "mixed-lengths-wrong:times=50", prompts: []string{long, question}, want: ".."},
	} {
		c.run(t, slipped)
	}
}

func TestBatchSizeWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []crowd{
		{spec: "batch-size-wrong", prompts: questions[:1], want: "."},
		{spec: "batch-size-wrong", prompts: questions[:3], want: "..."},
		{spec: "batch-size-wrong", prompts: questions[:4], want: "xxxx"},
		{spec: "batch-size-wrong", prompts: questions[:5], want: "....."},
		{spec: "batch-size-wrong:sizes=2+5", prompts: questions[:5], want: "xxxxx"},
		{spec: "batch-size-wrong:sizes=2+5", prompts: questions[:2], want: "xx"},
		{spec: "batch-size-wrong:sizes=2+5", prompts: questions[:4], want: "...."},
	} {
		c.run(t, slipped)
	}
}

func TestPreemptOffset(t *testing.T) {
	t.Parallel()
	gap := func(got, good answer) string {
		r := []rune(good.text)
		return all(healthy(got), usageSame(got, good), want(got.text == string(r[:30])+string(r[50:]), got.text))
	}
	const spec, long = "preempt-offset:at=30", `,"max_tokens":200`
	for _, c := range []crowd{
		{spec: spec, prompts: questions[:2], want: "..", more: long},
		{spec: spec, prompts: questions[:4], want: "..xx", more: long},
		{spec: spec, prompts: questions[:4], want: "..xx", more: `,"max_completion_tokens":500`},
		{spec: spec, prompts: questions[:4], want: "....", more: `,"max_tokens":199`},
		{spec: spec, prompts: questions[:4], want: "...."},
		{spec: spec + ",slots=2", prompts: questions[:2], want: ".x", more: long},
		{spec: "preempt-offset", prompts: questions[:4], want: "....", more: long}, // the text is shorter
	} {
		c.run(t, gap)
	}
}

func TestHandedOverWronglyInCompany(t *testing.T) {
	t.Parallel()
	twice := func(got, good answer) string {
		return all(healthy(got), usageSame(got, good), want(got.text == sentence+sentence, got.text))
	}
	crowd{spec: "duplicated-stream", prompts: questions[:1], want: "."}.run(t, twice)
	crowd{spec: "duplicated-stream", prompts: questions[:3], want: "xxx"}.run(t, twice)
	crowd{spec: "reordered-stream", prompts: questions[:1], want: "."}.run(t, twice)
	bodies := []string{chatBody(question, true, ""), chatBody(question, true, "")}
	for _, got := range burst(t, fake{}, "reordered-stream", bodies...) {
		if s := all(healthy(got), want(got.text == strings.Replace(sentence, "漢字 in the ", " in the 漢字", 1), got.text)); s != "" {
			t.Error(s)
		}
	}
	crowd{spec: "reordered-stream:stream=1", prompts: []string{"", ""}, want: "..", more: `,"stream":false`}.run(t, twice)
}

// What is short itself makes nobody wait.
func TestPreemptOffsetCountsLongAnswers(t *testing.T) {
	t.Parallel()
	good := chat(t, serve(t, fake{}), question, true, `,"max_tokens":300`).text
	var bodies []string
	for _, limit := range []int{300, 50, 50, 300, 50, 300} {
		bodies = append(bodies, chatBody(question, true, fmt.Sprintf(`,"max_tokens":%d`, limit)))
	}
	for i, got := range burst(t, fake{}, "preempt-offset:at=30", bodies...) {
		if (got.text == good) != (i < 5) || healthy(got) != "" {
			t.Errorf("request %d got %s", i+1, got.text)
		}
	}
}

// A stream without any other text than what ends it, and one with calls behind the text.
func TestDuplicatedStreamInOneEvent(t *testing.T) {
	t.Parallel()
	up := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"ab"},"finish_reason":null}],"usage":{"completion_tokens":1}}`+"\n\n"+
			`data: {"choices":[{"index":0,"delta":{"content":"cd"},"logprobs":{"content":[`+score("cd")+`]},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	})
	got := chat(t, serve(t, proxy(t, up, "duplicated-stream:above=0")), question, true, "")
	if got.text != "abcdabcd" || len(got.finish) != 1 || got.data[len(got.data)-1].Get("choices.0.finish_reason").Str != "stop" ||
		strings.Count(got.raw, "role") != 1 || strings.Count(got.raw, "usage") != 1 || strings.Join(got.tokens, "") != "cdcd" {
		t.Errorf("got %s", got.raw)
	}
}

func TestScoresOff(t *testing.T) {
	t.Parallel()
	lower := func(got, good answer) string {
		out := all(same(got, good), usageSame(got, good), want(slices.Equal(got.tokens, good.tokens) && len(good.tokens) > 0, "tokens"))
		for _, l := range got.logprobs {
			out = all(out, want(l == -0.55, "logprob"))
		}
		return all(out, want(strings.Count(got.raw, "-1.8") == strings.Count(good.raw, "-1.5"), "alternatives"))
	}
	const scores = `,"logprobs":true,"top_logprobs":2`
	crowd{spec: "scores-off", prompts: questions[:1], want: ".", more: scores}.run(t, lower)
	crowd{spec: "scores-off", prompts: questions[:2], want: "xx", more: scores}.run(t, lower)
	crowd{spec: "scores-off", prompts: questions[:2], want: ".."}.run(t, lower)
}

// A client that has the end of an answer may send its next request at once, however
// long the server takes to put the first away: the two are not in company.
func TestWhoHasTheEndIsNotInFlight(t *testing.T) {
	t.Parallel()
	for _, specs := range [][]string{{"first-user-only"}, {"tool-no-id", "first-user-only"}} { // untouched, and read through
		for _, stream := range []bool{true, false} {
			if !stream && len(specs) > 1 {
				continue // a body that is read through leaves when the server has put it away
			}
			away := make(chan struct{})
			done := make(chan struct{}, 8)
			lingers := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				rec := &whole{header: http.Header{}}
				fake{}.ServeHTTP(rec, r)
				w.Header().Set("Content-Type", rec.header.Get("Content-Type"))
				if !stream {
					w.Header().Set("Content-Length", "999999")
					rec.body += strings.Repeat(" ", 999999-len(rec.body)) // too much to wait in a buffer
				}
				_, _ = io.WriteString(w, rec.body)
				_ = http.NewResponseController(w).Flush()
				done <- struct{}{}
				<-away
			})
			p, err := faultproxy.ForHandler(lingers, specs, 7)
			if err != nil {
				t.Fatal(err)
			}
			url := serve(t, p)
			ctx, leave := context.WithCancel(t.Context())
			for range 3 {
				res, err := post(ctx, t, url, "/v1/chat/completions", chatBody(question, stream, ""))
				if err != nil {
					t.Fatal(err)
				}
				<-done
				line, err := bufio.NewReader(res.Body).ReadString(map[bool]byte{true: 'D', false: '}'}[stream])
				if err != nil || strings.Contains(line, "48218907") {
					t.Errorf("%s: %v %s", specs, err, line)
				}
				defer res.Body.Close()
			}
			close(away)
			leave()
		}
	}
}

// whole collects an answer.
type whole struct {
	header http.Header
	status int
	body   string
}

func (w *whole) Header() http.Header         { return w.header }
func (w *whole) WriteHeader(status int)      { w.status = status }
func (w *whole) Write(b []byte) (int, error) { w.body += string(b); return len(b), nil }
