package endpoint

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/tidwall/gjson"

	dto "github.com/prometheus/client_model/go"

	"infbench/gates"
)

// The capabilities that checks name in their needs.
const (
	Server      gates.Capability = "server"       // there is a running server at all
	Tools       gates.Capability = "tools"        // tool calls are parsed
	CachedCount gates.Capability = "cached-count" // cached tokens are reported
	UsageStream gates.Capability = "usage-stream" // usage comes in a stream when asked for
	ForcedLong  gates.Capability = "ignore-eos"   // the output length can be forced
	PrefixCache gates.Capability = "prefix-cache" // prompts are cached by prefix
	Kernels     gates.Capability = "kernels"      // the engine has compiled kernels at all
	Reasons     gates.Capability = "reasoning"    // the model thinks before it answers
	Images      gates.Capability = "images"       // pictures are taken in messages
	Logprobs    gates.Capability = "logprobs"     // the likelihood of each token is told
)

// Engine knows one kind of server. Its methods ask the server anew each time.
type Engine interface {
	// Name is the engine's name in records, such as "vllm".
	Name() string
	// Identify returns what the server says of itself. What it does not tell stays
	// empty; an error means that it no longer answers.
	Identify(context.Context) (Build, error)
	// Unable returns why the server lacks a capability; "" when it has it or nothing
	// is known.
	Unable(gates.Capability) string
}

// Tokenizer is implemented by engines that count tokens on request.
type Tokenizer interface {
	// CountTokens returns the number of tokens of a text without any template.
	CountTokens(ctx context.Context, text string) (int, error)
}

// ChatTokenizer is implemented by engines that show the tokens of a conversation.
type ChatTokenizer interface {
	ChatTokens(ctx context.Context, r Request) ([]int, error)
}

// ColdAsker is implemented by engines that can leave the prefix cache out for one
// request. how says by which means.
type ColdAsker interface {
	Cold(r Request, salt string) (cold Request, how string)
}

// CacheFlusher is implemented by engines that can drop their prefix cache.
type CacheFlusher interface {
	FlushCache(context.Context) error
}

// LengthForcer is implemented by engines that can be made to emit exactly so many
// tokens.
type LengthForcer interface {
	ForceLength(r Request, tokens int) Request
}

// Build is what a server says of itself. Empty fields were not told.
type Build struct {
	// Version is the engine's own version string.
	Version string
	// Device is what the engine computes on.
	Device string
	// Checkpoint is the base name of the served weights, where told.
	Checkpoint string
	// Config hashes the configuration that the server reports.
	Config string
	// Process changes when the server restarts.
	Process string
	// Image is the digest of the container image, where told.
	Image string
	// ContextTokens is the longest sequence that the server accepts.
	ContextTokens gates.Count
	// Slots is the number of requests that run at once, where the server has such a limit.
	Slots gates.Count
}

// clean makes what a server says of itself safe to print, and bounds it.
func (b Build) clean() Build {
	for _, s := range []*string{&b.Version, &b.Device, &b.Checkpoint, &b.Process, &b.Image} {
		*s = gates.Printable(*s, 120)
	}
	return b
}

// adapter recognises one engine. recognise returns nil when the server is another.
type adapter struct {
	name string
	// rank orders the adapters, lowest first: the surest signs are looked at first.
	rank      int
	recognise func(context.Context, *surface) Engine
}

var adapters []adapter

// adapt registers an adapter; each engine's file does it once.
func adapt(a adapter) string {
	adapters = append(adapters, a)
	slices.SortFunc(adapters, func(a, b adapter) int { return cmp.Or(a.rank-b.rank, cmp.Compare(a.name, b.name)) })
	return a.name
}

// recognise returns the adapter of the engine that the surface shows, by presence.
func recognise(ctx context.Context, s *surface) Engine {
	for _, a := range adapters {
		if e := a.recognise(ctx, s); e != nil {
			return e
		}
	}
	return generic{s}
}

// Engines returns the names of the engines that are recognised.
func Engines() []string {
	var out []string
	for _, a := range adapters {
		out = append(out, a.name)
	}
	return append(out, generic{}.Name())
}

// ownedBy returns who owns the first listed model.
func (s *surface) ownedBy(ctx context.Context) string {
	return s.json(ctx, modelsPath, "data.0.owned_by").Str
}

// listed returns a value of the asked model's entry in the model list.
func (s *surface) listed(ctx context.Context, key string) gjson.Result {
	var out gjson.Result
	s.json(ctx, modelsPath, "data").ForEach(func(_, m gjson.Result) bool {
		if m.Get("id").Str == s.model || !out.Exists() {
			out = m.Get(key)
		}
		return m.Get("id").Str != s.model
	})
	return out
}

func count(r gjson.Result) gates.Count {
	if r.Type == gjson.Number && r.Num >= 0 && r.Num < 1e12 {
		return gates.CountOf(int(r.Int()))
	}
	return gates.Count{}
}

// metrics reads /metrics; an empty map where there are none.
func (s *surface) metrics(ctx context.Context) map[string]*dto.MetricFamily {
	return families(s.get(ctx, "/metrics").body)
}

// families reads Prometheus text as far as it can be read.
func families(body []byte) map[string]*dto.MetricFamily {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	out, _ := parser.TextToMetricFamilies(bytes.NewReader(body))
	return out
}

// hasMetrics reports whether a metric's name begins with the prefix.
func (s *surface) hasMetrics(ctx context.Context, prefix string) bool {
	for name := range s.metrics(ctx) {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// sampleOf returns the first sample of a metric, whatever its type.
func sampleOf(families map[string]*dto.MetricFamily, name string) (float64, bool) {
	f := families[name]
	if f == nil || len(f.Metric) == 0 {
		return 0, false
	}
	m := f.Metric[0]
	switch {
	case m.Gauge != nil:
		return m.Gauge.GetValue(), true
	case m.Counter != nil:
		return m.Counter.GetValue(), true
	case m.Untyped != nil:
		return m.Untyped.GetValue(), true
	}
	return 0, false
}

// labelsOf returns the labels of a metric's first sample, "name=value" sorted.
func labelsOf(families map[string]*dto.MetricFamily, name string) []string {
	f := families[name]
	if f == nil || len(f.Metric) == 0 {
		return nil
	}
	var out []string
	for _, l := range f.Metric[0].Label {
		out = append(out, l.GetName()+"="+l.GetValue())
	}
	slices.Sort(out)
	return out
}

// processStart marks the server process by its start time, where the metrics hold it.
func processStart(families map[string]*dto.MetricFamily) string {
	if v, ok := sampleOf(families, "process_start_time_seconds"); ok && v > 0 {
		return fmt.Sprintf("started %.2f", v)
	}
	return ""
}

// configHash hashes lines of configuration; "" when there are none.
func configHash(lines ...string) string {
	lines = slices.DeleteFunc(slices.Clone(lines), func(s string) bool { return s == "" || strings.HasSuffix(s, "=") })
	if len(lines) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:8])
}

// baseName keeps the last element of a path that a server reports: the folders
// before it are nobody's business.
func baseName(p string) string {
	if p == "" {
		return ""
	}
	return path.Base(strings.ReplaceAll(p, `\`, "/"))
}

// Seer is implemented by engines of which it is known whether their model sees: they say
// so, or refuse pictures where it does not.
type Seer interface {
	Sees(context.Context) bool
}
