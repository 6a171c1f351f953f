package faultproxy_test

import (
	"strings"
	"sync"
	"testing"
)

// long is a prompt beyond what faults of kernels take for short.
var long = strings.Repeat("The house by the river is old. ", 100) + question

// unlike is an answer that ends well and says something else.
func unlike(got, good answer) string { return all(healthy(got), want(got.text != good.text, got.text)) }

// The size of a batch, and the order in which a long prompt and a short one come, decide.
func TestKernelPathsInCompany(t *testing.T) {
	t.Parallel()
	for _, c := range []crowd{
		{spec: "batch-garbage", prompts: []string{question, questions[1], question + " "}, want: "xxx"},
		{spec: "batch-garbage", prompts: []string{question, questions[1]}, want: ".."},
		{spec: "prefill-spoils-decode", prompts: []string{question, long}, want: "x."},
		{spec: "prefill-spoils-decode", prompts: []string{long, question}, want: ".."},
		{spec: "prefill-spoils-decode", prompts: []string{question, questions[1]}, want: ".."},
		{spec: "prefill-spoils-decode:characters=1", prompts: []string{question, long}, want: ".."},
	} {
		c.run(t, unlike)
	}
}

// A long prompt dies beside a short one, and beside nobody not.
func TestMixedDies(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{true, false} {
		g := newGate(fake{})
		url := serve(t, proxy(t, g, "mixed-dies"))
		var wg sync.WaitGroup
		wg.Go(func() {
			if got := chat(t, url, question, stream, ""); got.text != sentence {
				t.Errorf("the short one: %s", got.raw)
			}
		})
		<-g.arrived
		if got := chat(t, url, long, stream, ""); refused(500)(got, got) != "" {
			t.Errorf("the long one: %s", got.raw)
		}
		close(g.opened)
		wg.Wait()
		if got := chat(t, url, long, stream, ""); got.text != sentence {
			t.Errorf("alone: %s", got.raw)
		}
	}
}
