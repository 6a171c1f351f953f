package baseline

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/gowebpki/jcs"
)

// Depth is one length of prompt and how many tokens are asked for behind it.
type Depth struct {
	PromptTokens int
	MaxTokens    int
}

// Suite is a frozen workload. Equal suites have equal hashes; the zero Suite is none.
type Suite struct {
	name    string
	seed    string
	repeats int
	depths  []Depth
}

const (
	suiteSchema = "infbench.workload/v1"
	// Generator names the rule by which prompts follow from the seed.
	Generator = "wordlist-sha256-ctr/1"
	// FrozenSeed is that of the standard suite.
	FrozenSeed = "infbench-frozen-v1"
	// StandardRepeats is how often each depth is measured unless more is asked for. With five on
	// each side the smallest p is 0.8 %; with three nothing can ever be told apart.
	StandardRepeats = 5

	maxDepths, maxRepeats, maxTokens = 32, 50, 1 << 24
	// leastPrompt holds what a template adds, the nonce and a question.
	leastPrompt = 64
)

// NewSuite returns a suite; the depths ascend.
func NewSuite(name, seed string, repeats int, depths ...Depth) (Suite, error) {
	switch {
	case name == "" || len(name) > 60 || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' }):
		return Suite{}, errors.New("a suite has a name of plain characters, 60 at most")
	case seed == "" || len(seed) > 100 || strings.ContainsFunc(seed, func(r rune) bool { return r < ' ' || r > '~' }):
		return Suite{}, errors.New("a suite has a seed of plain characters, 100 at most")
	case repeats < 2 || repeats > maxRepeats:
		return Suite{}, fmt.Errorf("%d repeats: want 2 to %d", repeats, maxRepeats)
	case len(depths) == 0 || len(depths) > maxDepths:
		return Suite{}, fmt.Errorf("%d depths: want 1 to %d", len(depths), maxDepths)
	}
	last := 0
	for _, d := range depths {
		switch {
		case d.PromptTokens < leastPrompt || d.PromptTokens > maxTokens || d.MaxTokens < 2 || d.MaxTokens > maxTokens:
			return Suite{}, fmt.Errorf("a depth of %d prompt and %d output tokens: want %d and 2 at least", d.PromptTokens, d.MaxTokens, leastPrompt)
		case d.PromptTokens <= last:
			return Suite{}, fmt.Errorf("the depths do not ascend: %d after %d", d.PromptTokens, last)
		}
		last = d.PromptTokens
	}
	return Suite{name, seed, repeats, append([]Depth(nil), depths...)}, nil
}

// Standard is the suite that records are compared by: 8k, 16k and 32k with 512, 1k and 2k
// tokens after them, one depth below 256 tokens, without which a fixed overhead is an
// extrapolation, and one between, without which no curvature can be told.
func Standard() Suite {
	s, err := NewSuite("standard", FrozenSeed, StandardRepeats, Depth{256, 128}, Depth{2048, 256}, Depth{8192, 512}, Depth{16384, 1024}, Depth{32768, 2048})
	if err != nil {
		panic(err) // it is constant
	}
	return s
}

// Scaled returns the standard suite for a context that does not hold it: each length divided
// by the same power of two. Its hash is its own.
func Scaled(contextTokens int) (Suite, error) {
	s := Standard()
	for by := 1; by <= 256; by *= 2 {
		var depths []Depth
		for _, d := range s.depths {
			depths = append(depths, Depth{max(leastPrompt, d.PromptTokens/by), max(16, d.MaxTokens/by)})
		}
		for len(depths) > 1 && depths[0].PromptTokens >= depths[1].PromptTokens/2 {
			depths = depths[1:]
		}
		if by == 1 && s.Fits(contextTokens) {
			return s, nil
		}
		scaled, err := NewSuite(fmt.Sprintf("standard/%d", by), FrozenSeed, StandardRepeats, depths...)
		if err != nil || scaled.Fits(contextTokens) {
			return scaled, err
		}
	}
	return Suite{}, fmt.Errorf("a context of %d tokens holds no suite", contextTokens)
}

