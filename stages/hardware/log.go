package hardware

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"time"

	"infbench/gates"
	"infbench/stages/hardware/tree"
)

var _ = checks.Add(gates.Check[Subject]{
	ID: "hardware/log",
	Doc: `the engine's log holds none of the lines that tell of a failed kernel or a silent fallback

Engines say in one line among thousands that a kernel failed, that NaN was met, or that another path is taken than was meant, and serve on. The
file that --engine-log names is read after the requests of this stage: its last 64 MiB. What stands before the latest start of the engine only warns.
Known lines are matched by their words; a fault of the device, a failed kernel or NaN is a failure, another path than was meant a warning.`,
	Since:  "0.4.0",
	Cost:   80 * time.Millisecond,
	Modes:  []string{"NUM-01", "NUM-02", "NUM-03", "NUM-04", "NUM-05", "NUM-07", "NUM-08", "NUM-10", "NUM-12", "CON-01", "CAC-06", "CTX-01", "OPS-03", "OPS-05"},
	Faults: []string{"no-kernel-image", "nan", "many", "missing", "fallback", "cpu-only", "earlier-process"},
	Causes: []string{"an image that was not built for this device", "a kernel that is wrong or missing for this shape", "a backend that the engine could not use"},
	Next:   []string{"the log around the line that is quoted"},
	Late:   true,
	Run:    engineLog,
})

// Bounds of what is read: a log may be of any size, and hostile.
const maxLog, maxLogLine = 64 << 20, 64 << 10

func engineLog(ctx context.Context, s Subject) (gates.Finding, error) {
	if s.Log == "" {
		return gates.NotApply("no log of the engine was named (--engine-log FILE)"), nil
	}
	f, err := os.Open(s.Log)
	if err != nil {
		return gates.Finding{}, unreadable(err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return gates.Finding{}, unreadable(err)
	case !info.Mode().IsRegular():
		return gates.Finding{}, errors.New("the engine's log is no regular file")
	case info.Size() == 0:
		return gates.Skip("the engine's log is empty"), nil
	}
	from := max(0, info.Size()-maxLog)
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return gates.Finding{}, unreadable(err)
	}
	// What is written while it is read is left for the next time.
	seen, err := scanLog(ctx, io.LimitReader(f, info.Size()-from), from > 0)
	if err != nil {
		return gates.Finding{}, unreadable(err)
	}
	return seen.finding(from > 0), nil
}

// unreadable is an error without the path of the file: evidence holds no paths.
func unreadable(err error) error {
	return fmt.Errorf("read the engine's log: %w", tree.WithoutPath(err))
}

// logSeen is what a log held since the engine's latest start.
type logSeen struct {
	lines  int // of the whole text that was read
	starts int
	kinds  []kindSeen // parallel to badLines
	// before are failures that stand before the latest start: of an earlier process, or of
	// this one before it said its name.
	before []kindSeen
}

// kindSeen is how often a line of one kind came, and its first.
type kindSeen struct {
	times, line int
	words       string
}

// scanLog looks at each line. midway says that the text begins inside of one.
func scanLog(ctx context.Context, r io.Reader, midway bool) (logSeen, error) {
	seen := logSeen{kinds: make([]kindSeen, len(badLines)), before: make([]kindSeen, len(badLines))}
	b := bufio.NewReaderSize(r, maxLogLine)
	for {
		raw, err := b.ReadSlice('\n')
		if midway {
			midway = false
		} else if len(raw) > 0 {
			seen.take(raw)
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a line that is longer than any
			_, err = b.ReadSlice('\n')
		}
		switch {
		case errors.Is(err, io.EOF):
			return seen, nil
		case err != nil:
			return seen, err
		case ctx.Err() != nil:
			return seen, context.Cause(ctx)
		}
	}
}

