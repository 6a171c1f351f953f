// Package refengine is an OpenAI-compatible inference server with a clock model in
// place of a GPU: the engine the harness is proven against.
//
// Everything a client can see is real: HTTP, server-sent events, queueing and
// back-pressure, continuous batching with chunked prefill, a block-hashed prefix
// cache, tools, reasoning, structured output, log probabilities, usage, metrics.
// What a model would know comes from package reader, which answers by reading the
// prompt; how long it takes comes from the price list of package batching. The
// timing of each request is written down as it happened, so the engine is also the
// ruler for clients that measure.
//
// The one rule: it is healthy. Faults are put in front of it by others; nothing in
// here misbehaves on purpose, and nothing in here knows how it will be tested.
package refengine
