// Package correctness holds the checks of stage 3: right at length, in company, on a
// warm cache and over a growing transcript.
//
// The one rule: two conditions on one server are compared (alone and in company,
// cold and warm, short and long), since a weak model fails on both sides and a broken
// engine on one. What needs an ability finds out first, short and alone, whether the
// model has it, and is skipped without it; what only needs the engine to agree with
// itself always counts. A new check is one new file.
package correctness

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"infbench/gates"
	"infbench/stages/endpoint"
)

// question asks for a code in the words that the smallest real models answer.
func question(prose string, c gates.Canary) endpoint.Request {
	return endpoint.Chat(strings.TrimSpace(prose + " The secret code is " + c.String() + ". What is the secret code?")).MaxTokens(64)
}

// trial is one question and what came of it.
type trial struct {
	want    gates.Canary
	own     []gates.Canary // other codes in its prompt, where it is put again
	request endpoint.Request
	answer  endpoint.Answer
	err     error
	echo    gates.Echo
	seen    string
	kind    string // of question, where a check puts several
	first   int    // number of a list, where one is counted
}

func (t trial) right() bool { return t.err == nil && t.echo == gates.Found }

func (t trial) unanswered() bool { return t.err != nil }

// judge fills in how the canary came back.
func (t *trial) judge(ep Subject, own ...gates.Canary) {
	if t.err == nil {
		t.echo, t.seen = ep.Canaries().Judge(t.answer.Visible(), t.want, own...)
	}
}

// says describes the trial for evidence.
func (t trial) says() string {
	if t.err != nil {
		return fmt.Sprintf("asked for %s: %v", t.want, t.err)
	}
	return fmt.Sprintf("asked for %s, answered %s", t.want, t.answer.Says())
}

// inCompany runs n jobs with at most size of them at once and waits for all.
func inCompany(n, size int, job func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(size, n) {
		wg.Go(func() {
			for i := range next {
				job(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// hardSymptom returns the first hard symptom of an answer's channels. Loops are left
// out: at temperature 0 they may be the model's own.
func hardSymptom(a endpoint.Answer, prompt string) string {
	for _, channel := range []string{a.Content, a.Reasoning} {
		for _, s := range gates.Degenerate(channel, gates.TextContext{Prompt: prompt, CutShort: a.CutShort()}) {
			if s.Hard && s.ID != "D1" {
				return s.ID + ": " + s.Detail
			}
		}
	}
	return ""
}

// ended reports whether the run was stopped, so that a check gives up early.
func ended(ctx context.Context) bool { return ctx.Err() != nil }

// commonPrefix returns the number of leading runes that two texts share.
func commonPrefix(a, b string) int {
	x, y := []rune(a), []rune(b)
	n := 0
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	return n
}
