package parity

import "math"

// shared is one token that both lists name, with its log probability in each.
type shared struct{ reference, target float64 }

// common returns the tokens that both lists name.
func common(reference, target []scored) []shared {
	at := map[string]float64{}
	for _, s := range target {
		at[s.name] = s.logprob
	}
	var out []shared
	for _, s := range reference {
		if lp, ok := at[s.name]; ok {
			out = append(out, shared{s.logprob, lp})
		}
	}
	return out
}

// divergence returns the Kullback-Leibler divergence of the target from the reference in
// nats, as far as the lists show it: over the tokens that both name, and one bucket for
// all others. Putting tokens into a bucket can only lose divergence (the data-processing
// inequality), so this never says more than comparing the whole vocabulary would.
func divergence(both []shared) float64 {
	// Below this the rest of the mass is rounding. A larger rest of the target makes the
	// divergence smaller, so the bound stays one.
	const least = 1e-7
	kl, p, q := 0.0, 1.0, 1.0
	for _, s := range both {
		a := math.Exp(s.reference)
		kl += a * (s.reference - s.target)
		p, q = p-a, q-math.Exp(s.target)
	}
	if p > 0 {
		kl += p * math.Log(p/max(q, least))
	}
	return max(0, kl)
}
