package main

import (
	"strconv"
	"sync"
	"sync/atomic"

	"infbench/gates"
	"infbench/stages/endpoint"
)

// prompts makes the requests: a number that is in no cache, prose, and a code that is asked
// for.
type prompts struct {
	r         *runner
	sentences int
	n         atomic.Uint64
}

// prompt is one request, its body built.
type prompt struct {
	body endpoint.Prepared
	code gates.Canary
}

func (p *prompts) request() (endpoint.Request, gates.Canary) {
	n := p.n.Add(1)
	code := p.r.ep.Canaries().Issue()
	text := "Note " + strconv.FormatUint(p.r.seed^n<<32, 36) + ". "
	if p.r.input > 0 {
		text += endpoint.NewProse(p.r.seed+n).Sentences(max(1, p.sentences)) + " "
	}
	text += "The secret code is " + code.String() + ". What is the secret code?"
	q := endpoint.Chat(text).MaxTokens(p.r.output).PerChunkUsage()
	if force, ok := p.r.ep.Engine().(endpoint.LengthForcer); ok && p.r.forced {
		q = force.ForceLength(q, p.r.output)
	}
	return q, code
}

// ahead is the number of requests that are built before the first is sent; a load of more is
// built while it runs.
const ahead = 4096

// supply returns requests until stop is called.
func (p *prompts) supply(requests int) (<-chan prompt, func()) {
	out := make(chan prompt, min(requests, ahead))
	done := make(chan struct{})
	next := func() prompt {
		q, code := p.request()
		body, _ := p.r.ep.Prepare(q, true) // plain text and numbers: it cannot fail
		return prompt{body, code}
	}
	for range cap(out) {
		out <- next()
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for range requests - cap(out) {
			select {
			case out <- next():
			case <-done:
				return
			}
		}
	})
	return out, func() { close(done); wg.Wait() }
}
