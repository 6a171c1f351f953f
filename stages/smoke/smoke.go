// Package smoke holds the checks of stage 2: every output channel of a server, in
// seconds, after each restart.
//
// The one rule: a check hard-fails only on what no healthy server does, however
// small its model. Known answers decide, statistics of text support; what needs an
// ability of the model is preceded by a control, and without it the check is
// skipped. A new check is one new file.
package smoke

import (
	"context"
	"fmt"
	"net/http"

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

// An exchange is one question and its answer. Several checks judge the same one, each for
// another thing: how it ended, what was counted, on which channel it came, whether it is
// right.
type exchange struct {
	asked  endpoint.Request
	canary gates.Canary
	answer endpoint.Answer
}

// secretTold asks for a code from one sentence, streamed.
func secretTold(ctx context.Context, ep endpoint.Endpoint) (exchange, error) {
	return endpoint.Remember(ep, "the secret, streamed", func() (exchange, error) {
		c := ep.Canaries().Issue()
		plant, question := secret(c)
		x := exchange{asked: endpoint.Chat(plant + " " + question).MaxTokens(256), canary: c}
		var err error
		x.answer, err = ep.Ask(ctx, x.asked)
		return x, err
	})
}

// secretToldPlain asks the same question as [secretTold] without streaming.
func secretToldPlain(ctx context.Context, ep endpoint.Endpoint) (exchange, error) {
	return endpoint.Remember(ep, "the secret, plain", func() (exchange, error) {
		x, err := secretTold(ctx, ep)
		if err != nil {
			return x, err
		}
		x.answer, err = ep.AskPlain(ctx, x.asked)
		return x, err
	})
}

// counted is the last number of a counting that several checks look at, streamed.
const counted = 16

func counting(ctx context.Context, ep endpoint.Endpoint) (exchange, error) {
	return endpoint.Remember(ep, "counting", func() (exchange, error) {
		x := exchange{asked: endpoint.Chat(fmt.Sprintf("List the numbers from 1 to %d.", counted)).MaxTokens(96)}
		var err error
		x.answer, err = ep.Ask(ctx, x.asked)
		return x, err
	})
}

// turnedAway reports whether a status says that the server has no room, and nothing about
// the request.
func turnedAway(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}
