package hardware

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"infbench/gates"
	"infbench/gates/gatetest"
)

func logCheck(t *testing.T) []gates.Check[Subject] {
	t.Helper()
	return slices.DeleteFunc(Checks(), func(c gates.Check[Subject]) bool { return c.ID != "hardware/log" })
}

// Fixtures hold a file "engine.log"; "log:" says that there is none, or an empty one.
func TestLogBothWays(t *testing.T) {
	t.Parallel()
	gatetest.Run(t, logCheck(t), func(t *testing.T, fixture *txtar.Archive) Subject {
		path := filepath.Join(t.TempDir(), "engine.log")
		var text []byte
		switch gatetest.Field(fixture, "log") {
		case "none":
			return Subject{}
		case "missing":
			return Subject{Log: path}
		case "":
			text = fixture.Files[0].Data
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return Subject{Log: path}
	})
}

func linesOf(t *testing.T, file string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

// Each known line is taken for what it is, coloured or not, and each kind has a line.
func TestKnownLines(t *testing.T) {
	t.Parallel()
	met := map[int]bool{}
	for _, line := range linesOf(t, "log-lines.txt") {
		mode, text, _ := strings.Cut(line, "\t")
		for _, form := range []string{text, "\x1b[31m" + text + "\x1b[0m\r"} {
			seen, err := scanLog(t.Context(), strings.NewReader("first\n"+form+"\nlast"), false)
			i := slices.IndexFunc(seen.kinds, func(k kindSeen) bool { return k.times > 0 })
			switch {
			case err != nil || seen.lines != 3:
				t.Errorf("%q: %d lines, %v", text, seen.lines, err)
			case i < 0:
				t.Errorf("%q is not known", text)
			case badLines[i].mode != mode || seen.kinds[i].line != 2:
				t.Errorf("%q is taken for %s (%s), want %s", text, badLines[i].mode, badLines[i].means, mode)
			default:
				met[i] = true
			}
		}
	}
	for i, b := range badLines {
		if !met[i] {
			t.Errorf("no line shows %s %q", b.mode, b.means)
		}
	}
}

// No line of a healthy engine is known, nor one that only sounds like a known one, that
// denies it, or in which a person's words stand.
func TestHealthyLines(t *testing.T) {
	t.Parallel()
	for _, line := range linesOf(t, "healthy-lines.txt") {
		seen, err := scanLog(t.Context(), strings.NewReader(line), false)
		if err != nil {
			t.Fatal(err)
		}
		for i, k := range seen.kinds {
			if b := badLines[i]; k.times > 0 {
				t.Errorf("%q is taken for %s: %s", line, b.mode, b.means)
			}
		}
	}
}

// What is quoted holds no key, address, folder or escape.
func TestExcerptIsPrivate(t *testing.T) {
	t.Parallel()
	line := "host7 10.1.2.3 CUDA error: api_key='sk-SECRET1' Authorization: SECRET2 token=SECRET3 at http://SECRET4.example:80/x 10.9.8.7:22 /home/SECRET5/models/a.so C:\\Users\\SECRET6 \x1b]0;title\x07\u202e"
	seen, err := scanLog(t.Context(), strings.NewReader(line), false)
	if err != nil {
		t.Fatal(err)
	}
	f := seen.finding()
	all := f.Summary() + strings.Join(f.Evidence(), "\n")
	for _, secret := range []string{"SECRET", "host7", "10.1.2.3", "10.9.8.7", "\x1b", "\x07", "\u202e"} {
		if strings.Contains(all, secret) {
			t.Errorf("%q holds %q", all, secret)
		}
	}
	if f.Status() != gates.Failed || !strings.Contains(all, "CUDA error") {
		t.Errorf("%s %q", f.Status(), all)
	}
}

// Each of these held SECRET, in a place where a key, an address or a name may stand.
func TestSecretsAreTakenOut(t *testing.T) {
	t.Parallel()
	for _, rest := range linesOf(t, "secret-lines.txt") {
		seen, err := scanLog(t.Context(), strings.NewReader("CUDA error: "+rest), false)
		if err != nil {
			t.Fatal(err)
		}
		f := seen.finding()
		all := f.Summary() + strings.Join(f.Evidence(), "\n")
		if f.Status() != gates.Failed || strings.Contains(strings.ToLower(all), "secret") {
			t.Errorf("%q is quoted as %q", rest, f.Summary())
		}
	}
}

// What helps to find the fault stays.
func TestFilesAndModulesStay(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"CUDA error: in model.py", "CUDA error: flash_attn.so", "CUDA error: libcudart.so.12", "torch.OutOfMemoryError: Allocation on device 0", "CUDA error: ggml-cuda.cu:88"} {
		if got := excerpt([]byte(text)); got != gates.Quote(text, 200) {
			t.Errorf("%q is quoted as %s", text, got)
		}
	}
}

// A log that could not be read for what it is does not pass.
func TestLittleReadIsNoPass(t *testing.T) {
	t.Parallel()
	wide := func(s string) string { return strings.Join(strings.Split(s, ""), "\x00") + "\x00" }
	for name, c := range map[string]struct{ text, want string }{
		"UTF-16 with its mark":           {"\xff\xfe\x00\x4e\x8c\x4e", "UTF-16"},
		"UTF-16 without":                 {wide("INFO ready\nCUDA error: x\n"), "UTF-16"},
		"big-endian":                     {"\xfe\xff\x4e\x00", "UTF-16"},
		"blank":                          {"\n \r\n\t\n", "blank lines alone, 3 lines read"},
		"one line longer than is read":   {strings.Repeat("x", maxLogLine+1), "longer than 64 KiB"},
		"one line larger than the end":   {strings.Repeat("x", maxLog+1), "no line was read"},
		"a break of line and a long one": {"ready\n" + strings.Repeat("x", maxLog), "no line was read"},
	} {
		path := filepath.Join(t.TempDir(), "engine.log")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if v := gates.Run(t.Context(), logCheck(t)[0], Subject{Log: path}); v.Status() != gates.Skipped || !strings.Contains(v.Summary(), c.want) {
			t.Errorf("%s: %s %s", name, v.Status(), v.Summary())
		}
	}
}

// Lines are counted from where the reading began, and that is said.
func TestLinesOfTheEndAreSaidToBe(t *testing.T) {
	t.Parallel()
	seen, err := scanLog(t.Context(), strings.NewReader("half\nready\n\nCUDA error: x\n"), true)
	if err != nil {
		t.Fatal(err)
	}
	if f := seen.finding(); !strings.Contains(f.Summary(), "line 3 of the last 64 MiB") {
		t.Error(f.Summary())
	}
}

// The sieve looks for the first bytes of an anchor, and for all of them.
func TestAnchorsAreLongEnough(t *testing.T) {
	t.Parallel()
	for _, a := range anchors() {
		if len(a) < sieveBytes || !worthALook.lets([]byte("x"+strings.ToUpper(a))) {
			t.Errorf("%q is not let through", a)
		}
	}
}

func BenchmarkScanLog(b *testing.B) {
	healthy, err := os.ReadFile(filepath.Join("testdata", "log", "pass-healthy.txtar"))
	if err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string]string{
		"healthy": string(healthy), "requests": "INFO [loggers.py:123] Engine 000: Avg prompt throughput: 12.0 tokens/s, Running: 1 reqs\n", "blank": "\n", "coloured": "\x1b[0;36m(EngineCore pid=310)\x1b[0;0m INFO [loggers.py:123] Running: 1 reqs\n",
		"bad": "RuntimeError: CUDA error: unspecified launch failure\n", "denied": "no NaN detected, CUDA error: 0\n", "denied-long": strings.Repeat("no NaN detected, ", 3000) + "\n",
	} {
		b.Run(name, func(b *testing.B) {
			all := []byte(strings.Repeat(text, maxLog/len(text)))
			b.SetBytes(int64(len(all)))
			for b.Loop() {
				if _, err := scanLog(b.Context(), bytes.NewReader(all), false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Of a long log the end is read, and of a long line the beginning.
func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "engine.log")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := []byte("CUDA error: unspecified launch failure\n")
	long := append(bytes.Repeat([]byte("x"), maxLogLine), bad...)
	write := func(at int64, b []byte) {
		if _, err := f.WriteAt(b, at); err != nil {
			t.Fatal(err)
		}
	}
	write(0, bytes.Repeat([]byte("ready\n"), maxLog/6+1))
	write(0, bad) // more than 64 MiB before the end
	write(maxLog+1000, append([]byte("\n"), long...))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	v := gates.Run(t.Context(), logCheck(t)[0], Subject{Log: path})
	if v.Status() != gates.Passed || !strings.Contains(v.Summary(), "the last 64 MiB") {
		t.Errorf("%s %s", v.Status(), v.Summary())
	}
	if v := gates.Run(t.Context(), logCheck(t)[0], Subject{Log: t.TempDir()}); v.Status() != gates.Failed || !strings.Contains(v.Summary(), "no regular file") {
		t.Errorf("a folder: %s %s", v.Status(), v.Summary())
	}
}

// Whatever stands in a log, lines are counted as they are and what is quoted is printable.
func FuzzScanLog(f *testing.F) {
	f.Add([]byte("a\nCUDA error: x\r\n\n"), false)
	f.Add([]byte("nan in the logits\nvLLM API server version 1\nfalling back to cpu \xff\xfe"), true)
	f.Add(bytes.Repeat([]byte("y"), maxLogLine+9), false)
	f.Fuzz(func(t *testing.T, text []byte, midway bool) {
		seen, err := scanLog(t.Context(), bytes.NewReader(text), midway)
		if err != nil {
			t.Fatal(err)
		}
		want := bytes.Count(text, []byte("\n"))
		if len(text) > 0 && text[len(text)-1] != '\n' {
			want++
		}
		if midway && want > 0 {
			want--
		}
		if seen.lines != want {
			t.Fatalf("%d lines, want %d", seen.lines, want)
		}
		for _, k := range seen.kinds {
			if k.line > seen.lines || k.words != gates.Printable(k.words, 0) {
				t.Fatalf("%+v", k)
			}
		}
	})
}
