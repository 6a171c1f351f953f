package faultproxy_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestDecoy(t *testing.T) {
	t.Parallel()
	// The fake is right with the first of the codes.
	const codes = "The code is 48213907. Others are 71640258, 123456, 2024, 90518243 and 1234567. "
	turned := func(to string) symptom {
		return func(got, good answer) string {
			return all(healthy(got), usageSame(got, good), want(got.text == strings.Replace(sentence, "48213907", to, 1), got.text))
		}
	}
	deep := codes + strings.Repeat("And so on. ", 20)
	visits(t, "decoy:depth=200", turned("90518243"), visit{codes, false}, visit{deep, true}, visit{question + strings.Repeat("And so on. ", 20), false})
	visits(t, "decoy:depth=200,which=first", turned("71640258"), visit{codes, false}, visit{deep, true})
	visits(t, "decoy", turned(""), visit{deep, false})
	// What is no code of the prompt is not turned into one.
	visits(t, "decoy:depth=0", turned(""), visit{"count", false}, visit{"71640258 and 1234567 and 90518243 think", false})
}

func TestHangsDeep(t *testing.T) {
	t.Parallel()
	good := chat(t, serve(t, fake{}), question, true, "").raw
	deep := strings.Repeat("And so on. ", 20)
	for _, headers := range []bool{true, false} {
		for _, stream := range []bool{true, false} {
			entered := make(chan struct{}, 8)
			p := proxy(t, fake{}, fmt.Sprintf("hangs-deep:depth=200,headers=%d", map[bool]int{true: 1}[headers]))
			url, ended := watched(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				entered <- struct{}{}
				p.ServeHTTP(w, r)
			}))
			ctx, leave := context.WithCancel(t.Context())
			began, failed := make(chan *http.Response, 1), make(chan error, 1)
			go func() {
				res, err := post(ctx, t, url, "/v1/chat/completions", chatBody(deep, stream, ""))
				if err != nil {
					failed <- err
					return
				}
				began <- res
			}()
			<-entered // before it could be called off
			if headers {
				res := <-began
				kind := res.Header.Get("Content-Type")
				if res.StatusCode != 200 || (kind == "text/event-stream") != stream {
					t.Errorf("status %d, %s", res.StatusCode, kind)
				}
				defer res.Body.Close()
			}
			for range 2 { // meanwhile others are answered
				if got := chat(t, url, question, true, ""); got.raw != good {
					t.Errorf("meanwhile: %s", got.raw)
				}
				<-ended
			}
			leave()
			<-ended
			if !headers {
				<-failed
			}
		}
	}
}

func TestDiesDeep(t *testing.T) {
	t.Parallel()
	good := chat(t, serve(t, fake{}), question, true, "").raw
	url := serve(t, proxy(t, fake{}, "dies-deep:depth=200"))
	for range 2 {
		if got := chat(t, url, question, true, ""); got.raw != good {
			t.Errorf("before: %s", got.raw)
		}
	}
	if got := fetch(t, url, "/health", ""); got.status != 200 {
		t.Errorf("health before: %d", got.status)
	}
	if got := chat(t, url, strings.Repeat("And so on. ", 20), true, ""); refused(500)(got, got) != "" {
		t.Errorf("the long one: %s", got.raw)
	}
	for _, stream := range []bool{true, false} {
		if got := chat(t, url, question, stream, ""); refused(503)(got, got) != "" {
			t.Errorf("after: %s", got.raw)
		}
	}
	if got := fetch(t, url, "/health", ""); got.status != 503 {
		t.Errorf("health after: %d", got.status)
	}
	if got := fetch(t, url, "/v1/models", ""); got.raw != `{"z":1,  "a":2}` {
		t.Errorf("models after: %s", got.raw)
	}
}

// Whoever is under way when the server dies gets an error too.
func TestDiesDeepTakesOthersAlong(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{true, false} {
		g := newGate(fake{})
		url := serve(t, proxy(t, g, "dies-deep:depth=200"))
		bystander := make(chan answer)
		go func() { bystander <- chat(t, url, question, stream, "") }()
		<-g.arrived
		if got := chat(t, url, strings.Repeat("And so on. ", 20), stream, ""); got.status != 500 {
			t.Errorf("the long one: %d", got.status)
		}
		close(g.opened)
		if got := <-bystander; refused(500)(got, got) != "" || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("the bystander: %d %v %s", got.status, got.header, got.raw)
		}
	}
}

// An upstream that goes on writing is told that nobody reads.
func TestReplacedAnswerEndsTheUpstream(t *testing.T) {
	t.Parallel()
	stopped := make(chan error, 1)
	g := newGate(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Length", "5")
		w.WriteHeader(http.StatusOK)
		_, err := io.WriteString(w, "data: 1\n\n")
		<-r.Context().Done()
		stopped <- err
	}))
	url := serve(t, proxy(t, g, "dies-deep:depth=200"))
	bystander := make(chan answer)
	go func() { bystander <- chat(t, url, question, true, "") }()
	<-g.arrived
	chat(t, url, strings.Repeat("And so on. ", 20), true, "")
	close(g.opened)
	if got := <-bystander; refused(500)(got, got) != "" {
		t.Errorf("the bystander: %s", got.raw)
	}
	if err := <-stopped; err == nil {
		t.Error("the upstream could write")
	}
}

func TestDeclinesDeep(t *testing.T) {
	t.Parallel()
	p := proxy(t, fake{}, "declines-deep:depth=400")
	good := chat(t, serve(t, fake{}), question, false, "").text
	wrongAt := func(length int) (n int) {
		for i := range 200 {
			prompt := fmt.Sprintf("Number %d. ", i) + question
			prompt += strings.Repeat(".", length-11-len(prompt)) // with the system message
			w := httptest.NewRecorder()
			p.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chat/completions", strings.NewReader(chatBody(prompt, false, ""))))
			switch got := read(w.Code, w.Header(), w.Body.String(), nil); {
			case slipped(got, got) == "":
				n++
			case got.text != good:
				t.Fatalf("got %s", got.raw)
			}
		}
		return n
	}
	// The share rises from 0 to 70 % over three times the depth; 200 draws stray by 7 %.
	for _, c := range []struct{ length, percent int }{{200, 0}, {400, 0}, {700, 18}, {1000, 35}, {1600, 70}, {4000, 70}} {
		if n, want := wrongAt(c.length), 2*c.percent; n < want-28 || n > want+28 || want == 0 && n > 0 {
			t.Errorf("%d characters: %d of 200 wrong, want about %d", c.length, n, want)
		}
	}
	if a, b := wrongAt(1600), wrongAt(1600); a != b {
		t.Errorf("repeated: %d and %d", a, b)
	}
}

func TestQuietKV(t *testing.T) {
	t.Parallel()
	const filler = "And so on. "
	visits(t, "quiet-kv:back=100", slipped,
		visit{question, false},
		visit{strings.Repeat(filler, 50) + question, false},
		visit{question + strings.Repeat(filler, 50), true},
		visit{question + strings.Repeat(filler, 50) + question, false}, // said again
		visit{question + strings.Repeat(filler, 7), false},
		visit{question + strings.Repeat(filler, 8), true},
		visit{"count" + strings.Repeat(filler, 50), false},
	)
	visits(t, "quiet-kv", slipped, visit{question + strings.Repeat(filler, 350), false}, visit{question + strings.Repeat(filler, 370), true})
}
