package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"infbench/gates"
)

// serviceDefinitions names the formulas by which the block below follows from samples.
const serviceDefinitions = "infbench.service/v1"

// The block of a record: it stands there for other readers, and is worked out again when it
// is read.
type serviceWire struct {
	Definitions string          `json:"definitions"`
	Codes       bool            `json:"codes_judged"`
	Tiers       []Tier          `json:"tiers"`
	Levels      json.RawMessage `json:"levels,omitempty"`
	Results     json.RawMessage `json:"results,omitempty"`
}

type levelServiceWire struct {
	Level    string       `json:"level"`
	Depth    gates.Count  `json:"kv_depth_tokens"`
	HitRate  *float64     `json:"cached_share"`
	TTFT     estimateWire `json:"ttft_p99"`
	TTFTMost estimateWire `json:"ttft_p99_upper_95"`
	TPOT     estimateWire `json:"tpot_p99"`
	TPOTMost estimateWire `json:"tpot_p99_upper_95"`
	Score    scoreWire    `json:"interactivity_score"`
}

type scoreWire struct {
	Value    *float64 `json:"value"`
	Withheld string   `json:"withheld,omitempty"`
}

type resultWire struct {
	Tier       string           `json:"tier"`
	Levels     []attainmentWire `json:"levels"`
	Capacities []capacityWire   `json:"capacities"`
}

type attainmentWire struct {
	Standing  Standing      `json:"standing"`
	Why       string        `json:"why,omitempty"`
	Issued    int           `json:"issued"`
	Good      gates.Count   `json:"good"`
	Missed    Missed        `json:"missed"`
	Lower     float64       `json:"good_share_lower_95"`
	Goodput   goodputWire   `json:"goodput"`
	Published *marginalWire `json:"published_rule,omitempty"`
}

type marginalWire struct {
	Standing Standing `json:"standing"`
	TTFT     Tail     `json:"ttft"`
	TPOT     Tail     `json:"tpot"`
}

type goodputWire struct {
	Requests *float64 `json:"requests_per_second"`
	Tokens   *float64 `json:"tokens_per_second"`
	Hourly   *float64 `json:"tokens_per_hour"`
	Withheld string   `json:"withheld,omitempty"`
}

type capacityWire struct {
	Family   string      `json:"family"`
	Highest  string      `json:"highest,omitempty"`
	Sessions int         `json:"sessions,omitempty"`
	Rate     float64     `json:"requests_per_second,omitempty"`
	AtLeast  bool        `json:"at_least"`
	Stopped  string      `json:"stopped_by,omitempty"`
	Beyond   []string    `json:"holds_beyond,omitempty"`
	Depth    gates.Count `json:"kv_depth_tokens"`
	HitRate  *float64    `json:"cached_share"`
	Withheld string      `json:"withheld,omitempty"`
}

// encodeService writes what the measurements are held to and what came of it; nil where
// they are held to nothing.
func (m Measurements) encodeService() (json.RawMessage, error) {
	if len(m.objectives.Tiers) == 0 {
		return nil, nil
	}
	w := serviceWire{Definitions: serviceDefinitions, Codes: m.objectives.Codes, Tiers: m.objectives.Tiers}
	var levels []levelServiceWire
	for _, l := range m.levels {
		c, i := l.context(), l.interactivity()
		levels = append(levels, levelServiceWire{
			l.arrival.Label(), c.DepthTokens, c.wire(), i.TTFT.P99.wire(), i.TTFT.Upper.wire(), i.TPOT.P99.wire(), i.TPOT.Upper.wire(), i.Score.wire(),
		})
	}
	var results []resultWire
	for _, t := range m.objectives.Tiers {
		results = append(results, m.wireOf(m.against(t)))
	}
	var err error
	if w.Levels, err = json.Marshal(levels); err != nil {
		return nil, err
	}
	if w.Results, err = json.Marshal(results); err != nil {
		return nil, err
	}
	return json.Marshal(w)
}

// decodeService reads what measurements are held to. What is said to have come of it must
// follow from the samples.
func (m Measurements) decodeService(raw json.RawMessage) (Measurements, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return m, nil // of an earlier version
	}
	var w serviceWire
	if err := json.Unmarshal(raw, &w); err != nil {
		return Measurements{}, err
	}
	if w.Definitions != serviceDefinitions {
		return Measurements{}, fmt.Errorf("tiers by the definitions %.40q are not known", w.Definitions)
	}
	if len(w.Tiers) == 0 {
		return Measurements{}, errors.New("held to no tier")
	}
	m, err := m.HeldTo(Objectives{w.Tiers, w.Codes})
	if err != nil {
		return Measurements{}, err
	}
	again, err := m.encodeService()
	if err != nil {
		return Measurements{}, err
	}
	if bytes.Equal(again, raw) {
		return m, nil
	}
	var was, is any // the keys may stand in another order
	if json.Unmarshal(raw, &was) != nil || json.Unmarshal(again, &is) != nil || !reflect.DeepEqual(was, is) {
		return Measurements{}, errors.New("what it came to against its tiers does not follow from the samples")
	}
	return m, nil
}

func (m Measurements) wireOf(s Service) resultWire {
	out := resultWire{Tier: s.Tier.Name(), Levels: []attainmentWire{}, Capacities: []capacityWire{}}
	for _, a := range s.Levels {
		w := attainmentWire{Standing: a.Standing, Why: a.Why, Issued: a.Issued, Good: a.Good, Missed: a.Missed, Lower: a.Lower, Goodput: a.Goodput.wire()}
		if p := a.Published; p != nil {
			w.Published = &marginalWire{p.Standing, p.TTFT, p.TPOT}
		}
		out.Levels = append(out.Levels, w)
	}
	for _, c := range s.Capacities {
		out.Capacities = append(out.Capacities, m.capacityWire(c))
	}
	return out
}

func (m Measurements) capacityWire(c Capacity) capacityWire {
	w := capacityWire{Family: c.Family, Depth: c.Context.DepthTokens, HitRate: c.Context.wire(), Withheld: c.Withheld}
	if c.Withheld != "" {
		return w
	}
	if c.Highest >= 0 {
		l := m.levels[c.Highest]
		w.Highest, w.AtLeast = l.arrival.Label(), !c.Limited
		if w.Sessions = l.arrival.Sessions(); w.Sessions == 0 {
			load, _ := l.arrival.Load()
			w.Rate = load.Amount
		}
	}
	if c.Stopped >= 0 {
		w.Stopped = m.levels[c.Stopped].arrival.Label()
	}
	for _, i := range c.Beyond {
		w.Beyond = append(w.Beyond, m.levels[i].arrival.Label())
	}
	return w
}

func (c Context) wire() *float64 {
	if share, ok := c.HitRate(); ok {
		return &share
	}
	return nil
}

func (s Score) wire() scoreWire {
	if v, ok := s.Value(); ok {
		return scoreWire{Value: &v}
	}
	return scoreWire{Withheld: s.withheld}
}

func (g Goodput) wire() goodputWire {
	requests, tokens, ok := g.PerSecond()
	if !ok {
		return goodputWire{Withheld: g.withheld}
	}
	hourly, _ := g.TokensPerHour()
	return goodputWire{Requests: &requests, Tokens: &tokens, Hourly: &hourly}
}
