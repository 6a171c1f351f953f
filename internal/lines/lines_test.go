package lines_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"infbench/internal/lines"
)

func read(t *testing.T, text string, most int) (whole, bad []string) {
	t.Helper()
	for l, err := range lines.Each(strings.NewReader(text), most) {
		var e *lines.Error
		switch {
		case errors.As(err, &e):
			bad = append(bad, e.Error())
		case err != nil:
			t.Fatal(err)
		default:
			whole = append(whole, string(l.Text))
		}
	}
	return whole, bad
}

func TestEach(t *testing.T) {
	t.Parallel()
	long := "a line of more than eight bytes"
	for name, c := range map[string]struct {
		text       string
		whole, bad []string
	}{
		"nothing":      {"", nil, nil},
		"two":          {"one\ntwo\n", []string{"one", "two"}, nil},
		"blank ones":   {"\n  \none\n\n", []string{"one"}, nil},
		"torn":         {"one\ntw", []string{"one"}, []string{"line 2 is torn (the file ends inside it), skipped"}},
		"too long":     {long + "\none\n", []string{"one"}, []string{"line 1 skipped: it is longer than any, which is 8 bytes"}},
		"just as long": {"12345678\none\n", []string{"12345678", "one"}, nil},
		"long, torn":   {"one\n" + long, []string{"one"}, []string{"line 2 skipped: it is longer than any, which is 8 bytes"}},
	} {
		whole, bad := read(t, c.text, 8)
		if diff := cmp.Diff(c.whole, whole) + cmp.Diff(c.bad, bad); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A long line that crosses the reader's own buffer is stepped over whole.
func TestEachBeyondTheBuffer(t *testing.T) {
	t.Parallel()
	whole, bad := read(t, strings.Repeat("x", 1<<18)+"\nnext\n", 1<<10)
	if len(bad) != 1 || !cmp.Equal(whole, []string{"next"}) {
		t.Errorf("%q, %q", whole, bad)
	}
}

func TestAppendClosesATornLine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("one\ntw"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for _, line := range []string{"three\n", "four\n"} {
		if err := lines.Append(f, []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := os.ReadFile(path)
	if !bytes.Equal(got, []byte("one\ntw\nthree\nfour\n")) {
		t.Errorf("%q", got)
	}
}

func FuzzEach(f *testing.F) {
	f.Add("one\ntwo\n", 8)
	f.Add("torn", 2)
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = max(1, most%64)
		for l, err := range lines.Each(strings.NewReader(text), most) {
			if err == nil && (len(l.Text) > most || bytes.ContainsRune(l.Text, '\n')) {
				t.Errorf("line %d: %q", l.N, l.Text)
			}
		}
	})
}
