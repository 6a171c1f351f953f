package record_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"infbench/gates"
	"infbench/record"
	"infbench/record/recordtest"
)

func samplesOf(n int) []record.Sample {
	var out []record.Sample
	for i := range n {
		out = append(out, recordtest.Sample(time.Duration(i)*10*time.Second))
	}
	return out
}

func window(t *testing.T, p record.EngineParts) record.EngineWindow {
	t.Helper()
	e, err := record.NewEngineWindow(p)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func standing(a record.Agreement, what string) (record.Accord, string) {
	for _, c := range a {
		if c.What == what {
			return c.Accord, c.Words
		}
	}
	return "", ""
}

// Ten requests of the vector: 4,000 output tokens, 928,880 prompt tokens, TTFT 1.1 s, decode
// 7.98 s, 9.1 s to the end of the stream.
func TestCrossCheck(t *testing.T) {
	t.Parallel()
	const n = 10
	ttft, decode, e2e, out, prompt, reqs := "time to the first token", "decode time", "end-to-end time", "output tokens", "prompt tokens", "requests"
	ms := time.Millisecond
	for name, c := range map[string]struct {
		engine  func(*record.EngineParts)
		client  func([]record.Sample)
		source  record.TokenSource
		what    string
		want    record.Accord
		says    string
		costs   string // of the void reasons, "" for none
		noRates bool
	}{
		"1 % of the tokens":         {engine: func(p *record.EngineParts) { p.Output = gates.CountOf(4040) }, what: out, want: record.Agrees},
		"past 1 %":                  {engine: func(p *record.EngineParts) { p.Output = gates.CountOf(4041) }, what: out, want: record.Disagrees, says: "told of 4000, the engine's counter moved by 4041", costs: out},
		"past 1 % below":            {engine: func(p *record.EngineParts) { p.Output = gates.CountOf(3959) }, what: out, want: record.Disagrees, costs: out},
		"counted twice":             {client: func(s []record.Sample) { each(s, func(s *record.Sample) { s.OutputTokens *= 2 }) }, what: out, want: record.Disagrees, costs: out},
		"8 and one each":            {engine: func(p *record.EngineParts) { p.Output = gates.CountOf(118) }, client: func(s []record.Sample) { each(s, func(s *record.Sample) { s.OutputTokens = 10 }) }, what: out, want: record.Agrees},
		"past 8 and one each":       {engine: func(p *record.EngineParts) { p.Output = gates.CountOf(119) }, client: func(s []record.Sample) { each(s, func(s *record.Sample) { s.OutputTokens = 10 }) }, what: out, want: record.Disagrees, costs: out},
		"our own tokenizer counted": {source: record.ClientTokenizer, engine: func(p *record.EngineParts) { p.Output = gates.CountOf(9999) }, what: out, want: record.Uncompared, says: "client tokenizer"},
		"and the prompts":           {source: record.ClientTokenizer, engine: func(p *record.EngineParts) { p.Prompt = gates.CountOf(9999) }, what: prompt, want: record.Uncompared, says: "client tokenizer"},
		"no counter":                {engine: func(p *record.EngineParts) { p.Output = gates.Count{} }, what: out, want: record.Uncompared, says: "vllm does not count"},

		"prompts differ":                  {engine: func(p *record.EngineParts) { p.Prompt = gates.CountOf(940_000) }, what: prompt, want: record.Disagrees, costs: prompt},
		"prompts computed again":          {engine: func(p *record.EngineParts) { p.Prompt, p.Preempted = gates.CountOf(940_000), gates.CountOf(1) }, what: prompt, want: record.Uncompared, says: "thrown out"},
		"prompts of llama.cpp":            {engine: func(p *record.EngineParts) { p.Prompt = gates.Count{} }, what: prompt, want: record.Agrees, says: "25080 told, 25080 counted"},
		"cached tokens that nobody told":  {engine: func(p *record.EngineParts) { p.Prompt = gates.Count{} }, client: func(s []record.Sample) { s[3].CachedTokens = gates.Count{} }, what: prompt, want: record.Uncompared, says: "not told for every"},
		"prompts that nobody told of":     {client: func(s []record.Sample) { s[3].PromptTokens = gates.Count{} }, what: prompt, want: record.Uncompared},
		"the preamble's tokens, one each": {engine: func(p *record.EngineParts) { p.Prompt = gates.CountOf(928_890) }, what: prompt, want: record.Agrees},

		"as many as sent":  {what: reqs, want: record.Agrees},
		"a probe":          {engine: func(p *record.EngineParts) { p.Finished, p.Output = gates.CountOf(11), gates.CountOf(4500) }, what: reqs, want: record.Apart},
		"a probe's tokens": {engine: func(p *record.EngineParts) { p.Finished, p.Output = gates.CountOf(11), gates.CountOf(4500) }, what: out, want: record.Uncompared, says: "not of the same requests"},
		"somebody else":    {engine: func(p *record.EngineParts) { p.Finished, p.Output = gates.CountOf(13), gates.CountOf(9000) }, what: reqs, want: record.Disagrees, says: "3 more than the 10", costs: reqs},
		"one replica of two": {engine: func(p *record.EngineParts) {
			p.Finished, p.Output, p.TTFT = gates.CountOf(5), gates.CountOf(2000), timed(50*time.Second, 5)
		}, what: reqs, want: record.Apart},
		"its tokens":         {engine: func(p *record.EngineParts) { p.Finished, p.Output = gates.CountOf(5), gates.CountOf(2000) }, what: out, want: record.Uncompared},
		"nobody counts them": {engine: func(p *record.EngineParts) { p.Finished = gates.Count{} }, what: reqs, want: record.Uncompared},

		// The client's mean is 1.1 s: a tenth more is 1.2222 s of the larger.
		"the engine a tenth longer":     {engine: func(p *record.EngineParts) { p.TTFT = timed(n*1222*ms, n) }, what: ttft, want: record.Agrees},
		"and past it":                   {engine: func(p *record.EngineParts) { p.TTFT = timed(n*1223*ms, n) }, what: ttft, want: record.Disagrees, says: "cannot be", costs: ttft},
		"a first token that was a role": {client: func(s []record.Sample) { each(s, func(s *record.Sample) { s.First = s.Sent + ms }) }, what: ttft, want: record.Disagrees, costs: ttft},
		"20 ms are nothing":             {engine: func(p *record.EngineParts) { p.TTFT = timed(n*25*ms, n) }, client: func(s []record.Sample) { each(s, func(s *record.Sample) { s.First = s.Sent + 5*ms }) }, what: ttft, want: record.Agrees},
		"a loaded front end":            {engine: func(p *record.EngineParts) { p.TTFT = timed(n*100*ms, n) }, what: ttft, want: record.Apart, says: "on the way"},
		"a slow connection":             {engine: func(p *record.EngineParts) { p.TTFT = timed(n*100*ms, n) }, client: func(s []record.Sample) { each(s, func(s *record.Sample) { s.Fresh, s.Dialled = true, 500*ms }) }, what: ttft, want: record.Agrees},
		"timed others":                  {engine: func(p *record.EngineParts) { p.TTFT = timed(99*time.Second, n+1) }, what: ttft, want: record.Uncompared},
		"not timed":                     {engine: func(p *record.EngineParts) { p.TTFT = record.EngineTimer{} }, what: ttft, want: record.Uncompared, says: "does not time it"},
		"prefill within it":             {engine: func(p *record.EngineParts) { p.TTFT = record.EngineTimer{} }, what: "prefill", want: record.Agrees},
		"prefill longer than it": {engine: func(p *record.EngineParts) {
			p.TTFT, p.Prefill = record.EngineTimer{}, record.EngineTimer{Sum: gates.SpanOf(n * 1200 * ms)}
		}, what: "prefill", want: record.Disagrees, costs: "prefill"},
		"prefill where tokens are apart": {engine: func(p *record.EngineParts) {
			p.Finished, p.Output, p.TTFT, p.Prefill = gates.Count{}, gates.Count{}, record.EngineTimer{}, record.EngineTimer{Sum: gates.SpanOf(time.Hour)}
		}, what: "prefill", want: ""},

		"hidden tokens":            {engine: func(p *record.EngineParts) { p.Decode = timed(n*8900*ms, n) }, what: decode, want: record.Disagrees, says: "held back or not shown", noRates: true},
		"hidden tokens in company": {engine: func(p *record.EngineParts) { p.Decode = timed(n*8900*ms, n) }, client: func(s []record.Sample) { s[0].End = s[1].Sent + ms }, what: decode, want: record.Apart, says: "first tokens came late"},
		"text that trickles":       {engine: func(p *record.EngineParts) { p.Decode = timed(n*4000*ms, n) }, what: decode, want: record.Apart, says: "on the way"},
		"decode without a number":  {engine: func(p *record.EngineParts) { p.Decode.N = gates.Count{} }, what: decode, want: record.Agrees},

		"a whole request longer": {engine: func(p *record.EngineParts) { p.E2E = timed(n*11*time.Second, n) }, what: e2e, want: record.Disagrees, costs: e2e},
		"cut short by the way":   {engine: func(p *record.EngineParts) { p.E2E = timed(n*5*time.Second, n) }, what: e2e, want: record.Apart},
		"a request failed":       {client: func(s []record.Sample) { s[4].Outcome = record.Cut }, engine: func(p *record.EngineParts) { p.Output = gates.CountOf(1) }, what: out, want: record.Uncompared, says: "1 of 10 requests were not answered"},
		"and its times":          {client: func(s []record.Sample) { s[4].Outcome = record.Cut }, engine: func(p *record.EngineParts) { p.TTFT = timed(time.Hour, n) }, what: ttft, want: record.Uncompared},

		"own times": {client: func(s []record.Sample) {
			each(s, func(s *record.Sample) {
				s.EngineQueue, s.EnginePrefill, s.EngineDecode = gates.SpanOf(100*ms), gates.SpanOf(time.Second), gates.SpanOf(7980*ms)
			})
		}, what: "the times of single requests", want: record.Agrees, says: "10 of 10"},
		"own times that cannot be": {client: func(s []record.Sample) { s[2].EnginePrefill = gates.SpanOf(2 * time.Second) }, what: "the times of single requests", want: record.Disagrees, costs: "single requests"},
		"own decode that cannot be": {client: func(s []record.Sample) {
			s[2].EnginePrefill, s[2].EngineDecode = gates.SpanOf(time.Second), gates.SpanOf(20*time.Second)
		}, what: "the times of single requests", want: record.Disagrees, costs: "single requests"},
		"no own times": {what: "the times of single requests", want: ""},
	} {
		p, samples, source := vector(n), samplesOf(n), c.source
		if c.engine != nil {
			c.engine(&p)
		}
		if c.client != nil {
			c.client(samples)
		}
		if source == "" {
			source = record.EngineUsage
		}
		a := record.CrossCheck(samples, source, window(t, p))
		got, words := standing(a, c.what)
		if got != c.want || !strings.Contains(words, c.says) {
			t.Errorf("%s: %s %q, want %s with %q", name, got, words, c.want, c.says)
		}
		void := strings.Join(a.Void(), "; ")
		if (c.costs == "") != (void == "") || !strings.Contains(void, c.costs) {
			t.Errorf("%s: void for %q, want %q", name, void, c.costs)
		}
		if (a.NoRates() != "") != c.noRates {
			t.Errorf("%s: no rates for %q", name, a.NoRates())
		}
	}
}

func each(s []record.Sample, change func(*record.Sample)) {
	for i := range s {
		change(&s[i])
	}
}

func TestCrossCheckOfNothing(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]record.EngineWindow{"nobody looked": {}, "it fell": window(t, record.EngineParts{Source: "vllm", Lost: "it fell"})} {
		a := record.CrossCheck(samplesOf(3), record.EngineUsage, e)
		if s, words := standing(a, "everything"); s != record.Uncompared || !strings.Contains(words, want) || a.Void() != nil || a.NoRates() != "" {
			t.Errorf("%s: %+v", want, a)
		}
	}
}

