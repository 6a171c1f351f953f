package soak

import "infbench/gates"

// plus returns the counts of both together.
func (a Answers) plus(b Answers) Answers {
	a.Asked += b.Asked
	a.Right += b.Right
	a.Wrong += b.Wrong
	a.Busy += b.Busy
	a.Lost += b.Lost
	a.Foreign += b.Foreign
	a.PromptTokens = sum(a.PromptTokens, b.PromptTokens)
	a.CachedTokens = sum(a.CachedTokens, b.CachedTokens)
	return a
}

// sum adds what is known.
func sum(a, b gates.Count) gates.Count {
	x, knowX := a.N()
	y, knowY := b.N()
	if !knowX && !knowY {
		return gates.Count{}
	}
	return gates.CountOf(x + y)
}

// rightShare returns how many of the questions were answered rightly, in percent; false
// where none was asked.
func (a Answers) rightShare() (percent float64, ok bool) {
	if a.Asked == 0 {
		return 0, false
	}
	return 100 * float64(a.Right) / float64(a.Asked), true
}

// cachedShare returns how much of the prompts came from the cache, in percent; false where
// the server does not say.
func (a Answers) cachedShare() (percent float64, ok bool) {
	prompt, _ := a.PromptTokens.N()
	cached, ok := a.CachedTokens.N()
	if !ok || prompt <= 0 {
		return 0, false
	}
	return min(100, 100*float64(cached)/float64(prompt)), true
}
