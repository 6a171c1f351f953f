package record

import (
	"encoding/json"
	"fmt"
	"time"

	"infbench/gates"
)

// A column is one value of a sample as it is written. Columns are found by their names, so
// that a record which lacks one, being older, stays readable: the value is then absent.
type column struct {
	name  string
	write func(Sample) any
	read  func(*Sample, int64)
}

// absent is how an unknown value is written.
const absent = -1

func durationColumn(name string, field func(*Sample) *time.Duration) column {
	return column{name, func(s Sample) any { return int64(*field(&s)) }, func(s *Sample, n int64) { *field(s) = time.Duration(n) }}
}

func numberColumn(name string, field func(*Sample) *int) column {
	return column{name, func(s Sample) any { return *field(&s) }, func(s *Sample, n int64) { *field(s) = int(n) }}
}

func countColumn(name string, field func(*Sample) *gates.Count) column {
	return column{name, func(s Sample) any { return field(&s).Or(absent) }, func(s *Sample, n int64) {
		if n >= 0 {
			*field(s) = gates.CountOf(int(n))
		}
	}}
}

func spanColumn(name string, field func(*Sample) *gates.Span) column {
	return column{name, func(s Sample) any { return int64(field(&s).Or(absent)) }, func(s *Sample, n int64) {
		if n >= 0 {
			*field(s) = gates.SpanOf(time.Duration(n))
		}
	}}
}

func bitColumn(name string, field func(*Sample) *bool) column {
	return column{name, func(s Sample) any {
		if *field(&s) {
			return 1
		}
		return 0
	}, func(s *Sample, n int64) { *field(s) = n == 1 }}
}

const outcomeColumn = "outcome"

var columns = []column{
	numberColumn("session", func(s *Sample) *int { return &s.Session }),
	numberColumn("turn", func(s *Sample) *int { return &s.Turn }),
	numberColumn("block", func(s *Sample) *int { return &s.Block }),
	numberColumn("cell", func(s *Sample) *int { return &s.Cell }),
	durationColumn("due_ns", func(s *Sample) *time.Duration { return &s.Due }),
	durationColumn("sent_ns", func(s *Sample) *time.Duration { return &s.Sent }),
	durationColumn("dialled_ns", func(s *Sample) *time.Duration { return &s.Dialled }),
	durationColumn("first_ns", func(s *Sample) *time.Duration { return &s.First }),
	durationColumn("first_answer_ns", func(s *Sample) *time.Duration { return &s.FirstAnswer }),
	durationColumn("last_ns", func(s *Sample) *time.Duration { return &s.Last }),
	durationColumn("end_ns", func(s *Sample) *time.Duration { return &s.End }),
	durationColumn("max_gap_ns", func(s *Sample) *time.Duration { return &s.MaxGap }),
	countColumn("prompt_tokens", func(s *Sample) *gates.Count { return &s.PromptTokens }),
	numberColumn("output_tokens", func(s *Sample) *int { return &s.OutputTokens }),
	countColumn("cached_tokens", func(s *Sample) *gates.Count { return &s.CachedTokens }),
	numberColumn("chunks", func(s *Sample) *int { return &s.Chunks }),
	numberColumn("coalesced", func(s *Sample) *int { return &s.Coalesced }),
	bitColumn("fresh", func(s *Sample) *bool { return &s.Fresh }),
	bitColumn("warmup", func(s *Sample) *bool { return &s.Warmup }),
	{"code", func(s Sample) any { return int(s.Code) }, func(s *Sample, n int64) { s.Code = Code(n) }},
	spanColumn("engine_queue_ns", func(s *Sample) *gates.Span { return &s.EngineQueue }),
	spanColumn("engine_prefill_ns", func(s *Sample) *gates.Span { return &s.EnginePrefill }),
	spanColumn("engine_decode_ns", func(s *Sample) *gates.Span { return &s.EngineDecode }),
}

// sampleColumns names the columns of a row, in order; the outcome, a word, is the last.
func sampleColumns() []string {
	var out []string
	for _, c := range columns {
		out = append(out, c.name)
	}
	return append(out, outcomeColumn)
}

// row writes a sample in the named columns.
func (s Sample) row(names []string) []any {
	var out []any
	for _, name := range names {
		if name == outcomeColumn {
			out = append(out, s.Outcome)
			continue
		}
		out = append(out, columnOf[name].write(s))
	}
	return out
}

var columnOf = func() map[string]column {
	out := map[string]column{}
	for _, c := range columns {
		out[c.name] = c
	}
	return out
}()

// rowReader returns what reads the rows of a level whose columns are named. A name that is
// not known, or stands twice, is an error: the record is of a newer version, or none.
func rowReader(names []string) (func([]json.RawMessage) (Sample, error), error) {
	seen := map[string]bool{}
	for _, name := range names {
		if _, ok := columnOf[name]; seen[name] || !ok && name != outcomeColumn {
			return nil, fmt.Errorf("the sample column %.40q is not one of this version", name)
		}
		seen[name] = true
	}
	for _, needed := range []string{"sent_ns", "end_ns", outcomeColumn} {
		if !seen[needed] {
			return nil, fmt.Errorf("the samples have no column %s", needed)
		}
	}
	return func(row []json.RawMessage) (Sample, error) {
		if len(row) != len(names) {
			return Sample{}, fmt.Errorf("a sample has %d columns, want %d", len(row), len(names))
		}
		var s Sample
		for i, name := range names {
			if name == outcomeColumn {
				if err := json.Unmarshal(row[i], &s.Outcome); err != nil {
					return Sample{}, fmt.Errorf("sample column %s: %w", name, err)
				}
				continue
			}
			var n int64
			if err := json.Unmarshal(row[i], &n); err != nil {
				return Sample{}, fmt.Errorf("sample column %s: %w", name, err)
			}
			columnOf[name].read(&s, n)
		}
		return s, s.check()
	}, nil
}
