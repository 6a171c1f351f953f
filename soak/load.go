package soak

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"infbench/arrival"
	"infbench/gates"
	"infbench/stages/endpoint"
)

// load is the light constant load beside the checks: sessions that ask for codes of their
// own and judge each answer. It can be brought to rest.
type load struct {
	model arrival.ArrivalModel
	codes [][]gates.Canary // of each session
	heads []string         // of each session: what a prefix cache keeps
	seats chan struct{}    // a session takes one while it asks, whoever wants rest takes all
	stop  context.CancelFunc
	done  chan struct{}

	problems  chan problem
	interrupt func() // is called when a problem is there

	mu    sync.Mutex
	ep    endpoint.Endpoint
	count Answers
	deaf  [2]bool // to answers that are missing, and to those that are mixed up
}

// problem is an answer of the load that no healthy server gives.
type problem struct {
	foreign bool
	what    string
}

// The load takes its codes from a small stock and uses them again: with a fresh one for each
// question, after some ten thousand a slip of the model would be some other question's code.
const (
	codesEach = 32
	headSize  = 10 // sentences
)

// newLoad returns a load that has not started.
func newLoad(ep endpoint.Endpoint, model arrival.ArrivalModel, interrupt func()) *load {
	n := model.Sessions()
	l := &load{model: model, ep: ep, seats: make(chan struct{}, n), done: make(chan struct{}), problems: make(chan problem, 16), interrupt: interrupt}
	for range n {
		var codes []gates.Canary
		for range codesEach {
			codes = append(codes, ep.Canaries().Issue())
		}
		l.codes = append(l.codes, codes)
		l.heads = append(l.heads, endpoint.NewProse(seedOf(codes[0])).Sentences(headSize))
	}
	return l
}

// seedOf makes a seed that no earlier run on the same server had.
func seedOf(c gates.Canary) uint64 {
	n := uint64(0)
	for _, d := range c.String() {
		n = n*10 + uint64(d-'0')
	}
	return n
}

// start lets the sessions begin. They end with ctx or with end.
func (l *load) start(ctx context.Context) {
	ctx, l.stop = context.WithCancel(ctx)
	go func() {
		defer close(l.done)
		// A closed loop wants a limit; ctx ends it before.
		_, _, _ = arrival.Drive(ctx, l.model, arrival.Stop{After: math.MaxInt64}, l.ask)
	}()
}

// end ends the sessions and waits for them.
func (l *load) end() {
	l.stop()
	<-l.done
}

func (l *load) ask(ctx context.Context, slot arrival.Slot) {
	select {
	case l.seats <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-l.seats }()
	want := l.codes[slot.Session][slot.Turn%codesEach]
	tail := endpoint.NewProse(uint64(slot.Session)<<32 | uint64(slot.Turn)).Sentences(1 + slot.Turn%4)
	l.mu.Lock()
	ep := l.ep
	l.mu.Unlock()
	a, err := ep.Ask(ctx, endpoint.Chat(l.heads[slot.Session]+" "+tail+" The secret code is "+want.String()+". What is the secret code?").MaxTokens(64))
	if ctx.Err() != nil {
		return // it was cut off by us
	}
	l.judge(ep, want, a, err)
}

// judge counts an answer, and says so when no healthy server gives it.
func (l *load) judge(ep endpoint.Endpoint, want gates.Canary, a endpoint.Answer, err error) {
	one := Answers{Asked: 1, PromptTokens: a.Usage.Prompt, CachedTokens: a.Usage.Cached}
	var p *problem
	var f *endpoint.Failure
	echo, _ := ep.Canaries().Judge(a.Visible(), want)
	switch {
	case errors.As(err, &f) && f.Kind == endpoint.Busy:
		one.Busy = 1
	case err != nil:
		one.Lost, p = 1, &problem{what: err.Error()}
	case echo == gates.Foreign:
		one.Foreign, p = 1, &problem{foreign: true, what: fmt.Sprintf("asked for %s, answered %s", want, a.Says())}
	case echo == gates.Found:
		one.Right = 1
	default:
		one.Wrong = 1
	}
	l.mu.Lock()
	l.count = l.count.plus(one)
	tell := p != nil && !l.deaf[kind(p.foreign)]
	l.mu.Unlock()
	if !tell {
		return
	}
	select {
	case l.problems <- *p:
		l.interrupt()
	default: // it is told of enough
	}
}

// rest waits until no session asks and keeps them from it until again is called; false when
// ctx ended first.
func (l *load) rest(ctx context.Context) (again func(), ok bool) {
	taken := 0
	again = func() {
		for range taken {
			<-l.seats
		}
		taken = 0
	}
	for taken < cap(l.seats) {
		select {
		case l.seats <- struct{}{}:
			taken++
		case <-ctx.Done():
			again()
			return func() {}, false
		}
	}
	return again, true
}

// forget drops the answers that are missing and were not looked at, since what was behind
// them is known by now, and returns the others.
func (l *load) forget() (foreign []problem) {
	for p, ok := l.problem(); ok; p, ok = l.problem() {
		if p.foreign {
			foreign = append(foreign, p)
		}
	}
	return foreign
}

// take returns what was counted since it was last taken.
func (l *load) take() Answers {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.count
	l.count = Answers{}
	return out
}

// afresh lets the sessions ask through another value of the same endpoint.
func (l *load) afresh(ep endpoint.Endpoint) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ep = ep
}

// mute keeps problems of a kind that is known from being told for ever. They are counted
// all the same.
func (l *load) mute(foreign bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deaf[kind(foreign)] = true
}

// listen takes it back.
func (l *load) listen() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deaf = [2]bool{}
}

func kind(foreign bool) int {
	if foreign {
		return 1
	}
	return 0
}

// problem returns a problem that was not looked at, false where there is none.
func (l *load) problem() (problem, bool) {
	select {
	case p := <-l.problems:
		return p, true
	default:
		return problem{}, false
	}
}
