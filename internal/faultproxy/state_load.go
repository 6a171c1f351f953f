package faultproxy

// Servers that one burst has broken.

var _ = register(fault{
	Info: Info{
		ID: "slow-poison", Stage: 3, Modes: []string{"CAC-04", "CON-07"},
		Doc:    "after one burst every later answer has one digit wrong in every number of five or more",
		Params: []Param{number("burst", "5", "more requests in flight together than this are one")},
	},
	build: func(o options) acts {
		return acts{
			scope:  func(x *exchange) bool { return x.generates && x.crowd > o.number("burst") },
			answer: digits(everyText, slip),
		}
	},
})
