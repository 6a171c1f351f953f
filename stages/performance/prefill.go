package performance

import (
	"context"
	"time"

	"infbench/gates"
)

// coldShare is the share of cached tokens up to which prompts count as cold: what is
// left is the preamble of the chat template.
const coldShare = 0.5

var _ = checks.Add(gates.Check[*Sweep]{
	ID: "performance/prefill",
	Doc: `prefill was measured serially, nominal and computed

Nominal counts all prompt tokens, computed those that were not in the cache; at a high hit rate they are more than tenfold apart. With
company in flight the time to the first token holds other people's decode steps, so only a serial level has a prefill rate. Unknown
cached tokens are not 0.`,
	Since:  "0.1.0",
	Cost:   10 * time.Second,
	Modes:  []string{"USG-04", "CAC-07"},
	Faults: []string{"no-cached-count", "no-serial-level", "one-token"},
	Causes: []string{"the server does not report cached tokens", "the sweep holds no level with one session"},
	Next:   []string{"the server's option that reports cached tokens (vLLM: --enable-prompt-tokens-details)", "--arrival sessions:n=1"},
	Run: func(_ context.Context, s *Sweep) (gates.Finding, error) {
		for _, l := range s.levels {
			switch {
			case !l.serial:
				continue
			case len(l.void) > 0:
				return gates.Warn("the serial level is void: %s", l.void[0]).Because("see performance/answers and performance/e2e"), nil
			case s.cold() && l.cachedShare > coldShare:
				return gates.Warn("%.0f %% of the prompt tokens came from the cache, where none should have: nominal prefill means nothing, computed little", 100*l.cachedShare).
					Because("another run sent the same prompts", "a system prompt or template makes up most of the prompt"), nil
			case l.good < 2:
				return gates.Warn("the serial level has %d good answers: a median needs 2", l.good), nil
			case !l.cachedKnown:
				return gates.Warn("nominal prefill only: the server does not say how many tokens came from its cache"), nil
			}
			if !s.cold() {
				return gates.Pass("measured at %s, %d requests, nominal and computed: %.0f %% of their prompts came from the cache", l.arrival, l.good, 100*l.cachedShare), nil
			}
			return gates.Pass("measured at %s, %d requests, nominal and computed", l.arrival, l.good), nil
		}
		return gates.Warn("no level of the sweep is serial, so there is no prefill rate").Because("the sweep holds no level with one session").Then("--arrival sessions:n=1"), nil
	},
})

// cold reports whether every prompt of the sweep is meant to be in no cache.
func (s *Sweep) cold() bool { return s.workload.CacheIntent == CacheIntent(Independent) }
