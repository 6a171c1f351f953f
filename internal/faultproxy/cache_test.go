package faultproxy_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// A visit is one request of a row that are sent one after the other, and whether it
// meets the fault.
type visit struct {
	prompt string
	hit    bool
}

// visits sends a row of prompts; what does not meet the fault is as without, byte for byte.
func visits(t *testing.T, spec string, show symptom, list ...visit) {
	t.Helper()
	for _, stream := range []bool{true, false} {
		url, control := serve(t, proxy(t, fake{}, spec)), serve(t, fake{})
		for i, v := range list {
			got, good := chat(t, url, v.prompt, stream, ""), chat(t, control, v.prompt, stream, "")
			switch {
			case !v.hit && got.raw != good.raw:
				t.Errorf("%s: request %d, stream %t, was changed: %s", spec, i+1, stream, got.raw)
			case v.hit && show(got, good) != "":
				t.Errorf("%s: request %d, stream %t: %s\n%s", spec, i+1, stream, show(got, good), got.raw)
			}
		}
	}
}

var (
	longHead  = strings.Repeat("a long beginning ", 20)
	otherHead = strings.Repeat("quite another one ", 20)
)

func TestEvictedWrong(t *testing.T) {
	t.Parallel()
	first, other, short := longHead+question, otherHead+question, question
	visits(t, "evicted-wrong:after-characters=700", slipped,
		visit{first, false}, visit{first, false},
		visit{other, false}, visit{first, false}, // 400 characters in between
		visit{other, false}, visit{other, false}, visit{first, true}, // 800
		visit{first, false}, // it is in the cache again
		visit{short, false}, visit{short, false},
	)
	visits(t, "evicted-wrong", slipped, visit{first, false}, visit{other, false}, visit{other, false}, visit{first, false})
	// Short prompts push out as well, and none comes back.
	visits(t, "evicted-wrong:after-characters=40", slipped, visit{first, false}, visit{short, false}, visit{first, true}, visit{short, false})
	visits(t, "evicted-wrong:after-characters=100,how=foreign", func(got, good answer) string {
		return all(healthy(got), usageSame(got, good), want(got.text == strings.Replace(sentence, "48213907", "71640258", 1), got.text))
	}, visit{first, false}, visit{otherHead + "The code is 71640258.", false}, visit{first, true}, visit{first, false})
}

func TestPartialHitWrong(t *testing.T) {
	t.Parallel()
	visits(t, "partial-hit-wrong", slipped,
		visit{longHead + question, false}, visit{longHead + question, false}, visit{longHead + question + " Please.", true},
		visit{longHead + question + " Please.", false}, visit{longHead + question, false},
		visit{question, false}, visit{question + " Please.", false}, visit{otherHead + question, false})
}

func TestBlockEdgeWrong(t *testing.T) {
	t.Parallel()
	// The fake counts characters, one more for each of the two messages: 9 for the system's.
	at := func(n int) string { return longHead + question + strings.Repeat(".", n-11-len(longHead)-len(question)) }
	visits(t, "block-edge-wrong", slipped,
		visit{at(448), false}, visit{at(448), true}, visit{at(449), false}, visit{at(447), false}, visit{at(512), true}, visit{at(480), false})
	visits(t, "block-edge-wrong:block=32,window=1", slipped, visit{at(480), false}, visit{at(481), true}, visit{at(479), true}, visit{at(478), false})
}

// An engine that tells two codes apart, behind a fault.
func TestTenantTail(t *testing.T) {
	t.Parallel()
	e := storyEngine(t)
	head := "The village lay in a valley. " + strings.Repeat("Nobody could say why the lantern was so old. ", 5) + "The blue code is 48213907. The red code is 71640258. "
	const blue, red = "What is the blue code?", "What is the red code?"
	for _, stream := range []bool{true, false} {
		url, control := serve(t, proxy(t, e, "tenant-tail")), serve(t, e)
		for i, v := range []struct{ prompt, code string }{
			{head + blue, "48213907"},
			{head + blue, "48213907"},
			{head + red, "48213907"},
			{head + red, "48213907"},  // wrong, and the same when it is repeated
			{head + blue, "71640258"}, // the red one was the upstream's answer
			{"The red code is 71640258. The blue code is 48213907. " + blue, "48213907"},
			{"The red code is 71640258. The blue code is 48213907. " + red, "71640258"}, // too short to share anything
			{head + "What is the capital of France?", ""},
			// However often one is repeated, the other is not forgotten.
			{head + red, "48213907"},
			{head + red, "48213907"},
			{head + red, "48213907"},
			{head + red, "48213907"},
			{head + red, "48213907"},
			{head + red, "48213907"},
			{head + red, "48213907"},
			{head + red, "48213907"},
			{head + red, "48213907"},
			{head + red, "48213907"},
		} {
			got := chat(t, url, v.prompt, stream, "")
			if s := healthy(got); s != "" || !strings.Contains(got.text, v.code) || v.code == "" && strings.ContainsAny(got.text, "0123456789") {
				t.Errorf("%d, stream %t: %s %s", i, stream, s, got.text)
			}
			good := chat(t, control, v.prompt, stream, "")
			if strings.Contains(good.text, v.code) && strings.Join(got.pieces, "|") != strings.Join(good.pieces, "|") {
				t.Errorf("%d: the pieces became %q", i, got.pieces)
			}
		}
	}
}

