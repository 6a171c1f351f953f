package refengine

import (
	"fmt"
	"strings"
	"sync/atomic"
)

// serials makes the names that must never repeat within one engine, and the chance
// of requests that bring no seed.
type serials struct {
	seed  uint64 // of chance: the same in every run
	names uint64 // of names: another in every run
	count atomic.Uint64
}

func (s *serials) chance() uint64 { return scramble(s.seed ^ scramble(s.count.Add(1))) }

func (s *serials) name() uint64 { return scramble(s.names ^ scramble(s.count.Add(1))) }

// request names a response. As in vLLM the client's own X-Request-Id is taken over,
// so that both sides' logs can be joined.
func (s *serials) request(plain bool, given string) string {
	prefix := "chatcmpl-"
	if plain {
		prefix = "cmpl-"
	}
	if given != "" && len(given) <= 128 && strings.IndexFunc(given, odd) < 0 {
		return prefix + given
	}
	return fmt.Sprintf("%s%016x%016x", prefix, s.name(), s.name())
}

func odd(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }

// call names a tool call: "call_" and 24 hexadecimal digits.
func (s *serials) call() string {
	return fmt.Sprintf("call_%016x%08x", s.name(), uint32(s.name()))
}

// scramble is the finaliser of SplitMix64.
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
