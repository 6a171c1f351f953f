package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"infbench/gates"
)

// EngineParts are what an engine's own counters and timers said of a level's window:
// differences between a look before its first request and one after its last. Absent is
// unknown, not 0.
type EngineParts struct {
	// Source is the engine that told, such as "vllm".
	Source string `json:"source"`
	// Lost says why nothing is known, "" where something is.
	Lost string `json:"lost,omitempty"`
	// Prompt counts all prompt tokens, Computed those that were not cached, Cached the others.
	Prompt   gates.Count `json:"prompt_tokens,omitzero"`
	Computed gates.Count `json:"computed_tokens,omitzero"`
	Cached   gates.Count `json:"cached_tokens,omitzero"`
	// CacheQueries and CacheHits count tokens looked up in the prefix cache and found.
	CacheQueries gates.Count `json:"cache_queries,omitzero"`
	CacheHits    gates.Count `json:"cache_hits,omitzero"`
	Output       gates.Count `json:"output_tokens,omitzero"`
	// Finished counts requests that ended in any way, of whoever sent them.
	Finished  gates.Count `json:"finished,omitzero"`
	Preempted gates.Count `json:"preempted,omitzero"`
	Drafted   gates.Count `json:"drafted_tokens,omitzero"`
	Accepted  gates.Count `json:"accepted_tokens,omitzero"`
	// Queue runs to the first step of a request, Prefill from there to its first token, Decode
	// from there to its last; TTFT and E2E from its arrival. Gap is the time between tokens.
	Queue   EngineTimer `json:"queue,omitzero"`
	Prefill EngineTimer `json:"prefill,omitzero"`
	Decode  EngineTimer `json:"decode,omitzero"`
	TTFT    EngineTimer `json:"ttft,omitzero"`
	Gap     EngineTimer `json:"token_gap,omitzero"`
	E2E     EngineTimer `json:"e2e,omitzero"`
	// Batched says that Prefill adds up the time of batches, not of requests.
	Batched bool `json:"prefill_by_batch,omitempty"`
	// Running, Waiting and KVPermille were looked at during the window, at a low rate.
	Running    Gauge `json:"running,omitzero"`
	Waiting    Gauge `json:"waiting,omitzero"`
	KVPermille Gauge `json:"kv_permille,omitzero"`
	// Device is what the accelerators of the engine's machine drew and held.
	Device DeviceParts `json:"device,omitzero"`
}

// EngineTimer is a sum of times and how many there were.
type EngineTimer struct {
	Sum gates.Span  `json:"sum_ns,omitzero"`
	N   gates.Count `json:"n,omitzero"`
}

// Gauge is what was seen of a number that goes up and down. The zero Gauge was not seen.
type Gauge struct {
	N   int `json:"n"`
	Sum int `json:"sum"`
	Max int `json:"max"`
}

// See adds one look.
func (g *Gauge) See(n int) { *g = Gauge{g.N + 1, g.Sum + n, max(g.Max, n)} }

// Mean returns the mean; ok is false where nothing was seen.
func (g Gauge) Mean() (mean float64, ok bool) {
	if g.N == 0 {
		return 0, false
	}
	return float64(g.Sum) / float64(g.N), true
}

// DeviceParts are what the accelerators of the engine's machine drew and held during a window.
// All that were seen count, idle ones included: which of them the engine uses is not told.
type DeviceParts struct {
	// By is who told, such as "nvidia-smi".
	By string `json:"by,omitempty"`
	// Lost says why nothing is known.
	Lost    string `json:"lost,omitempty"`
	Devices int    `json:"devices,omitempty"`
	// Milliwatts is the power of all devices together.
	Milliwatts Gauge `json:"milliwatts,omitzero"`
	// Millijoules is the energy between the first look and the last, For the time between them.
	Millijoules gates.Count `json:"millijoules,omitzero"`
	For         gates.Span  `json:"for_ns,omitzero"`
	// MemoryBytes is the most that was in use; absent where devices have none of their own,
	// which NoMemory then says.
	MemoryBytes gates.Count `json:"memory_bytes,omitzero"`
	NoMemory    string      `json:"no_memory,omitempty"`
}