// take looks at one line, which is valid until the next is read.
func (s *logSeen) take(raw []byte) {
	s.lines++
	line := lower(escapes.ReplaceAllLiteral(bytes.TrimRight(raw, "\r\n"), nil))
	if slices.ContainsFunc(starts, func(w []byte) bool { return bytes.Contains(line, w) }) {
		s.starts++
		for i, k := range s.kinds {
			if k.times > 0 && badLines[i].hard {
				s.before[i] = k
			}
		}
		clear(s.kinds)
	}
	for i, b := range badLines {
		if !b.matches(line) {
			continue
		}
		k := &s.kinds[i]
		if k.times++; k.times == 1 {
			k.line, k.words = s.lines, excerpt(escapes.ReplaceAllLiteral(bytes.TrimRight(raw, "\r\n"), nil), b.at(line))
		}
		return // the surest kind counts
	}
}

// escapes are the colours of a terminal.
var escapes = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")

// lower makes ASCII letters small and leaves each byte in its place.
func lower(line []byte) []byte {
	out := bytes.Clone(line)
	for i, c := range out {
		if c >= 'A' && c <= 'Z' {
			out[i] = c + ('a' - 'A')
		}
	}
	return out
}

// excerpt is what is quoted of a line: from the words on by which it was known, and without
// what may be a key, an address or a folder.
func excerpt(line []byte, at int) string {
	const most = 200
	line = line[at:]
	if len(line) > 4*most {
		line = line[:4*most]
	}
	for _, p := range private {
		line = p.ReplaceAll(line, []byte("${1}…"))
	}
	return gates.Quote(string(line), most)
}

var private = []*regexp.Regexp{
	regexp.MustCompile(`(?i)((?:api[_-]?key|token|secret|password|authorization|bearer)['"]?\s*[=: ]\s*)['"]?[^\s'",)]+`),
	regexp.MustCompile(`(?i)()\b[a-z][a-z0-9+.-]*://[^\s'")\]]+`),
	regexp.MustCompile(`()\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b`),
	regexp.MustCompile(`(?i)()(?:[a-z]:)?(?:[/\\][\w.@+=,-]+){2,}`),
}

// finding judges what was seen.
func (s logSeen) finding(cut bool) gates.Finding {
	var hard, soft []int
	for i, k := range s.kinds {
		switch {
		case k.times > 0 && badLines[i].hard:
			hard = append(hard, i)
		case k.times > 0:
			soft = append(soft, i)
		}
	}
	read := fmt.Sprintf("%d lines read", s.lines)
	if s.lines == 1 {
		read = "1 line read"
	}
	if cut {
		read += ", the last 64 MiB"
	}
	if s.starts > 1 {
		read += fmt.Sprintf("; %d starts of an engine, of which the latest counts", s.starts)
	}
	list := slices.Concat(hard, soft)
	if i := slices.IndexFunc(s.before, func(k kindSeen) bool { return k.times > 0 }); i >= 0 && len(hard) == 0 {
		return gates.Warn("before its latest start the engine's log tells of a failure: %s", badLines[i].means).
			With("%s", s.before[i].says(badLines[i])).With("%s", read).Because("an earlier process died of it, or this one was affected while it started")
	}
	if len(list) == 0 {
		return gates.Pass("none of %d known bad lines, %s", len(badLines), read)
	}
	first := s.kinds[list[0]]
	said := fmt.Sprintf("the engine's log: %s, line %d: %s", badLines[list[0]].means, first.line, first.words)
	f := gates.Warn("%s", said)
	if len(hard) > 0 {
		f = gates.Fail("%s", said)
	}
	for _, i := range list {
		f = f.With("%s", s.kinds[i].says(badLines[i]))
	}
	return f.With("%s", read)
}

// says quotes a kind for evidence.
func (k kindSeen) says(b badLine) string {
	return fmt.Sprintf("%s (%s), line %d%s: %s", b.mode, b.source, k.line, times(k.times), k.words)
}

func times(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n-1)
}