// Fits reports whether a context holds the suite's deepest prompt with what follows it.
func (s Suite) Fits(contextTokens int) bool {
	deepest := s.depths[len(s.depths)-1]
	return deepest.PromptTokens+deepest.MaxTokens+contextSpare <= contextTokens
}

// contextSpare is what the chat template may add to a prompt.
const contextSpare = 64

// IsZero reports whether this is no suite.
func (s Suite) IsZero() bool { return s.repeats == 0 }

// Name returns the suite's name, which is no part of its hash.
func (s Suite) Name() string { return s.name }

// Seed returns what the prompts are made from.
func (s Suite) Seed() string { return s.seed }

// Repeats returns how often each depth is measured.
func (s Suite) Repeats() int { return s.repeats }

// Depths returns the lengths, ascending.
func (s Suite) Depths() []Depth { return append([]Depth(nil), s.depths...) }

// Repeated returns the suite with another number of repeats.
func (s Suite) Repeated(n int) (Suite, error) { return NewSuite(s.name, s.seed, n, s.depths...) }

type depthWire struct {
	MaxTokens    int `json:"max_tokens"`
	PromptTokens int `json:"prompt_tokens"`
}

// suiteWire holds integers and plain text alone, so that its numbers have one form.
type suiteWire struct {
	Schema      string      `json:"schema"`
	Generator   string      `json:"generator"`
	Seed        string      `json:"seed"`
	Repeats     int         `json:"repeats"`
	Concurrency int         `json:"concurrency"`
	Temperature int         `json:"temperature_milli"`
	Depths      []depthWire `json:"depths"`
}

// Canonical returns the suite as canonical JSON (RFC 8785).
func (s Suite) Canonical() []byte {
	w := suiteWire{Schema: suiteSchema, Generator: Generator, Seed: s.seed, Repeats: s.repeats, Concurrency: 1}
	for _, d := range s.depths {
		w.Depths = append(w.Depths, depthWire{d.MaxTokens, d.PromptTokens})
	}
	plain, err := json.Marshal(w)
	if err == nil {
		plain, err = jcs.Transform(plain)
	}
	if err != nil {
		panic("baseline: a suite does not marshal: " + err.Error())
	}
	return plain
}

// Hash returns "sha256:" and the digest of the canonical form.
func (s Suite) Hash() string { return digest(s.Canonical()) }

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ParseSuite reads a canonical form back, as a record holds it; what is not canonical is
// refused.
func ParseSuite(name string, canonical []byte) (Suite, error) {
	if len(canonical) > 1<<16 {
		return Suite{}, errors.New("a suite is larger than any")
	}
	var w suiteWire
	d := json.NewDecoder(bytes.NewReader(canonical))
	d.DisallowUnknownFields()
	if err := d.Decode(&w); err != nil {
		return Suite{}, fmt.Errorf("suite: %w", err)
	}
	if w.Schema != suiteSchema || w.Generator != Generator || w.Concurrency != 1 || w.Temperature != 0 {
		return Suite{}, errors.New("the suite is of another version")
	}
	var depths []Depth
	for _, d := range w.Depths {
		depths = append(depths, Depth{d.PromptTokens, d.MaxTokens})
	}
	s, err := NewSuite(name, w.Seed, w.Repeats, depths...)
	if err != nil {
		return Suite{}, err
	}
	if !bytes.Equal(s.Canonical(), canonical) {
		return Suite{}, errors.New("the suite is not in its canonical form")
	}
	return s, nil
}

// Named returns the standard suite or one that is scaled down from it, such as "standard/4".
func Named(name string) (Suite, error) {
	if name == "standard" {
		return Standard(), nil
	}
	for context := contextSpare; context <= 1<<20; context *= 2 {
		if s, err := Scaled(context); err == nil && s.name == name {
			return s, nil
		}
	}
	return Suite{}, fmt.Errorf("no suite is called %.40q; there are standard, standard/2, standard/4 and so on to standard/256", name)
}
