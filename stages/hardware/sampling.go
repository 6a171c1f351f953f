package hardware

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[Subject]{
	ID: "hardware/sampling",
	Doc: `every way to choose the next token works: greedy, sampled, penalised, with logprobs, held to JSON

Each is a kernel or a library of its own, and a server whose greedy path is perfect dies of, or speaks garbage with, the first request that
samples, asks for logprobs or brings a grammar. One short text is asked for in each way. What the server refuses in words is noted and no
fault; a failure, an empty answer or a degenerate text counts when it comes twice. That a seed repeats, a schema holds and a log probability
is one is for stage 2.`,
	Since:  "0.4.0",
	Cost:   700 * time.Millisecond,
	Needs:  []gates.Capability{endpoint.Server},
	Modes:  []string{"NUM-15", "OPS-03", "STC-07", "OUT-02"},
	Faults: []string{"sampled-garbage", "option-fails", "salad"},
	Causes: []string{"the sampler's kernel is missing or wrong on this device", "the library for constrained decoding is missing or broken"},
	Next:   []string{"the server's log, around this request", "another sampling backend, another grammar backend"},
	Run:    sampling,
})

// anyRecord is a schema that every grammar can follow.
var anyRecord = json.RawMessage(`{"type":"object","properties":{"colour":{"type":"string","enum":["red","green","blue"]},"count":{"type":"integer"}},"required":["colour","count"],"additionalProperties":false}`)

// way is one way to choose tokens.
type way struct {
	name string
	with func(endpoint.Request) endpoint.Request
}

var ways = []way{
	{"temperature 0", func(r endpoint.Request) endpoint.Request { return r }},
	{"temperature 0.7", func(r endpoint.Request) endpoint.Request { return r.Temperature(0.7) }},
	{"no seed", func(r endpoint.Request) endpoint.Request { return r.Temperature(0.7).Unseeded() }},
	{"top_p", func(r endpoint.Request) endpoint.Request { return r.Temperature(0.7).Sampler("top_p", 0.9) }},
	{"top_k", func(r endpoint.Request) endpoint.Request { return r.Temperature(0.7).Sampler("top_k", 20) }},
	{"min_p", func(r endpoint.Request) endpoint.Request { return r.Temperature(0.7).Sampler("min_p", 0.05) }},
	{"penalties", func(r endpoint.Request) endpoint.Request {
		return r.Sampler("frequency_penalty", 0.2).Sampler("presence_penalty", 0.2)
	}},
	{"logprobs", func(r endpoint.Request) endpoint.Request { return r.Logprobs(3) }},
	{"logprobs, sampled", func(r endpoint.Request) endpoint.Request { return r.Temperature(0.7).Logprobs(3) }},
	{"json_schema", func(r endpoint.Request) endpoint.Request { return r.JSONSchema("record", anyRecord) }},
	{"json_object", func(r endpoint.Request) endpoint.Request { return r.JSONObject() }},
}

func sampling(ctx context.Context, s Subject) (gates.Finding, error) {
	var worked, refused, once []string
	for i, w := range ways {
		text := "Write one sentence about the sea."
		if strings.HasPrefix(w.name, "json") {
			text = "Name a colour and a count, as a JSON object."
		}
		ask := step{request: w.with(endpoint.Chat(text).MaxTokens(40))}
		t := ask.put(ctx, s)
		if t.refused() && i > 0 {
			refused = append(refused, w.name)
			continue
		}
		what := t.ill()
		if what == "" {
			worked = append(worked, w.name)
			continue
		}
		again := ask.put(ctx, s)
		switch {
		case ctx.Err() != nil:
			return gates.Finding{}, context.Cause(ctx)
		case i == 0 && again.err != nil:
			return gates.Finding{}, again.err
		case again.ill() == "":
			once = append(once, w.name+": "+what)
			continue
		}
		f := gates.Fail("with %s a request is not answered sanely, twice", w.name).With("%s", what)
		if len(worked) > 0 {
			f = f.With("it works with %s", strings.Join(worked, ", "))
		}
		if after := (step{request: ways[0].with(endpoint.Chat("Hello").MaxTokens(4))}).put(ctx, s); after.err != nil {
			f = f.With("a plain question afterwards fails too: %v", after.err)
		}
		return f, nil
	}
	f := gates.Pass("%s", strings.Join(worked, ", "))
	if len(once) > 0 {
		f = gates.Warn("once, and not again, with %s", once[0])
	}
	if len(refused) > 0 {
		f = f.With("refused in words: %s", strings.Join(refused, ", "))
	}
	return f, nil
}

// refused reports whether the server declined the request, which is its right.
func (t step) refused() bool {
	var f *endpoint.Failure
	return errors.As(t.err, &f) && (f.Kind == endpoint.Refused || f.Status == 400 || f.Status == 422 || f.Status == 501)
}
