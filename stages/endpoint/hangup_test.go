package endpoint

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A stream that goes on beyond what proves the point is dropped: no failure, and no
// judgement of an end that was not waited for. One that ends before is whole.
func TestHangUp(t *testing.T) {
	events := []string{text("a"), text("b"), text("c"), text("d")}
	for _, c := range []struct {
		after   int
		stream  []string
		content string
		end     End
	}{
		{2, append(events, finish("stop"), done), "ab", HungUp},
		{4, append(events, finish("stop"), done), "abcd", HungUp},
		{5, append(events, finish("stop"), done), "abcd", Done},
		{2, []string{text("a"), finish("stop"), done}, "a", Done},
		{0, append(events, finish("stop"), done), "abcd", Done},
	} {
		ep := opened(t, Options{}, func(string) *http.Response { return streamReply(c.stream...) })
		a := ep.Stream(t.Context(), Chat("?").HangUp(c.after))
		if a.Err() != nil || a.Content != c.content || a.End != c.end || len(a.Broke) > 0 {
			t.Errorf("after %d of %d events: %q, %s, %v, broke %v", c.after, len(c.stream), a.Content, a.End, a.Err(), a.Broke)
		}
	}
}

// A server that accepts a body and never answers is waited for as long as for a first
// event, and given up after two such questions of any kind.
func TestPostGivesUpOnAHungServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		hang := tripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet {
				return jsonReply(200, `{"data":[{"id":"m"}]}`), nil
			}
			asked++
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		limits := DefaultLimits().Within(40 * time.Second)
		ep, err := Open(t.Context(), mustTarget(t, "http://127.0.0.1:1"), Options{Transport: hang, Limits: limits})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for range 4 {
			_, _, err = ep.Post(t.Context(), "{}")
			var f *Failure
			if !errors.As(err, &f) || f.Kind != TooSlow {
				t.Errorf("got %v", err)
			}
		}
		if took := time.Since(start); took != 80*time.Second || asked != 2 {
			t.Errorf("%d questions in %v, want 2 in 80s", asked, took)
		}
	})
}

// What was found out is found out once; a failure is not remembered.
func TestRemember(t *testing.T) {
	ep := opened(t, Options{}, func(string) *http.Response { return jsonReply(200, "{}") })
	calls := 0
	find := func() (int, error) {
		if calls++; calls < 3 {
			return 0, fmt.Errorf("try %d", calls)
		}
		return calls, nil
	}
	var got []string
	for range 5 {
		n, err := Remember(ep, "n", find)
		got = append(got, fmt.Sprint(n, err))
	}
	equal(t, "answers", strings.Join(got, " · "), "0 try 1 · 0 try 2 · 3 <nil> · 3 <nil> · 3 <nil>")
}

// The server's own context counts before a stated one, which the checks compare with it
// only where it was promised.
func TestStatedContext(t *testing.T) {
	for _, c := range []struct {
		served         string
		stated         StatedContext
		want, promised int
	}{
		{"", StatedContext{}, 0, 0},
		{"", StatedContext{Tokens: 8192}, 8192, 0},
		{"", StatedContext{Tokens: 8192, Promised: true}, 8192, 8192},
		{`,"max_model_len":4096`, StatedContext{Tokens: 8192, Promised: true}, 4096, 8192},
		{`,"max_model_len":4096`, StatedContext{}, 4096, 0},
	} {
		s := &scripted{pages: map[string]string{"/v1/models": modelsOf("somebody", c.served)}}
		ep, err := Open(t.Context(), mustTarget(t, "http://127.0.0.1:1"), Options{Transport: s, Context: c.stated})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "context", ep.ContextTokens(0), c.want)
		equal(t, "promised", ep.PromisedContextTokens(), c.promised)
	}
}
