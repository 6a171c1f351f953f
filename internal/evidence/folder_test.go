package evidence

import (
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func save(t *testing.T, f Folder, run string) string {
	t.Helper()
	p := parts(t, Exchange{Body: "{}"})
	p.Run = run
	b, err := New(p, plainly)
	if err != nil {
		t.Fatal(err)
	}
	path, err := f.Save(b)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func runAt(n int) string { return fmt.Sprintf("20260102T0304%02dZ-%08x", n, n) }

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

func put(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestABundleIsForItsOwnerAlone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	path := save(t, NewFolder(dir), aRun)
	for p, want := range map[string]fs.FileMode{path: 0o600, dir: 0o700 | fs.ModeDir} {
		info, err := os.Stat(p)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v, want %v (%v)", p, info.Mode(), want, err)
		}
	}
	if got := names(t, dir); got != filepath.Base(path) {
		t.Errorf("the folder holds %s", got)
	}
	if b, err := Open(path); err != nil || b.Run() != aRun {
		t.Errorf("read %s, %v", b.Run(), err)
	}
}

// A folder keeps the latest; what is not ours stays whatever it is called, and nothing
// behind a link is touched.
func TestTheOldestAreRemoved(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), t.TempDir()
	f := Folder{dir, 3, 1 << 20}
	// Another's file under a name of ours, one with a name of its own, a folder, a link to a
	// bundle elsewhere, and a link to a folder.
	old := "smoke.known-answer-20200101T000000Z-0000000"
	put(t, filepath.Join(dir, old+"1.json.gz"), []byte("a letter"))
	put(t, filepath.Join(dir, "letter.json.gz"), []byte("a letter"))
	if err := os.Mkdir(filepath.Join(dir, old+"2.json.gz"), 0o700); err != nil {
		t.Fatal(err)
	}
	outside := save(t, NewFolder(elsewhere), "20200101T000000Z-00000003")
	if err := os.Symlink(outside, filepath.Join(dir, old+"3.json.gz")); err != nil {
		t.Fatal(err)
	}
	z, err := os.Create(filepath.Join(dir, old+"4.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	other := gzip.NewWriter(z)
	_, _ = io.WriteString(other, `{"schema":"somebody.else/v1"}`)
	_, _ = other.Close(), z.Close()
	theirs := names(t, dir)
	// What a kill left of one of ours is removed in its turn.
	b := packed(t, bundle(t, Exchange{Body: strings.Repeat("{}", 5000)}))
	put(t, filepath.Join(dir, "."+old+"5.json.gz.tmp"), b[:len(b)-10])
	for n := range 5 {
		save(t, f, runAt(n))
	}
	want := strings.TrimSpace(theirs)
	for n := 2; n < 5; n++ {
		want += " smoke.known-answer-" + runAt(n) + ".json.gz"
	}
	// The directory is listed by name: the letter comes first.
	want = "letter.json.gz " + strings.ReplaceAll(want, "letter.json.gz ", "")
	if got := names(t, dir); got != want {
		t.Errorf("left are\n%s\nwant\n%s", got, want)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error("a file behind a link was removed")
	}
}

// What was just written stays, whatever the clock said before, and however large it is.
func TestTheLatestStays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	future := "20990102T030405Z-00000001"
	save(t, Folder{dir, 1, 1 << 20}, future)
	late := save(t, Folder{dir, 1, 1 << 20}, aRun)
	if got := names(t, dir); got != filepath.Base(late) {
		t.Errorf("left are %s", got)
	}
	next := save(t, Folder{dir, 9, 1}, runAt(7))
	if got := names(t, dir); got != filepath.Base(next) {
		t.Errorf("left are %s", got)
	}
}

// Of one second the one that was written earlier goes first.
func TestOneSecond(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := save(t, NewFolder(dir), "20260102T030405Z-ffffffff")
	hour := time.Now().Add(-time.Hour)
	if err := os.Chtimes(first, hour, hour); err != nil {
		t.Fatal(err)
	}
	second := save(t, NewFolder(dir), "20260102T030405Z-00000001")
	third := save(t, Folder{dir, 2, 1 << 20}, "20260102T030405Z-00000002")
	if got, want := names(t, dir), filepath.Base(second)+" "+filepath.Base(third); got != want {
		t.Errorf("left are %s, want %s", got, want)
	}
}

// A place that cannot be written is an error, and leaves nothing half-done.
func TestAFolderThatIsNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "file"), nil)
	for _, path := range []string{filepath.Join(dir, "file"), filepath.Join(dir, "file", "below")} {
		if _, err := NewFolder(path).Save(bundle(t, Exchange{})); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if got := names(t, dir); got != "file" {
		t.Errorf("left are %s", got)
	}
}
