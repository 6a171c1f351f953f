package refengine

import (
	"errors"
	"fmt"
	"io"

	"infbench/internal/batching"
)

// Config describes an engine. The zero Config is a usable engine: a zero field
// stands for the default named beside it. New refuses values that make no sense.
type Config struct {
	Model         string // name served; "infbench-reference"
	ContextLength int    // prompt and output together, in tokens; 32768
	BlockSize     int    // tokens per KV block; 16
	KVBlocks      int    // KV capacity; 16384 blocks
	MaxRunning    int    // sequences in one step; 256
	MaxQueue      int    // waiting requests before 503; 1024
	StepTokens    int    // tokens computed in one step, so long prompts come in chunks; 2048

	Cost          batching.Cost // price list of a step; batching.DefaultCost
	NoPrefixCache bool          // every prompt is computed in full

	Seed           uint64    // of whatever may vary: unseeded sampling at a temperature above 0
	APIKey         string    // when set, /v1 asks for it; other paths stay open
	Thinks         bool      // a reasoning text comes first unless the request declines it
	ReasoningField string    // "reasoning", or "reasoning_content" as other servers have it
	Version        string    // told at /version; "0"
	Image          string    // image digest told at /version, for callers that run in a container; "": not told
	RequestMetrics bool      // each answer tells its own times, as vLLM's do with --enable-per-request-metrics
	Truth          io.Writer // receives one JSON line per finished request; nil: none
}

// SlowPrefill is the price list of an engine that takes its time over prompts, so that a
// cache shows in times on a busy machine too: 0.4 ms for each token computed.
func SlowPrefill() batching.Cost {
	c := batching.DefaultCost()
	c.PerPrefillToken = 400_000
	return c
}

const maxContext = 1 << 24 // far above any served context; keeps block counts in int32

func (c Config) withDefaults() Config {
	if c.Model == "" {
		c.Model = "infbench-reference"
	}
	if c.ReasoningField == "" {
		c.ReasoningField = "reasoning"
	}
	if c.Version == "" {
		c.Version = "0"
	}
	if c.Cost == (batching.Cost{}) {
		c.Cost = batching.DefaultCost()
	}
	for _, d := range []struct {
		field *int
		value int
	}{
		{&c.ContextLength, 32768},
		{&c.BlockSize, 16},
		{&c.KVBlocks, 16384},
		{&c.MaxRunning, 256},
		{&c.MaxQueue, 1024},
		{&c.StepTokens, 2048},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	return c
}

func (c Config) limits() batching.Limits {
	return batching.Limits{
		Blocks: c.KVBlocks, BlockSize: c.BlockSize, MaxRunning: c.MaxRunning,
		StepTokens: c.StepTokens, NoPrefixHit: c.NoPrefixCache,
	}
}

func (c Config) validate() error {
	errs := []error{c.limits().Validate(), c.Cost.Validate()}
	if c.ContextLength < 2 || c.ContextLength > maxContext {
		errs = append(errs, fmt.Errorf("context length %d is outside 2…%d", c.ContextLength, maxContext))
	}
	if c.MaxQueue < 1 {
		errs = append(errs, fmt.Errorf("queue length %d is below 1", c.MaxQueue))
	}
	// One request of full length must be able to run, or it would wait for ever.
	if c.BlockSize > 0 && c.KVBlocks < (c.ContextLength+c.BlockSize-1)/c.BlockSize {
		errs = append(errs, fmt.Errorf("%d KV blocks of %d tokens cannot hold the context of %d", c.KVBlocks, c.BlockSize, c.ContextLength))
	}
	if c.ReasoningField != "reasoning" && c.ReasoningField != "reasoning_content" {
		errs = append(errs, fmt.Errorf("reasoning field %q is neither reasoning nor reasoning_content", c.ReasoningField))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("reference engine: %w", err)
	}
	return nil
}
