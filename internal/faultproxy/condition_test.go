package faultproxy_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const marker = "<|im_end|>"

func TestConditions(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a long beginning ", 20)
	tests := []struct {
		spec    string
		prompts []string
		want    string // one letter per answer: x with the fault, . without
		stream  bool
	}{
		{"markers:after=2", []string{"a", "b", "c", "d"}, "..xx", false},
		{"markers:every=2", []string{"a", "b", "c", "d"}, ".x.x", true},
		{"markers:every=2,after=2", []string{"a", "b", "c", "d"}, "...x", true},
		{"markers:depth=100", []string{"a", long, "b"}, ".x.", false},
		{"markers:warm=1", []string{"a", "a", long + "1", long + "2", "b"}, "...x.", false},
		{"markers:warm=0", []string{long + "1", long + "2", "b"}, "x.x", false},
		{"markers:stream=1", []string{"a"}, "x", true},
		{"markers:stream=1", []string{"a"}, ".", false},
		{"markers:stream=0", []string{"a"}, ".", true},
		{"markers:stream=0", []string{"a"}, "x", false},
		{"markers:above=1", []string{"a", "b"}, "..", true},
		{"markers:above=0", []string{"a", "b"}, "xx", true},
		// A fault may ask a condition itself, and the others hold all the same.
		{"guided-kills:above=0,after=0", []string{"a", "b"}, "..", true},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%s/%v", test.spec, test.stream), func(t *testing.T) {
			t.Parallel()
			url := serve(t, proxy(t, fake{}, test.spec))
			got := ""
			for _, p := range test.prompts {
				if strings.Contains(chat(t, url, p, test.stream, "").text, marker) {
					got += "x"
				} else {
					got += "."
				}
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// together sends prompts that are all in flight before any is answered.
func together(t *testing.T, stream bool, spec string, prompts ...string) map[string]answer {
	t.Helper()
	arrived, proceed := make(chan string), make(chan struct{})
	url := serve(t, proxy(t, fake{arrived: arrived, proceed: proceed}, spec))
	var mu sync.Mutex
	var wg sync.WaitGroup
	out := map[string]answer{}
	for _, p := range prompts {
		wg.Go(func() {
			a := chat(t, url, p, stream, "")
			mu.Lock()
			defer mu.Unlock()
			out[p] = a
		})
		select {
		case <-arrived:
		case <-t.Context().Done():
		}
	}
	close(proceed)
	wg.Wait()
	return out
}

func TestAbove(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{true, false} {
		for p, a := range together(t, stream, "markers:above=2", "a", "b", "c") {
			if !strings.Contains(a.text, marker) {
				t.Errorf("%s of three got %q", p, a.text)
			}
		}
		for p, a := range together(t, stream, "markers:above=2", "a", "b") {
			if strings.Contains(a.text, marker) {
				t.Errorf("%s of two got %q", p, a.text)
			}
		}
	}
}

func TestCrosstalk(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{true, false} {
		got := together(t, stream, "crosstalk", "The code is 48213907.", "The code is 71640258.")
		for p, own := range map[string]string{"The code is 48213907.": "48213907", "The code is 71640258.": "71640258"} {
			if a := got[p]; strings.Contains(a.text, own) || !longNumber.MatchString(a.text) || healthy(a) != "" {
				t.Errorf("%s got %s", p, a.text)
			}
		}
		alone := together(t, stream, "crosstalk", question)
		if alone[question].text != sentence {
			t.Errorf("alone: %s", alone[question].text)
		}
	}
}

func TestStaleCache(t *testing.T) {
	t.Parallel()
	url := serve(t, proxy(t, fake{}, "stale-cache"))
	long := strings.Repeat("a long beginning ", 20)
	for _, step := range []struct{ prompt, want string }{
		{long + "the code is 48213907", "48213907"},
		{"short: the code is 71640258", "71640258"},
		{long + "the code is 71640258", "48213907"},
		{long + "the code is 48213907", "48213907"},
		{strings.ToUpper(long) + "the code is 71640258", "71640258"},
	} {
		if got := chat(t, url, step.prompt, true, "").text; !strings.Contains(got, step.want) {
			t.Errorf("%s got %s, want %s", step.prompt, got, step.want)
		}
	}
}

func TestReject(t *testing.T) {
	t.Parallel()
	arrived, proceed := make(chan string), make(chan struct{})
	url := serve(t, proxy(t, fake{arrived: arrived, proceed: proceed}, "reject:above=1"))
	var wg sync.WaitGroup
	wg.Go(func() {
		if got := chat(t, url, "a", true, ""); got.status != 200 {
			t.Errorf("the first got %d", got.status)
		}
	})
	<-arrived
	if got := chat(t, url, "b", true, ""); got.status != http.StatusServiceUnavailable {
		t.Errorf("the second got %d", got.status)
	}
	close(proceed)
	wg.Wait()
}

func TestNondeterministicRepeatsDiffer(t *testing.T) {
	t.Parallel()
	url := serve(t, proxy(t, fake{}, "nondeterministic"))
	seen := map[string]bool{}
	for range 8 {
		seen[chat(t, url, question, true, "").text] = true
	}
	if len(seen) != 8 {
		t.Errorf("%d different answers of 8", len(seen))
	}
}

func TestForgetEarly(t *testing.T) {
	t.Parallel()
	url := serve(t, proxy(t, fake{}, "forget-early:turns=3"))
	const head = `{"messages":[{"role":"system","content":"S"},{"role":"user","content":"the first fact"},`
	const calls = `{"role":"assistant","content":"","tool_calls":[{"id":"1"}]},{"role":"tool","content":"a result"},`
	short := fetch(t, url, "/v1/chat/completions", head+`{"role":"user","content":"first?"}]}`)
	if short.text != "the first fact" {
		t.Errorf("short: %s", short.text)
	}
	long := fetch(t, url, "/v1/chat/completions", head+calls+`{"role":"user","content":"ok"},{"role":"user","content":"first?"}]}`)
	if long.text != "ok" {
		t.Errorf("long: %s", long.text)
	}
}

func TestRestart(t *testing.T) {
	t.Parallel()
	url := serve(t, proxy(t, fake{}, "restart:after=1"))
	metrics := func() string { return fetch(t, url, "/metrics", "").raw }
	if got := metrics(); !strings.Contains(got, "\nprocess_start_time_seconds 1000.5\n") {
		t.Errorf("before: %s", got)
	}
	chat(t, url, question, true, "")
	want := "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 4600.500\nup 1\n"
	if got := metrics(); got != want {
		t.Errorf("after: %s", got)
	}
}

// The delays are asserted exactly, on a clock that stands still otherwise.
func TestDelays(t *testing.T) {
	for spec, want := range map[string]time.Duration{
		"slow-first:delay=3s": 3 * time.Second,
		"drip:delay=10ms":     140 * time.Millisecond, // 15 events
		"stays-open:hold=9s":  9 * time.Second,
		"stays-open":          30 * time.Second,
	} {
		t.Run(spec, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := proxy(t, fake{}, spec)
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chat/completions",
					strings.NewReader(chatBody(question, true, "")))
				start := time.Now()
				p.ServeHTTP(httptest.NewRecorder(), r)
				if got := time.Since(start); got != want {
					t.Errorf("took %s, want %s", got, want)
				}
			})
		})
	}
}
