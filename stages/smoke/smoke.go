// Package smoke holds the checks of stage 2: every output channel of a server, in
// seconds, after each restart.
//
// The one rule: a check hard-fails only on what no healthy server does, however
// small its model. Known answers decide, statistics of text support; what needs an
// ability of the model is preceded by a control, and without it the check is
// skipped. A new check is one new file.
package smoke

import (
	"infbench/gates"
	"infbench/stages/endpoint"
)

var checks gates.Registry[endpoint.Endpoint]

// Checks returns the checks of stage 2, cheapest first.
func Checks() []gates.Check[endpoint.Endpoint] { return checks.All() }

// Infos returns the documentation of the checks.
func Infos() []gates.Info { return checks.Infos() }

// secret is the sentence that plants a canary and the question that asks for it.
// The words matter: the smallest real models answer them 12 times of 12.
func secret(c gates.Canary) (plant, question string) {
	return "The secret code is " + c.String() + ".", "What is the secret code?"
}
