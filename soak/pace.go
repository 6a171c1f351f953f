package soak

import (
	"context"
	"encoding/binary"
	"time"

	"infbench/internal/trend"
	"infbench/stages/endpoint"
)

// pace is how long one question took that is put alone, and always in the same form. It is
// never written: see [Ratio].
type pace struct{ first, perToken time.Duration }

const (
	probes      = 5
	probeTokens = 32
	probeProse  = 16 // sentences
)

// paceOf puts the question several times, each time with another beginning, so that no
// cache knows it, and returns the medians.
func paceOf(ctx context.Context, ep endpoint.Endpoint) (pace, error) {
	var first, perToken []float64
	prose := endpoint.NewProse(771).Sentences(probeProse)
	force, able := ep.Engine().(endpoint.LengthForcer)
	for range probes {
		r := endpoint.Chat("Note " + ep.Canaries().Issue().String() + ". " + prose + " Count from 1 to 20.").MaxTokens(probeTokens)
		var a endpoint.Answer
		if able {
			a = ep.Stream(ctx, force.ForceLength(r, probeTokens))
			able = a.Failure == nil || a.Failure.Kind != endpoint.Refused
		}
		if !able {
			a = ep.Stream(ctx, r)
		}
		if err := a.Err(); err != nil {
			return pace{}, err
		}
		t := a.Timing
		if t.FirstToken > 0 {
			first = append(first, float64(t.FirstToken))
		}
		if n := a.Usage.Completion.Or(len(t.Marks)); n > 1 && t.LastToken > t.FirstToken {
			perToken = append(perToken, float64(t.LastToken-t.FirstToken)/float64(n-1))
		}
	}
	return pace{median(first), median(perToken)}, nil
}

// median returns the median by nearest rank, 0 where fewer came than the question was put.
func median(values []float64) time.Duration {
	if len(values) < probes {
		return 0
	}
	return time.Duration(trend.Median(values))
}

// bytes returns the pace in the form that is sealed.
func (p pace) bytes() []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(p.first)), uint64(p.perToken))
}

// paceIn reads what bytes wrote; false where it is something else.
func paceIn(b []byte) (pace, bool) {
	if len(b) != 16 {
		return pace{}, false
	}
	p := pace{time.Duration(binary.BigEndian.Uint64(b)), time.Duration(binary.BigEndian.Uint64(b[8:]))}
	return p, p.first > 0 && p.perToken >= 0
}

// Sealer keeps a number readable for this machine alone.
type Sealer interface {
	Seal(about string, content []byte) string
	Unseal(about, sealed string) ([]byte, bool)
}