// numbered gives each answer an id of its own and counts them.
func numbered(served *atomic.Int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			fake{}.ServeHTTP(w, r)
			return
		}
		rec := &whole{header: http.Header{}}
		fake{}.ServeHTTP(rec, r)
		w.Header().Set("Content-Type", rec.header.Get("Content-Type"))
		w.Header().Set("X-Served-By", "a server")
		w.WriteHeader(max(rec.status, http.StatusOK))
		_, _ = io.WriteString(w, strings.ReplaceAll(rec.body, "c-1", fmt.Sprintf("c-%d", served.Add(1))))
	})
}

func TestResponseCache(t *testing.T) {
	t.Parallel()
	const seed1, seed2 = `,"seed":1,"temperature":0.5`, `,"temperature":1.5, "seed":2`
	for _, test := range []struct {
		spec string
		rows []request
		want string // the number of the answer
	}{
		{"response-cache", []request{{question, ""}, {question, ""}, {question + "?", ""}, {question, ""}, {question, seed1}, {question, seed2}, {question, seed1}}, "1121343"},
		{"response-cache:keys=messages", []request{
			{question, ""}, {question, seed1}, {question, seed2}, {question + "?", seed1}, {question, `,"max_tokens":5`}, {question, `,"max_tokens": 5,"user":"x"`},
		}, "111233"},
		{"response-cache:after=3", []request{{question, ""}, {question, ""}, {question, ""}, {question, ""}, {question, ""}}, "12344"},
	} {
		for _, stream := range []bool{true, false} {
			var served atomic.Int64
			up := numbered(&served)
			url := serve(t, proxy(t, up, test.spec))
			seen := map[byte]answer{}
			for i, r := range test.rows {
				got := chat(t, url, r.prompt, stream, r.more)
				if s := healthy(got); s != "" || !got.ids["c-"+test.want[i:i+1]] || got.header.Get("X-Served-By") != "a server" {
					t.Errorf("%s: request %d, stream %t: %s %v %v, want %s", test.spec, i+1, stream, s, got.ids, got.header, test.want[i:i+1])
				}
				if before, ok := seen[test.want[i]]; ok && (before.raw != got.raw || got.header.Get("Content-Type") != before.header.Get("Content-Type")) {
					t.Errorf("%s: request %d: %s\nbefore %s", test.spec, i+1, got.raw, before.raw)
				}
				seen[test.want[i]] = got
			}
		}
	}
}

// What comes from the cache comes in one write, and the server is not asked.
func TestResponseCacheIsAtOnce(t *testing.T) {
	t.Parallel()
	var served atomic.Int64
	p := proxy(t, numbered(&served), "response-cache")
	first, again := record(t, p, chatBody(question, true, "")), record(t, p, chatBody(question, true, ""))
	if again.n != 1 || again.Body.String() != first.Body.String() || served.Load() != 1 {
		t.Errorf("%d writes, %d served: %s", again.n, served.Load(), again.Body)
	}
	// Errors are not kept, and a stream and a body are two answers.
	record(t, p, "{")
	if got := record(t, p, "{"); got.Code != http.StatusBadRequest || served.Load() != 3 {
		t.Errorf("status %d, %d served", got.Code, served.Load())
	}
	if got := record(t, p, chatBody(question, false, "")); !strings.HasPrefix(got.Header().Get("Content-Type"), "application/json") {
		t.Errorf("got %s", got.Body)
	}
}

// An answer that its client left is not one.
func TestResponseCacheKeepsWholeAnswers(t *testing.T) {
	t.Parallel()
	var served atomic.Int64
	url, ended := watched(t, proxy(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served.Add(1)
		patient(w, r)
	}), "response-cache"))
	for range 2 {
		hangUp(t, url, ended, "forever", "content")
	}
	if n := served.Load(); n != 2 {
		t.Errorf("%d of 2 were served", n)
	}
}

// Who told nothing is told what another said, and only behind the same beginning.
func TestRemembers(t *testing.T) {
	t.Parallel()
	e := storyEngine(t)
	head := "The village lay in a valley. " + strings.Repeat("Nobody could say why the lantern was so old. ", 5)
	const told, asks = "My secret code is 48213907. What is my secret code?", "What is my secret code?"
	for _, stream := range []bool{true, false} {
		url := serve(t, proxy(t, e, "remembers"))
		for i, v := range []struct {
			prompt string
			leaks  bool
		}{{head + asks, false}, {"Another beginning. " + head + told, false}, {"Another beginning. " + head + asks, true}, {asks, false}} {
			got := chat(t, url, v.prompt, stream, "")
			if s := healthy(got); s != "" || strings.Contains(got.text, "48213907") != (v.leaks || strings.Contains(v.prompt, "48213907")) {
				t.Errorf("%d, stream %t: %s %s", i, stream, s, got.text)
			}
		}
	}
}

// A request that leaves the cache out, or names a part of its own, meets nothing in it.
func TestCacheLeftOut(t *testing.T) {
	t.Parallel()
	e := storyEngine(t)
	prompt := "The village lay in a valley. " + strings.Repeat("Nobody could say why the lantern was so old. ", 5) + "The blue code is 48213907. What is the blue code?"
	url := serve(t, proxy(t, e, "wrong-digit:warm=1"))
	for i, v := range []struct {
		more  string
		wrong bool
	}{{"", false}, {"", true}, {`,"cache_prompt":false`, false}, {`,"cache_salt":"one"`, false}, {`,"cache_salt":"one"`, true}, {`,"cache_salt":"two"`, false}, {`,"cache_prompt":true`, true}} {
		got := chat(t, url, prompt, false, v.more)
		if strings.Contains(got.text, "48213907") == v.wrong {
			t.Errorf("%d, %s: %s", i, v.more, got.text)
		}
	}
}
