package faultproxy_test

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"infbench/internal/batching"
	"infbench/internal/refengine"
)

// story asks for text that the prompt does not hold, long enough to wander.
func story(topic string, stream bool, more string) string {
	return chatBody("Write a long story about "+topic+".", stream, `,"max_tokens":150`+more)
}

const withScores = `,"logprobs":true,"top_logprobs":5`

// A token is one with its log probability and its rivals.
type token struct {
	text    string
	logprob float64
	top     map[string]float64
	order   []string
}

func tokensOf(a answer) (out []token) {
	docs := a.data
	if len(docs) == 0 {
		docs = []gjson.Result{gjson.Parse(a.raw)}
	}
	for _, d := range docs {
		for _, e := range d.Get("choices.0.logprobs.content").Array() {
			t := token{e.Get("token").Str, e.Get("logprob").Num, map[string]float64{}, nil}
			spelt := ""
			for _, b := range e.Get("bytes").Array() {
				spelt += string([]byte{byte(b.Int())})
			}
			if spelt != t.text {
				t.text = "bytes say " + spelt
			}
			for _, alt := range e.Get("top_logprobs").Array() {
				t.top[alt.Get("token").Str] = alt.Get("logprob").Num
				t.order = append(t.order, alt.Get("token").Str)
			}
			out = append(out, t)
		}
	}
	return out
}

// sound is what a checker of log probabilities asks of an answer.
func sound(a answer) string {
	joined, out := "", ""
	list := tokensOf(a)
	for _, t := range list {
		joined += t.text
		sum, last := 0.0, 0.0
		for _, name := range t.order {
			sum += math.Exp(t.top[name])
			out = all(out, want(t.top[name] <= last, "not in order"))
			last = t.top[name]
		}
		out = all(out, want(len(t.order) == 5 && len(t.top) == 5, "not five"), want(t.order[0] == t.text && t.top[t.text] == t.logprob, "the chosen one is not the first"),
			want(sum <= 1.001, "more than 1"))
	}
	return all(out, healthy(a), want(len(list) > 100, "few tokens"), want(joined == a.text, "tokens are not the text: "+joined))
}

// apart returns the first token in which two answers differ.
func apart(a, b []token) (x, y token, at int) {
	for i := range min(len(a), len(b)) {
		if a[i].text != b[i].text {
			return a[i], b[i], i
		}
	}
	return x, y, -1
}

// near: each token is among the other's rivals and hardly worse.
func near(x, y token) bool {
	a, okA := x.top[y.text]
	b, okB := y.top[x.text]
	return okA && okB && x.logprob-a < 0.1 && y.logprob-b < 0.1
}

// far: neither is among the other's rivals, of which the least is 3 nats away.
func far(x, y token) bool {
	_, okA := x.top[y.text]
	_, okB := y.top[x.text]
	least := func(t token) float64 { return t.top[t.order[len(t.order)-1]] }
	return !okA && !okB && x.logprob-least(x) >= 3 && y.logprob-least(y) >= 3
}

