package faultproxy

import (
	"encoding/json"
	"math"
	"unicode/utf8"
)

// Long prompts of which the model sees something else, with usage that does not show it.

var _ = register(fault{
	Info: Info{
		ID: "over-long-garbage", Stage: 2, Modes: []string{"CTX-04"},
		Doc:    "a prompt longer than the context is counted in full and answered with fragments of words",
		Params: []Param{number("depth", "80000", "characters that fit")},
	},
	build: func(o options) acts {
		return acts{
			request: func(x *exchange) { x.keepTail(o.number("depth")) },
			answer: func(x *exchange) filter {
				// What the upstream did not see counts like what it saw.
				ratio := float64(utf8.RuneCountInString(x.prompt)) / float64(max(utf8.RuneCountInString(x.promptText()), 1))
				chance := x.chance("over-long-garbage")
				return changedFirst(salad(chance, 0), usageOf(func(usage object) bool {
					was := toInt(usage["prompt_tokens"])
					now := int(math.Round(float64(was) * ratio))
					usage["prompt_tokens"] = toNumber(now)
					usage["total_tokens"] = toNumber(toInt(usage["total_tokens"]) + now - was)
					return true
				}))
			},
		}
	},
})

var _ = register(fault{
	Info: Info{
		ID: "band", Stage: 3, Modes: []string{"CTX-13"},
		Doc: "in a long prompt the model sees filler in the place of one part",
		Params: []Param{
			number("from", "40", "where the part begins, in percent of the characters"),
			number("to", "60", "where it ends"),
			number("depth", "8000", "characters of the longest prompt that is left alone"),
		},
	},
	build: func(o options) acts {
		return acts{request: func(x *exchange) {
			x.overwrite(func(length int) (from, to int) { return length * o.number("from") / 100, length * o.number("to") / 100 })
		}}
	},
})

var _ = register(fault{
	Info: Info{
		ID: "window-only", Stage: 3, Modes: []string{"CTX-08"},
		Doc:    "of a long prompt the model sees the end, and filler before it",
		Params: []Param{number("keep", "8000", "characters at the end; prompts without more are left alone")},
	},
	build: func(o options) acts {
		return acts{request: func(x *exchange) {
			x.overwrite(func(length int) (from, to int) { return 0, length - o.number("keep") })
		}}
	},
})

// padding says nothing, at the length of what was there.
const padding = "There is nothing here that anybody would have to know. "

// overwrite puts filler over a part of the prompt's text, character for character.
func (x *exchange) overwrite(span func(length int) (from, to int)) {
	var prompt string
	if json.Unmarshal(x.fields["prompt"], &prompt) == nil {
		r := []rune(prompt)
		if from, to := span(len(r)); blot(r, from, to) {
			x.set("prompt", string(r))
		}
		return
	}
	list := x.messages()
	length, changed := 0, false
	for _, m := range list {
		length += utf8.RuneCountInString(m.text())
	}
	from, to := span(length)
	for _, m := range list {
		r := []rune(m.text())
		if blot(r, from, to) {
			m.setText(string(r))
			changed = true
		}
		from, to = from-len(r), to-len(r)
	}
	if changed {
		x.set("messages", list)
	}
}

// blot overwrites r[from:to] as far as there is such a part.
func blot(r []rune, from, to int) bool {
	from, to = max(from, 0), min(to, len(r))
	for i := from; i < to; i++ {
		r[i] = rune(padding[(i-from)%len(padding)])
	}
	return from < to
}
