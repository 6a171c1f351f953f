package host

import (
	"bufio"
	"io"
	"io/fs"
	"iter"
	"regexp"
	"strconv"
	"strings"

	"infbench/record"
)

// maxRead bounds a file; /proc/cpuinfo of 512 processors has 800 KB, of which one is read.
const maxRead = 1 << 18

// text returns the beginning of a regular file, "" where it cannot be read. The files of
// /proc and /sys are regular; a named pipe, which would wait for a writer, is not.
func (l *looker) text(name string) string {
	if info, err := fs.Stat(l.Root, name); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := l.Root.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, maxRead)) // half an answer is one
	return string(b)
}

// exists reports whether there is such a file, of whatever kind.
func (l *looker) exists(name string) bool {
	_, err := fs.Stat(l.Root, name)
	return err == nil
}

// names returns the entries of a folder, at most so many.
func (l *looker) names(dir string, most int) []string {
	entries, err := fs.ReadDir(l.Root, dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries[:min(len(entries), most)] {
		out = append(out, e.Name())
	}
	return out
}

// pairs yields the keys and values of lines such as "key : value".
func pairs(text, separator string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		lines := bufio.NewScanner(strings.NewReader(text))
		lines.Buffer(nil, maxRead)
		for lines.Scan() {
			key, value, ok := strings.Cut(lines.Text(), separator)
			if ok && !yield(strings.TrimSpace(key), strings.TrimSpace(value)) {
				return
			}
		}
	}
}

var (
	versionForm = regexp.MustCompile(`^[0-9][0-9A-Za-z.+~_-]{0,39}$`)
	// Printed in drivers' and machines' names, and told by nobody else: what looks like it is
	// taken out of any text that is kept.
	identifiers = regexp.MustCompile(`(?i)\b(?:GPU-|MIG-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b|\b[0-9a-f]{24,}\b|\b[0-9]{9,}\b`)
	addresses   = regexp.MustCompile(`\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b|\S+@\S+`)
)

// version returns a text that has the form of a version, "" for any other.
func version(s string) string {
	if s = strings.TrimSpace(s); versionForm.MatchString(s) && !identifiers.MatchString(s) {
		return s
	}
	return ""
}

// known appends a version that is one.
func known(list []record.Version, name, v string) []record.Version {
	if v = version(v); v == "" {
		return list
	}
	return append(list, record.Version{Name: name, Version: v})
}

// model is a product's name with what is no part of one taken out. Names are plain ASCII.
func model(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, s)
	s = addresses.ReplaceAllString(identifiers.ReplaceAllString(s, ""), "")
	if s = strings.Join(strings.Fields(s), " "); len(s) > 80 {
		s = s[:80]
	}
	if strings.ContainsAny(s, "/\\") { // a path, or "w/ Radeon Graphics"
		s, _, _ = strings.Cut(s, " w/")
		s = strings.Map(func(r rune) rune {
			if r == '/' || r == '\\' {
				return ' '
			}
			return r
		}, s)
	}
	return strings.TrimSpace(s)
}

func number(s string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