// storyEngine is a quick one.
func storyEngine(t *testing.T) http.Handler {
	t.Helper()
	e, err := refengine.New(refengine.Config{Model: "m", Cost: batching.Cost{Base: 50 * time.Microsecond, PerPrefillToken: 1, PerSequence: 1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// Alone the text is the engine's own; in company one word differs, and the scores of
// both say whether it was nearly as likely.
func TestDriftInCompany(t *testing.T) {
	t.Parallel()
	e := storyEngine(t)
	for spec, judge := range map[string]func(x, y token) bool{"drift-in-company:share=100": near, "far-in-company:share=100": far} {
		for _, stream := range []bool{true, false} {
			drifted := 0
			control, solo := serve(t, e), serve(t, proxy(t, e, spec))
			var bodies, plain []string
			for _, topic := range []string{"rivers", "bridges", "the sea"} {
				bodies, plain = append(bodies, story(topic, stream, withScores)), append(plain, story(topic, stream, ""))
			}
			crowd, quick := burst(t, e, spec, bodies...), burst(t, e, spec, plain...)
			for i, body := range bodies {
				good, alone := fetch(t, control, "/v1/chat/completions", body), fetch(t, solo, "/v1/chat/completions", body)
				if s := all(sound(good), sound(alone), sound(crowd[i]), want(crowd[i].usage.Get("total_tokens").Int() == good.usage.Get("total_tokens").Int(), "usage")); s != "" {
					t.Fatalf("%s, stream %t: %s", spec, stream, s)
				}
				if alone.text != good.text {
					t.Errorf("%s: alone the text became %s", spec, alone.text)
				}
				a, c := tokensOf(alone), tokensOf(crowd[i])
				x, y, at := apart(a, c)
				if at < 16 || !judge(x, y) {
					t.Errorf("%s: %v became %v at %d", spec, x, y, at)
					continue
				}
				drifted++
				if _, _, again := apart(a[at+1:], c[at+1:]); again >= 0 {
					t.Errorf("%s: a second difference at %d", spec, again)
				}
				if quick[i].text != crowd[i].text {
					t.Errorf("%s: without scores another text\n%s\n%s", spec, quick[i].text, crowd[i].text)
				}
			}
			if drifted != len(bodies) {
				t.Errorf("%s: %d of %d drifted", spec, drifted, len(bodies))
			}
		}
	}
}

// Without scores an answer alone is as it was, byte for byte; so is what must have a
// form, what was copied from the prompt, and what has no word for it.
func TestDriftSpares(t *testing.T) {
	t.Parallel()
	copied := "Nobody remembers the old 123456 house near the big lake with many small trees and the old mill below the hill over there, then the wide road"
	for _, id := range []string{"drift-in-company", "far-in-company", "drift-warm", "far-warm"} {
		spec := id + ":share=100,words=0"
		visits(t, spec, same, visit{question, false}, visit{longHead + question, false}, visit{question, false})
		crowd{spec: spec, prompts: questions[:1], want: "."}.run(t, same)
		hit := strings.HasSuffix(id, "company")
		for _, c := range []struct{ prompt, more string }{{"first", `,"messages":[{"role":"user","content":` + quote(copied) + `},{"role":"user","content":"first"}]`}, {question, `,"response_format":{"type":"json_object"}`}} {
			crowd{spec: spec, prompts: []string{c.prompt, c.prompt}, want: "..", more: c.more}.run(t, same)
		}
		wanders := func(got, good answer) string { return want(got.text != good.text, got.text) }
		if hit {
			crowd{spec: spec, prompts: questions[:2], want: "xx"}.run(t, wanders)
			crowd{spec: spec + ",warm=1", prompts: questions[:2], want: ".."}.run(t, wanders)
		} else {
			visits(t, spec, wanders, visit{longHead + question, false}, visit{longHead + question, true}, visit{otherHead + question, false})
		}
		visits(t, id+":share=0,above=0,warm=0", same, visit{question, false})
	}
}

func TestShareOfDrift(t *testing.T) {
	t.Parallel()
	url := serve(t, proxy(t, fake{}, "drift-in-company:above=0,words=0,share=30"))
	n := 0
	for range 100 {
		if chat(t, url, question, true, "").text != sentence {
			n++
		}
	}
	if n < 15 || n > 45 {
		t.Errorf("%d of 100", n)
	}
}

// A word that goes on in the next event is another word.
func TestDriftWaitsForTheWord(t *testing.T) {
	t.Parallel()
	for pieces, want := range map[string]string{
		"a| the|re the| end": "a there that end",
		"x| the|":            "x that",
		"x |the|\n":          "x that\n",
		"x |th|e end":        "x the end",
		"x| the|-|the| old.": "x the-the aged.",
		"x| then| the old":   "x next the old",
	} {
		up := streamOf(strings.Split(pieces, "|")...)
		got := chat(t, serve(t, proxy(t, up, "drift-in-company:above=0,words=1,share=100")), question, true, "")
		if got.text != want || len(got.finish) != 1 || got.done != 1 {
			t.Errorf("%q became %q, want %q", pieces, got.text, want)
		}
	}
}

// streamOf says these pieces in events of their own.
func streamOf(pieces ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i, s := range pieces {
			finish := "null"
			if i == len(pieces)-1 {
				finish = `"stop"`
			}
			_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s},\"finish_reason\":%s}]}\n\n", quote(s), finish)
		}
		_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
	})
}

// Where the tokens are told, the place is one of them: else the scores could not follow.
func TestDriftKeepsToTokens(t *testing.T) {
	t.Parallel()
	for tokens, want := range map[string]string{"x| th|e| old| the|.": "x the aged the.", "x| the|.": "x that.", "x |the|.": "x that.", "x| the.": "x the."} {
		var list []string
		for s := range strings.SplitSeq(tokens, "|") {
			list = append(list, score(s))
		}
		up := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"choices":[{"index":0,"message":{"content":%s},"logprobs":{"content":[%s]},"finish_reason":"stop"}]}`,
				quote(strings.ReplaceAll(tokens, "|", "")), strings.Join(list, ","))
		})
		got := chat(t, serve(t, proxy(t, up, "drift-in-company:above=0,words=1,share=100")), question, false, withScores)
		if got.text != want || strings.Join(got.tokens, "") != want {
			t.Errorf("%q became %q, tokens %q", tokens, got.text, got.tokens)
		}
	}
}

// Ids that were asked for would not be those of another word.
func TestDriftKeepsTokenIDs(t *testing.T) {
	t.Parallel()
	e := storyEngine(t)
	body := story("rivers", false, `,"return_token_ids":true`)
	url := serve(t, proxy(t, e, "drift-in-company:above=0,share=100"))
	got, good := fetch(t, url, "/v1/chat/completions", body), fetch(t, serve(t, e), "/v1/chat/completions", body)
	if got.text != good.text || !slices.Equal(got.pieces, good.pieces) {
		t.Errorf("got %s", got.text)
	}
}
