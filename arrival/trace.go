package arrival

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

// column is a column of times.
type column struct {
	name  string
	unit  time.Duration // of its numbers; 0: it has none
	dated bool          // it may hold dates
}

// startColumns are the columns that say when a request came; the first that a file has is
// read. timestamp in milliseconds is Mooncake's, TIMESTAMP with dates the Azure traces'.
var startColumns = []column{{name: "at_s", unit: time.Second}, {name: "at_ms", unit: time.Millisecond}, {"timestamp", time.Millisecond, true}, {name: "TIMESTAMP", dated: true}}

// thinkColumns are the columns that say how long a session thought before a request.
var thinkColumns = []column{{name: "think_s", unit: time.Second}, {name: "think_ms", unit: time.Millisecond}}

// dateForms are the dates that are read; a fraction of the second may follow.
var dateForms = []string{"2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00", time.RFC3339}

// moment is a recorded time: a date, or a number of units.
type moment struct {
	number float64
	unit   time.Duration
	date   time.Time
	dated  bool
}

func (c column) parse(text string) (moment, error) {
	if c.unit > 0 {
		if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return moment{number: f, unit: c.unit}, nil
		}
	}
	if c.dated {
		for _, form := range dateForms {
			if t, err := time.Parse(form, text); err == nil {
				return moment{date: t, dated: true}, nil
			}
		}
		if c.unit == 0 {
			return moment{}, fmt.Errorf("%s %.40q is no date with time; numbers belong in a column at_s or at_ms", c.name, text)
		}
	}
	return moment{}, fmt.Errorf("%s %.40q is no time", c.name, text)
}

// since returns the time since another moment of the same trace. What is longer than any
// run is cut to a little more than that.
func (m moment) since(o moment) (time.Duration, error) {
	if m.dated != o.dated {
		return 0, errors.New("a date among numbers")
	}
	if m.dated {
		return m.date.Sub(o.date), nil
	}
	const far = 2 * float64(longest)
	return time.Duration(math.Round(max(-far, min(far, (m.number-o.number)*float64(m.unit))))), nil
}

// pick returns the column that a file is read by.
func pick(from []column, r row) (column, error) {
	var names []string
	for _, c := range from {
		if _, ok := r.fields[c.name]; ok {
			return c, nil
		}
		names = append(names, c.name)
	}
	return column{}, fmt.Errorf("line %d: none of the columns %s", r.named, strings.Join(names, ", "))
}

// timedRow is a row with the time that it states.
type timedRow struct {
	row
	at moment
}

// timed yields the rows of a trace with their times, at most so many; 0 is all of them,
// and an error when there are more than a model holds.
func timed(r io.Reader, from []column, most int) iter.Seq2[timedRow, error] {
	return func(yield func(timedRow, error) bool) {
		var c column
		n := 0
		for r, err := range rows(r) {
			if most > 0 && n == most {
				return
			}
			if err == nil && n == maxReplay {
				err = fmt.Errorf("line %d: more than %d requests: take the first with first=%d", r.line, maxReplay, maxReplay)
			}
			if err == nil && n == 0 {
				c, err = pick(from, r)
			}
			var at moment
			if err == nil {
				if text, ok := r.fields[c.name]; !ok {
					err = fmt.Errorf("line %d: no %s", r.line, c.name)
				} else if at, err = c.parse(text); err != nil {
					err = fmt.Errorf("line %d: %w", r.line, err)
				}
			}
			if err != nil {
				yield(timedRow{}, err)
				return
			}
			if n++; !yield(timedRow{r, at}, nil) {
				return
			}
		}
		if n == 0 {
			yield(timedRow{}, errors.New("no requests in it"))
		}
	}
}

// readStarts reads when the requests of a trace came, counted from the first.
func readStarts(r io.Reader, most int) ([]time.Duration, error) {
	var out []time.Duration
	var first moment
	for t, err := range timed(r, startColumns, most) {
		if err != nil {
			return nil, err
		}
		if out == nil {
			first = t.at
		}
		at, err := t.at.since(first)
		switch {
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", t.line, err)
		case len(out) > 0 && at < out[len(out)-1]:
			return nil, fmt.Errorf("line %d: its time is before that of the line above: sort the file", t.line)
		case at > longest:
			return nil, fmt.Errorf("line %d: its time is more than %v after the first", t.line, longest)
		}
		out = append(out, at)
	}
	return out, nil
}

// readThinks reads how long each session of a trace thought before each of its requests.
// Sessions are told apart by the column session, and come in the order in which the file
// names them; without it there is one.
func readThinks(r io.Reader, most int) ([][]time.Duration, error) {
	var out [][]time.Duration
	numbers := map[string]int{}
	for t, err := range timed(r, thinkColumns, most) {
		if err != nil {
			return nil, err
		}
		think, err := t.at.since(moment{})
		if err != nil || think < 0 || think > longest {
			return nil, fmt.Errorf("line %d: a think time of %v: want 0 to %v", t.line, think, longest)
		}
		name := t.fields["session"]
		i, known := numbers[name]
		if !known {
			i = len(out)
			numbers[name] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], think)
	}
	return out, nil
}

// readReplay reads a trace. It is the one place of this package that opens a file.
func readReplay(path, mode string, most int, scale float64) (ArrivalModel, error) {
	in := func(err error) error {
		if bad, ok := errors.AsType[*fs.PathError](err); ok {
			err = bad.Err
		}
		return fmt.Errorf("%.200q: %w", path, err)
	}
	if info, err := os.Stat(path); err != nil {
		return ArrivalModel{}, in(err)
	} else if !info.Mode().IsRegular() {
		return ArrivalModel{}, in(errors.New("not a regular file"))
	}
	f, err := os.Open(path)
	if err != nil {
		return ArrivalModel{}, in(err)
	}
	defer f.Close()
	if mode == "open" {
		starts, err := readStarts(f, most)
		if err != nil {
			return ArrivalModel{}, in(err)
		}
		return Replay(starts, scale)
	}
	thinks, err := readThinks(f, most)
	if err != nil {
		return ArrivalModel{}, in(err)
	}
	return ReplaySessions(thinks, scale)
}
