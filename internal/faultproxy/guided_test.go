package faultproxy_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/tidwall/gjson"
)

const aPerson = `{"name": "Anna \"Ann\" Li\u00e9n", "note":"one, two: {three}", "age":41, "tags":["dark blue","red"], "rare":{"name":"x"}, "empty":"", "ok":true}`

const aSchema = `,"response_format":{"type":"json_schema","json_schema":{"name":"p","schema":{"type":"object","properties":{"name":{"type":"string"},"tags":{"type":"array","items":{"enum":["red","green"]}}}}}}`

// person says one JSON text, cut anywhere.
var person = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	var pieces []string
	for s := range slices.Chunk([]byte(aPerson), 3) {
		pieces = append(pieces, string(s))
	}
	streamOf(pieces...).ServeHTTP(w, r)
})

func TestSaladInJSON(t *testing.T) {
	t.Parallel()
	const free = `{"messages":[{"role":"user","content":"free"}],"stream":true}`
	bound := func(i int) string { return chatBody(fmt.Sprintf("Number %d", i), true, aSchema) }
	bodies := []string{bound(0), bound(1), free, bound(2), bound(3)}
	for i, got := range burst(t, person, "salad-in-json", bodies...) {
		if bodies[i] == free {
			if got.text != aPerson {
				t.Errorf("free: %s", got.text)
			}
			continue
		}
		doc, was := gjson.Parse(got.text), gjson.Parse(aPerson)
		if !gjson.Valid(got.text) || got.status != 200 || got.done != 1 || len(got.finish) != 1 {
			t.Fatalf("got %s", got.raw)
		}
		for _, same := range []string{"age", "ok", "empty", "tags.1"} {
			if doc.Get(same).Raw != was.Get(same).Raw {
				t.Errorf("%s became %s", same, doc.Get(same).Raw)
			}
		}
		scripts := map[string]bool{}
		for _, path := range []string{"name", "note", "tags.0"} {
			s := doc.Get(path).Str
			if len([]rune(s)) != len([]rune(was.Get(path).Str)) && path != "name" || s == was.Get(path).Str {
				t.Errorf("%s became %q", path, s)
			}
			for _, r := range s {
				for _, name := range []string{"Cyrillic", "Thai", "Hangul", "Greek", "Hebrew", "Georgian", "Arabic"} {
					if unicode.Is(unicode.Scripts[name], r) {
						scripts[name] = true
					}
				}
			}
		}
		if len(scripts) < 3 || len(doc.Map()) != len(was.Map()) || !doc.Get("rare.name").Exists() {
			t.Errorf("%v in %s", scripts, got.text)
		}
	}
	for _, spec := range []string{"salad-in-json", "salad-in-json:constrained=5"} {
		for _, got := range burst(t, person, spec, bodies[:4]...) { // three of them are bound
			if got.text != aPerson {
				t.Errorf("%s: %s", spec, got.text)
			}
		}
	}
}

// Whoever comes when an answer has begun makes the rest of it wrong.
func TestSaladBeginsWithTheCrowd(t *testing.T) {
	t.Parallel()
	began, proceed := make(chan struct{}), make(chan struct{})
	first := true
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !first {
			person(w, r)
			return
		}
		first = false
		w.Header().Set("Content-Type", "text/event-stream")
		for _, s := range []string{`{"a":"one",`, `"b":"two"}`} {
			_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s},\"finish_reason\":null}]}\n\n", quote(s))
			began <- struct{}{}
			<-proceed
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	})
	url := serve(t, proxy(t, up, "salad-in-json:constrained=2"))
	got := make(chan answer)
	go func() { got <- chat(t, url, question, true, aSchema) }()
	<-began
	chat(t, url, question, true, aSchema)
	proceed <- struct{}{}
	<-began
	proceed <- struct{}{}
	a := <-got
	if doc := gjson.Parse(a.text); doc.Get("a").Str != "one" || doc.Get("b").Str == "two" || len([]rune(doc.Get("b").Str)) != 3 {
		t.Errorf("got %s", a.text)
	}
}

func TestGuidedKills(t *testing.T) {
	t.Parallel()
	good := chat(t, serve(t, fake{}), question, true, "").raw
	for _, stream := range []bool{true, false} {
		for _, first := range []string{"", aSchema} {
			g := newGate(fake{})
			url := serve(t, proxy(t, g, "guided-kills"))
			var wg sync.WaitGroup
			ask := func(more string, status int) {
				wg.Go(func() {
					if got := chat(t, url, question, stream, more); got.status != status {
						t.Errorf("stream %t, first %q, this %q: %d", stream, first, more, got.status)
					}
				})
			}
			ask(first, 500) // under way when the server dies
			<-g.arrived
			wg.Go(func() {
				if got := chat(t, url, question, stream, aSchema); refused(500)(got, got) != "" {
					t.Errorf("the second: %s", got.raw)
				}
				close(g.opened)
			})
			wg.Wait()
			for range 2 {
				if got := chat(t, url, question, stream, ""); refused(500)(got, got) != "" {
					t.Errorf("after: %s", got.raw)
				}
			}
			if got := fetch(t, url, "/health", ""); got.status != 200 {
				t.Errorf("health: %d", got.status)
			}
		}
	}
	// One that must have a form, and then another comes: the first dies of it.
	g := newGate(fake{})
	url := serve(t, proxy(t, g, "guided-kills"))
	var wg sync.WaitGroup
	for _, more := range []string{aSchema, ""} {
		wg.Go(func() {
			if got := chat(t, url, question, true, more); got.status != 500 && more != "" {
				t.Errorf("%q got %d", more, got.status)
			}
		})
		<-g.arrived
	}
	close(g.opened)
	wg.Wait()
	// Alone, or without any form, nothing dies.
	quiet := serve(t, proxy(t, fake{}, "guided-kills"))
	for _, more := range []string{aSchema, "", aSchema} {
		if got := chat(t, quiet, question, true, more); got.status != 200 || more == "" && got.raw != good {
			t.Errorf("alone: %s", got.raw)
		}
	}
	for i, got := range burst(t, fake{}, "guided-kills", chatBody(question, true, ""), chatBody(question, true, ""), chatBody(question, true, "")) {
		if got.raw != good {
			t.Errorf("%d without a form: %s", i, got.raw)
		}
	}
	for i, got := range burst(t, fake{}, "guided-kills:above=2", chatBody(question, true, aSchema), chatBody(question, true, aSchema)) {
		if got.status != 200 || !strings.Contains(got.text, "48213907") {
			t.Errorf("%d of two: %s", i, got.raw)
		}
	}
}
