package app

import (
	"context"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"infbench/stages/correctness/parity"
	"infbench/stages/endpoint"
)

// referenceFlags name a server to compare with, and what the target is said to be beside it.
func referenceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "reference", Usage: "`URL` of a server of the same weights to compare with: one that is trusted, at full precision"},
		&cli.StringFlag{Name: "reference-model", Usage: "`NAME` of the model that it serves (default: the first one listed)"},
		&cli.StringFlag{Name: "reference-api-key-env", DefaultText: "none", Usage: "environment variable `NAME` that holds its API key"},
		&cli.StringFlag{Name: "precision", DefaultText: "undeclared", Usage: "`NAME` of what the target keeps of the reference's weights: " + strings.Join(parity.PrecisionNames(), ", ")},
	}
}

// compared lays the flags about the reference over the file's settings.
func (s *settings) compared(ctx *cli.Context) error {
	r := &s.Reference
	for _, f := range []struct {
		flag string
		to   *string
	}{{"reference", &r.Target}, {"reference-model", &r.Model}, {"reference-api-key-env", &r.APIKeyEnv}, {"precision", &s.Precision}} {
		if ctx.IsSet(f.flag) {
			*f.to = ctx.String(f.flag)
		}
	}
	if r.Target == "" && (ctx.IsSet("reference-model") || ctx.IsSet("reference-api-key-env")) {
		return usagef("--reference-model and --reference-api-key-env go with --reference URL")
	}
	if r.APIKeyEnv != "" {
		key, ok := os.LookupEnv(r.APIKeyEnv)
		if !ok {
			return usagef("--reference-api-key-env names the environment variable %.60q, which is not set", r.APIKeyEnv)
		}
		s.referenceKey = key
	}
	if s.Precision != "" {
		p, err := parity.ParsePrecision(s.Precision)
		if err != nil {
			return usagef("--precision: %v", err)
		}
		s.claim.Precision = p
	}
	return nil
}

// nameReference parses the reference's address; its key and host are as secret as the
// target's.
func (s *session) nameReference() error {
	s.redactor.Hide("reference's API key", s.set.referenceKey)
	if s.set.Reference.Target == "" {
		return nil
	}
	t, err := endpoint.ParseTarget(s.set.Reference.Target, endpoint.TargetOptions{Key: s.set.referenceKey, HostLabel: s.redactor.Host})
	if err != nil {
		return usageError{"--reference: " + err.Error()}
	}
	s.reference = t
	s.redactor.HideHost(t.Host())
	return nil
}

// hasReference reports whether there is a server to compare with.
func (s *session) hasReference() bool { return s.reference.String() != "nowhere" }

// openReference opens the reference once.
func (s *session) openReference(ctx context.Context) (endpoint.Endpoint, error) {
	s.referenceOnce.Do(func() {
		o := endpoint.Options{Model: s.set.Reference.Model, Limits: endpoint.DefaultLimits().Within(s.set.Timeout), InFlight: 1, Seed: s.seed()}
		s.referenceEp, s.referenceErr = endpoint.Open(ctx, s.reference, o)
		s.referenceErr = endpoint.FailureOf(s.referenceErr, "the reference")
	})
	return s.referenceEp, s.referenceErr
}