// EngineWindow is an engine's own account of a level. Like a [Level] it has no mouth of its
// own: only a [PerfRecord] gives it away. The zero EngineWindow is none.
type EngineWindow struct{ parts *EngineParts }

// NewEngineWindow checks the parts and returns the window.
func NewEngineWindow(p EngineParts) (EngineWindow, error) {
	switch {
	case p.Source == "":
		return EngineWindow{}, errors.New("an engine's account has a source")
	case p.Lost != "" && p.tells():
		return EngineWindow{}, errors.New("an engine's account is either lost or not")
	case p.Device.Lost != "" && p.Device.tells():
		return EngineWindow{}, errors.New("an account of devices is either lost or not")
	case p.Device.tells() && p.Device.By == "":
		return EngineWindow{}, errors.New("an account of devices says who told")
	case p.Device.NoMemory != "" && p.Device.MemoryBytes != (gates.Count{}):
		return EngineWindow{}, errors.New("memory is told or it is not")
	case p.Device.Devices < 0 || p.Device.Devices > maxMany:
		return EngineWindow{}, fmt.Errorf("%d devices", p.Device.Devices)
	}
	for _, g := range []Gauge{p.Running, p.Waiting, p.KVPermille, p.Device.Milliwatts} {
		if g.N < 0 || g.Max < 0 || g.Sum < g.Max || g.N == 0 && g.Sum != 0 || g.N > 0 && g.Sum/g.N > g.Max {
			return EngineWindow{}, fmt.Errorf("%d looks with a sum of %d and a largest of %d", g.N, g.Sum, g.Max)
		}
	}
	for _, s := range []*string{&p.Source, &p.Lost, &p.Device.By, &p.Device.Lost, &p.Device.NoMemory} {
		*s = gates.Printable(*s, 200)
	}
	return EngineWindow{&p}, nil
}

// tells reports whether anything of the window is known.
func (p EngineParts) tells() bool {
	p.Source, p.Lost, p.Device = "", "", DeviceParts{}
	return p != (EngineParts{})
}

func (d DeviceParts) tells() bool {
	d.By, d.Lost = "", ""
	return d != (DeviceParts{})
}

// IsZero reports whether there is no account.
func (e EngineWindow) IsZero() bool { return e.parts == nil }

// MarshalJSON always refuses: only a [PerfRecord] writes an engine's account.
func (e EngineWindow) MarshalJSON() ([]byte, error) {
	return nil, &UngatedResultError{Reason: "an engine's account of a level is written by a performance record only"}
}

// Format prints the same words for every verb, so that no number slips out.
func (e EngineWindow) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "engine window (ungated)")
}

// encode writes the window, nothing for none.
func (e EngineWindow) encode() (json.RawMessage, error) {
	if e.IsZero() {
		return nil, nil
	}
	return json.Marshal(e.parts)
}

// decodeEngine reads what encode wrote, and nothing else: a name that is not known is of a
// newer version.
func decodeEngine(raw json.RawMessage) (EngineWindow, error) {
	if len(raw) == 0 {
		return EngineWindow{}, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	var p EngineParts
	if err := d.Decode(&p); err != nil {
		return EngineWindow{}, fmt.Errorf("the engine's account: %w", err)
	}
	e, err := NewEngineWindow(p)
	if err != nil {
		return EngineWindow{}, fmt.Errorf("the engine's account: %w", err)
	}
	return e, nil
}

// why says why a value of the window is not known.
func (e EngineWindow) why(what string) string {
	switch {
	case e.IsZero():
		return "nobody looked at the engine's counters"
	case e.parts.Lost != "":
		return e.parts.Lost
	}
	return e.parts.Source + " does not tell " + what
}

// mean is the mean of a timer, withheld where its sum or number is not known or it counted
// nothing.
func (t EngineTimer) mean(why string) Estimate {
	sum, okSum := t.Sum.D()
	n, okN := t.N.N()
	switch {
	case !okSum || !okN:
		return Estimate{withheld: why}
	case n == 0:
		return Estimate{withheld: "n=0"}
	}
	return Estimate{value: sum / time.Duration(n)}
}
