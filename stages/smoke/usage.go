package smoke

import (
	"context"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/usage",
	Doc: `the server counts its tokens, in streams too, and the counts add up

Without a count there is no rate, and a count that is wrong makes every figure wrong. Absent is unknown, never 0.`,
	Since:  "0.1.0",
	Cost:   1200 * time.Millisecond,
	Modes:  []string{"USG-01", "USG-02", "USG-03", "USG-05"},
	Faults: []string{"usage-missing", "total-mismatch", "usage-zero-prompt", "cached-too-many"},
	Causes: []string{"stream_options.include_usage is not honoured", "a gateway rewrites usage", "tokens are counted per event"},
	Next:   []string{"the server's option that forces usage in streams"},
	Run:    usage,
})

func usage(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
	told, err := secretTold(ctx, ep)
	if err != nil {
		return gates.Finding{}, err
	}
	toldPlain, err := secretToldPlain(ctx, ep)
	if err != nil {
		return gates.Finding{}, err
	}
	streamed, plain := told.answer, toldPlain.answer
	var f gates.Finding
	fail := func(format string, a ...any) {
		if f.Status() == 0 {
			f = gates.Fail("the token counts are wrong")
		}
		f = f.With(format, a...)
	}
	for _, side := range []struct {
		name string
		a    endpoint.Answer
	}{{"streamed", streamed}, {"plain", plain}} {
		u := side.a.Usage
		p, hasP := u.Prompt.N()
		o, hasO := u.Completion.N()
		total, hasT := u.Total.N()
		cached, hasC := u.Cached.N()
		for _, b := range side.a.Broke {
			if strings.HasPrefix(b.What, "usage ") {
				fail("%s: %s", side.name, b.What)
			}
		}
		if hasP && p < 1 {
			fail("%s: %d prompt tokens", side.name, p)
		}
		if hasP && hasO && hasT && total != p+o {
			fail("%s: total %d is not prompt %d + completion %d", side.name, total, p, o)
		}
		if hasP && hasC && cached > p {
			fail("%s: %d cached tokens of %d", side.name, cached, p)
		}
		if hasO && o == 0 && side.a.Everything() != "" {
			fail("%s: 0 completion tokens for %s", side.name, side.a.Says())
		}
	}
	if f.Status() != 0 {
		return f, nil
	}
	sn, hasS := streamed.Usage.Completion.N()
	pn, hasP := plain.Usage.Completion.N()
	switch {
	case !hasP && !hasS:
		return gates.Warn("the server counts no tokens at all: rates need --tokenizer"), nil
	case !hasS:
		ep.FoundUnable(endpoint.UsageStream, "asked for with stream_options.include_usage, and it did not come")
		return gates.Warn("no usage comes in a stream, though it was asked for").With("plain: %d completion tokens", pn), nil
	case streamed.Everything() == plain.Everything() && hasP && (sn > pn+1 || pn > sn+1):
		return gates.Fail("the same text is %d tokens streamed and %d plain", sn, pn), nil
	}
	if _, ok := streamed.Usage.Cached.N(); !ok {
		ep.FoundUnable(endpoint.CachedCount, "usage holds no prompt_tokens_details.cached_tokens")
	}
	return gates.Pass("%d prompt and %d completion tokens, streamed and plain", streamed.Usage.Prompt.Or(0), sn), nil
}