// A healthy engine under any load is never voided: its clocks begin after the client's and end
// before, by whatever its front end and the way there take.
func TestAHealthyEngineIsNeverVoid(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		upTo := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d) + 1)) }
		n := 1 + r.IntN(60)
		load := upTo(5 * time.Second) // of the front end
		p := record.EngineParts{Source: "vllm", Finished: gates.CountOf(n)}
		var ttft, decode, e2e, queue, prefill time.Duration
		var samples []record.Sample
		out, prompt := 0, 0
		for range n {
			sent := upTo(20 * time.Second)
			arrived := sent + upTo(load)
			q, pre, dec := upTo(3*time.Second), upTo(2*time.Second)+time.Microsecond, upTo(9*time.Second)
			first := arrived + q + pre
			last := first + dec
			seen := first + upTo(load)
			lastSeen := max(seen, last+upTo(load))
			o, pt := 1+r.IntN(500), 1+r.IntN(9000)
			samples = append(samples, record.Sample{
				Due: sent, Sent: sent, First: seen, FirstAnswer: seen, Last: lastSeen, End: lastSeen + upTo(load), OutputTokens: o, PromptTokens: gates.CountOf(pt), Outcome: record.OK,
				EngineQueue: gates.SpanOf(q), EnginePrefill: gates.SpanOf(pre), EngineDecode: gates.SpanOf(dec),
			})
			ttft, decode, e2e, queue, prefill = ttft+first-arrived, decode+dec, e2e+last-arrived, queue+q, prefill+pre
			out, prompt = out+o+r.IntN(2), prompt+pt+r.IntN(2)
		}
		p.Output, p.Prompt = gates.CountOf(out), gates.CountOf(prompt)
		p.TTFT, p.Decode, p.E2E, p.Queue, p.Prefill = timed(ttft, n), timed(decode, n), timed(e2e, n), timed(queue, n), timed(prefill, n)
		if r.IntN(2) == 0 { // an engine like llama.cpp: sums alone
			p.Finished, p.TTFT, p.E2E = gates.Count{}, record.EngineTimer{}, record.EngineTimer{}
			p.Decode.N, p.Prefill.N = gates.Count{}, gates.Count{}
		}
		if void := record.CrossCheck(samples, record.EngineUsage, window(t, p)).Void(); void != nil {
			t.Errorf("seed %d: %q", seed, void)
		}
	}
}
