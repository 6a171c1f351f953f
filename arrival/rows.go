package arrival

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
)

// A trace is a file of recorded requests, one a line: CSV under a line of names, or a JSON
// object a line. Columns that are not asked for are ignored.

// maxTraceLine bounds a line of a trace.
const maxTraceLine = 1 << 20

// row is a line of a trace.
type row struct {
	line   int
	named  int // the line of its names
	fields map[string]string
}

// rows yields the lines of a trace, or an error that names its line.
func rows(r io.Reader) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxTraceLine)
		var header []string
		n, named, objects := 0, 0, false
		for lines.Scan() {
			n++
			line := lines.Bytes()
			if n == 1 {
				line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
			}
			if line = bytes.TrimSpace(line); len(line) == 0 {
				continue
			}
			if named == 0 { // the first line tells which kind of file it is
				named, objects = n, line[0] == '{'
			}
			var fields map[string]string
			var err error
			switch {
			case objects:
				named = n
				fields, err = object(line)
			case header == nil:
				header, err = cells(line)
			default:
				fields, err = under(header, line)
			}
			if err != nil {
				yield(row{}, fmt.Errorf("line %d: %w", n, err))
				return
			}
			if fields != nil && !yield(row{n, named, fields}, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			if errors.Is(err, bufio.ErrTooLong) {
				err = fmt.Errorf("longer than %d bytes", maxTraceLine)
			}
			yield(row{}, fmt.Errorf("line %d: %w", n+1, err))
		}
	}
}

// object reads the texts and numbers of a JSON object.
func object(line []byte) (map[string]string, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(line, &raw); err != nil || raw == nil {
		return nil, errors.New("no JSON object")
	}
	out := map[string]string{}
	for name, value := range raw {
		switch c := value[0]; {
		case c == '"':
			var text string
			if err := json.Unmarshal(value, &text); err != nil {
				return nil, fmt.Errorf("%.40q: %w", name, err)
			}
			out[name] = text
		case c == '-' || c >= '0' && c <= '9':
			out[name] = string(value)
		}
	}
	return out, nil
}

// cells reads one line of CSV.
func cells(line []byte) ([]string, error) {
	c := csv.NewReader(bytes.NewReader(line))
	c.FieldsPerRecord = -1
	out, err := c.Read()
	var bad *csv.ParseError
	if errors.As(err, &bad) {
		err = bad.Err
	}
	if err != nil {
		return nil, fmt.Errorf("no CSV: %w", err)
	}
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out, nil
}

// under reads one line of CSV under a line of names.
func under(header []string, line []byte) (map[string]string, error) {
	values, err := cells(line)
	if err != nil {
		return nil, err
	}
	if len(values) != len(header) {
		return nil, fmt.Errorf("%d values under %d names", len(values), len(header))
	}
	out := make(map[string]string, len(header))
	for i, name := range header {
		out[name] = values[i]
	}
	return out, nil
}
