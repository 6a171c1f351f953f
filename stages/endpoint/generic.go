package endpoint

import (
	"context"
	"strings"

	"infbench/gates"
)

// generic is any OpenAI-compatible server that none of the adapters recognises. It
// promises nothing beyond the protocol.
type generic struct{ s *surface }

// Name returns "generic".
func (generic) Name() string { return "generic" }

// Identify takes what the model list and /version hold, if anything.
func (g generic) Identify(ctx context.Context) (Build, error) {
	if err := g.s.anew(ctx); err != nil {
		return Build{}, err
	}
	return Build{
		Version:       g.s.json(ctx, "/version", "version").Str,
		ContextTokens: count(g.s.listed(ctx, "max_model_len")),
		Config:        configHash(strings.TrimSpace(g.s.listed(ctx, "max_model_len").Raw)),
		Process:       processStart(g.s.metrics(ctx)),
	}, nil
}

// Unable knows of nothing that is missing.
func (generic) Unable(c gates.Capability) string {
	if c == ForcedLong {
		return "the engine is not recognised, so its way to force the output length is not known"
	}
	return ""
}
