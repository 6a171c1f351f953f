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
	"strings"
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
	wide, err := utf16(f)
	if err != nil {
		return gates.Finding{}, unreadable(err)
	}
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return gates.Finding{}, unreadable(err)
	}
	// What is written while it is read is left for the next time.
	seen, err := scanLog(ctx, io.LimitReader(f, info.Size()-from), from > 0)
	if err != nil {
		return gates.Finding{}, unreadable(err)
	}
	seen.wide = seen.wide || wide
	return seen.finding(), nil
}

// utf16 reports whether a file begins with the mark of UTF-16.
func utf16(f io.ReaderAt) (bool, error) {
	var mark [2]byte
	if _, err := f.ReadAt(mark[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return mark == [2]byte{0xff, 0xfe} || mark == [2]byte{0xfe, 0xff}, nil
}

// unreadable is an error without the path of the file: evidence holds no paths.
func unreadable(err error) error {
	return fmt.Errorf("read the engine's log: %w", tree.WithoutPath(err))
}

// logSeen is what a log held since the engine's latest start.
type logSeen struct {
	cut    bool // only the end of the file was read
	wide   bool // UTF-16, or as full of NULs as that is
	lines  int  // of the whole text that was read, blank ones too
	filled int  // of these, those that are not blank
	long   int  // of these, those of which only the beginning was looked at
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

// scanLog looks at each line. cut says that the text begins inside of one.
func scanLog(ctx context.Context, r io.Reader, cut bool) (logSeen, error) {
	seen := logSeen{cut: cut, kinds: make([]kindSeen, len(badLines)), before: make([]kindSeen, len(badLines))}
	b := bufio.NewReaderSize(r, maxLogLine)
	size, nuls := 0, 0
	for midway := cut; ; midway = false {
		raw, err := b.ReadSlice('\n')
		size, nuls = size+len(raw), nuls+bytes.Count(raw, []byte{0})
		if !midway && len(raw) > 0 {
			seen.take(raw)
			if errors.Is(err, bufio.ErrBufferFull) {
				seen.long++
			}
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a line that is longer than any
			_, err = b.ReadSlice('\n')
		}
		switch {
		case errors.Is(err, io.EOF):
			seen.wide = nuls > size/4
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
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		return
	}
	s.filled++
	raw = plain(raw)
	if !worthALook.lets(raw) {
		return
	}
	line := lower(raw)
	line = line[:asks(line)]
	raw = raw[:len(line)]
	if slices.ContainsFunc(starts, func(w string) bool { return find(line, w, false) >= 0 }) {
		s.starts++
		for i, k := range s.kinds {
			if k.times > 0 && badLines[i].hard {
				s.before[i] = k
			}
		}
		clear(s.kinds)
	}
	for i, b := range badLines {
		at := b.find(line)
		if at < 0 {
			continue
		}
		k := &s.kinds[i]
		if k.times++; k.times == 1 {
			k.line, k.words = s.lines, excerpt(raw[at:])
		}
		return // the surest kind counts
	}
}

// plain takes the colours of a terminal out of a line, in its place.
func plain(line []byte) []byte {
	esc := bytes.IndexByte(line, '\x1b')
	if esc < 0 {
		return line
	}
	out := line[:esc]
	for i := esc; i < len(line); i++ {
		if line[i] == '\x1b' && i+1 < len(line) && line[i+1] == '[' {
			end := i + 2
			for end < len(line) && (line[end] == ';' || '0' <= line[end] && line[end] <= '9') {
				end++
			}
			if end < len(line) && 'a' <= small[line[end]] && small[line[end]] <= 'z' {
				i = end
				continue
			}
		}
		out = append(out, line[i])
	}
	return out
}

// lower makes ASCII letters small and leaves each byte in its place.
func lower(line []byte) string {
	out := bytes.Clone(line)
	for i, c := range out {
		out[i] = small[c]
	}
	return string(out)
}

// excerpt is what is quoted of a line, of which only what follows the known words is given:
// without what may be a key, an address, a host or a folder.
func excerpt(line []byte) string {
	const most = 200
	if len(line) > 4*most {
		line = line[:4*most]
	}
	for _, p := range private {
		line = p.ReplaceAll(line, []byte("${1}…"))
	}
	return gates.Quote(string(hosts.ReplaceAllFunc(line, hideHost)), most)
}

// private is what is taken out, all but the first group. Rather a word too much.
var private = []*regexp.Regexp{
	regexp.MustCompile(`(?i)(\b[\w-]*authorization\b\W*).+`),
	regexp.MustCompile(`(?i)(\b(?:[\w-]*(?:key|token|secret|password|passwd|credential|cookie|bearer)s?|host|hostname|user|username)['"\\]*(?:\s*[=:]+\s*|\s+(?:is|was)[\s:=]+))(?:(?:bearer|basic|token)\s+)?(?:\\?"[^"]*"?|\\?'[^']*'?|[^\s'",;)]+)`),
	regexp.MustCompile(`(?i)(\b[\w-]*(?:key|token|secret|password|passwd|credential|cookie|bearer)['"\\]*\s+)['"]?[^\s'",;)]+`),
	regexp.MustCompile(`(?i)()\b(?:sk|pk|rk|glpat|nvapi|xox[a-z])-[\w-]+|\b(?:hf|gh[a-z]|github_pat)_\w+|\b(?:AKIA|ASIA|AIza|eyJ)[\w.-]{4,}`),
	regexp.MustCompile(`(?i)()\b[a-z][a-z0-9+.-]*://[^\s'")\]]+`),
	regexp.MustCompile(`()[\w.+-]+@[\w.-]+`),
	regexp.MustCompile(`()\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b`),
	regexp.MustCompile(`(?i)(^|[^\w:])\[?(?:[0-9a-f]{0,4}:){2,}[0-9a-f.]*(?:%\w+)?\]?(?::\d+)?`),
	regexp.MustCompile(`(?i)()(?:[a-z]:)?(?:[/\\][\w.@+=,-]+){2,}`),
}

// hosts are dotted names that end in letters.
var hosts = regexp.MustCompile(`\b(?:[\w-]+\.)+[A-Za-z]{2,}\b(?::\d+)?`)

// hideHost takes out a dotted name unless it is a file, or a name of Python's.
func hideHost(name []byte) []byte {
	bare, _, _ := strings.Cut(string(name), ":")
	first, _, _ := strings.Cut(bare, ".")
	last := bare[strings.LastIndexByte(bare, '.')+1:]
	if slices.Contains(fileEndings, last) || slices.Contains(modules, first) {
		return name
	}
	return []byte("…")
}

var (
	fileEndings = strings.Fields("py so cu cuh cc cpp hpp hip json jinja txt log gguf safetensors bin pt pth yaml yml toml ptx cubin whl dll exe sh")
	modules     = strings.Fields("torch triton vllm sglang transformers flashinfer tensorrt cutlass asyncio concurrent multiprocessing ray")
)

// finding judges what was seen.
func (s logSeen) finding() gates.Finding {
	var hard, soft []int
	for i, k := range s.kinds {
		switch {
		case k.times > 0 && badLines[i].hard:
			hard = append(hard, i)
		case k.times > 0:
			soft = append(soft, i)
		}
	}
	read := s.read()
	list := slices.Concat(hard, soft)
	if i := slices.IndexFunc(s.before, func(k kindSeen) bool { return k.times > 0 }); i >= 0 && len(hard) == 0 {
		return gates.Warn("before its latest start the engine's log tells of a failure: %s", badLines[i].means).
			With("%s", s.says(s.before[i], badLines[i])).With("%s", read).Because("an earlier process died of it, or this one was affected while it started")
	}
	if len(list) == 0 {
		return s.nothing(read)
	}
	first := s.kinds[list[0]]
	said := fmt.Sprintf("the engine's log: %s, %s: %s", badLines[list[0]].means, s.place(first), first.words)
	f := gates.Warn("%s", said)
	if len(hard) > 0 {
		f = gates.Fail("%s", said)
	}
	for _, i := range list {
		f = f.With("%s", s.says(s.kinds[i], badLines[i]))
	}
	return f.With("%s", read)
}

// nothing judges a log in which no known line was met: where little could be read, that
// says little.
func (s logSeen) nothing(read string) gates.Finding {
	switch {
	case s.wide:
		return gates.Skip("the engine's log is UTF-16, or as full of NUL bytes: it has to be UTF-8 to be read")
	case s.lines == 0:
		return gates.Skip("no line was read: the last 64 MiB of the engine's log are inside one line")
	case s.filled == 0:
		return gates.Skip("the engine's log holds blank lines alone, %s", read)
	case s.filled == s.long:
		return gates.Skip("no line was read to its end: each is longer than 64 KiB, %s", read)
	}
	return gates.Pass("none of %d known bad lines, %s", len(badLines), read)
}

// read says how much was read.
func (s logSeen) read() string {
	out := counted(s.lines, "line", "lines") + " read"
	if s.cut {
		out += ", the last 64 MiB"
	}
	if s.long > 0 {
		out += fmt.Sprintf("; %d longer than 64 KiB, of which the beginning", s.long)
	}
	if s.starts > 1 {
		out += fmt.Sprintf("; %d starts of an engine, of which the latest counts", s.starts)
	}
	return out
}

// place says where a line is, counted from where the reading began.
func (s logSeen) place(k kindSeen) string {
	if s.cut {
		return fmt.Sprintf("line %d of the last 64 MiB", k.line)
	}
	return fmt.Sprintf("line %d", k.line)
}

// says quotes a kind for evidence.
func (s logSeen) says(k kindSeen, b badLine) string {
	return fmt.Sprintf("%s (%s), %s%s: %s", b.mode, b.source, s.place(k), times(k.times), k.words)
}

func times(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n-1)
}
