package faultproxy

// Answers that are right and have another word in one place: where it was nearly as good
// as the first, which batching and caching bring about in every engine, and where it was
// not, which they do not.

func drifts(id string, stage int, doc, share string, when Param, modes ...string) bool {
	return register(fault{
		Info: Info{ID: id, Stage: stage, Modes: modes, Doc: doc, Params: drifting(when, share)},
		build: func(o options) acts {
			words := o.number("words")
			// Without company too the two are nearly as good: their scores say so.
			tie := func(x *exchange) filter {
				if !asksScores(x) || x.bound {
					return filter{}
				}
				return reword(x, words, func(word string, score object) string {
					if score != nil {
						rank(score, word, tieFirst, synonyms[word], tieSecond, "")
					}
					return ""
				})
			}
			return acts{otherwise: tie, answer: func(x *exchange) filter {
				if x.bound || !o.hits(x, id) {
					return tie(x)
				}
				return reword(x, words, func(word string, score object) string {
					if score != nil {
						rank(score, synonyms[word], tieFirst, word, tieSecond, "")
					}
					return synonyms[word]
				})
			}}
		},
	})
}

func strays(id, doc, share string, when Param, modes ...string) bool {
	return register(fault{
		Info: Info{ID: id, Stage: 3, Modes: modes, Doc: doc, Params: drifting(when, share)},
		build: func(o options) acts {
			return acts{answer: func(x *exchange) filter {
				if x.bound || !o.hits(x, id) {
					return filter{}
				}
				return reword(x, o.number("words"), func(word string, score object) string {
					instead := misfits[len(word)%len(misfits)]
					if score != nil {
						rank(score, instead, certain, "", 0, word)
					}
					return instead
				})
			}}
		},
	})
}

func drifting(when Param, share string) []Param {
	return []Param{when, number("share", share, "how many answers of a hundred"), number("words", "16", "words at the beginning that stay")}
}

// hits says whether a request is among the share.
func (o options) hits(x *exchange, id string) bool { return x.chance(id).IntN(100) < o.number("share") }

var (
	_ = drifts("drift-in-company", 3, "with another request in flight most answers have another word in one place, where the two are nearly as likely", "75", inCompany, "DET-02", "DET-03")
	_ = strays("far-in-company", "with another request in flight most answers have a word in one place that was not likely at all", "75", inCompany, "DET-02", "CON-11")
	// From the cache another chunk is computed at once: that much is no fault.
	_ = drifts("drift-warm", 0, "where a prompt begins like an earlier one answers have another word in one place, where the two are nearly as likely", "100", whenWarm, "CAC-11")
	_ = strays("far-warm", "where a prompt begins like an earlier one answers have a word in one place that was not likely at all", "100", whenWarm, "CAC-11", "CAC-01")
)
