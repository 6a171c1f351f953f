package faultproxy

import "strings"

// Answers that depend on the length of the prompt.

var _ = register(fault{
	Info: Info{
		ID: "boundary", Stage: 3, Modes: []string{"CAC-09"},
		Doc: "where the prompt fills its last block, numbers of five or more digits lose one",
		Params: []Param{
			number("block", "64", "tokens of a block, by the upstream's usage"),
			number("window", "0", "tokens before and after the end of a block that count as well"),
		},
	},
	build: atEdges(loseDigit),
})

var _ = register(fault{
	Info: Info{
		ID: "block-edge-wrong", Stage: 3, Modes: []string{"CAC-09", "CAC-01"},
		Doc: "where a prompt fills its last block and begins like an earlier one, one digit is wrong in every number of five or more",
		Params: []Param{
			number("block", "64", "tokens of a block, by the upstream's usage"),
			number("window", "0", "tokens before and after the end of a block that count as well"),
			whenWarm,
		},
	},
	build: atEdges(slip),
})

// atEdges changes numbers where the prompt fills its last block.
func atEdges(change func(run string) string) func(options) acts {
	return func(o options) acts {
		block := max(o.number("block"), 1)
		meets := func(doc object) bool {
			usage, _ := doc["usage"].(object)
			n := toInt(usage["prompt_tokens"])
			return n > 0 && min(n%block, block-n%block) <= o.number("window")
		}
		return acts{answer: func(x *exchange) filter {
			lossy := digits(everyText, change)(x)
			// The usage of a stream comes last: what might be about digits waits for it.
			var held []*event
			met := false
			return filter{
				event: func(e *event, out outlet) {
					met = met || meets(e.doc)
					if len(held) == 0 && !e.counts() {
						out.send(e)
						return
					}
					held = append(held, e)
				},
				end: func(out outlet) {
					for _, e := range held {
						if met {
							lossy.event(e, out)
						} else {
							out.send(e)
						}
					}
					if met {
						lossy.end(out)
					}
				},
				body: func(doc object) bool { return meets(doc) && lossy.body(doc) },
			}
		}}
	}
}

// counts: some text of the event has a digit.
func (e *event) counts() bool {
	for _, p := range parts(e.doc) {
		for _, t := range p.texts() {
			if strings.ContainsFunc(t.text, isDigit) {
				return true
			}
		}
	}
	return false
}

// loseDigit drops the one in the middle.
func loseDigit(run string) string { return run[:len(run)/2] + run[len(run)/2+1:] }
