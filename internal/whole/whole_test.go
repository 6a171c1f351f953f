package whole

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// files returns what a folder holds besides.
func files(t *testing.T, dir string) (out []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	do(t, err)
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

func TestAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	do(t, Write(path, text("new")))
	info, err := os.Stat(path)
	do(t, err)
	if read(t, path) != "new" || info.Mode() != 0o600 {
		t.Errorf("%q, mode %v", read(t, path), info.Mode())
	}
	do(t, os.Chmod(path, 0o640))
	do(t, Write(path, text("newer")))
	info, err = os.Stat(path)
	do(t, err)
	if read(t, path) != "newer" || info.Mode() != 0o640 {
		t.Errorf("%q, mode %v", read(t, path), info.Mode())
	}
	// Half of one is none: what was there stays, and nothing is left beside it.
	full := errors.New("the disk is full")
	err = Write(path, func(w io.Writer) error { return errors.Join(text("ha")(w), full) })
	if !errors.Is(err, full) || read(t, path) != "newer" || len(files(t, filepath.Dir(path))) != 1 {
		t.Errorf("%v, %q, %v", err, read(t, path), files(t, filepath.Dir(path)))
	}
}

// What a link leads to is written, there or not yet, through folders that are links too.
func TestLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, d := range []string{"deep/er", "other"} {
		do(t, os.MkdirAll(filepath.Join(dir, d), 0o700))
	}
	do(t, os.WriteFile(filepath.Join(dir, "deep", "file"), []byte("old"), 0o600))
	for name, to := range map[string]string{
		"folder": "deep/er", "there": "deep/file", "twice": "there", "dangling": "other/new", "absolute": filepath.Join(dir, "other", "far"),
		"deep/er/up": "../file2", "loop": "loop", "lost": "nowhere/x",
	} {
		do(t, os.Symlink(to, filepath.Join(dir, name)))
	}
	for name, file := range map[string]string{
		"twice": "deep/file", "there": "deep/file", "dangling": "other/new", "absolute": "other/far", "folder/up": "deep/file2",
	} {
		do(t, Prove(filepath.Join(dir, name)))
		do(t, Write(filepath.Join(dir, name), text(name)))
		info, err := os.Lstat(filepath.Join(dir, name))
		do(t, err)
		if got := read(t, filepath.Join(dir, file)); got != name || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s: %q, mode %v", name, got, info.Mode())
		}
	}
	for _, name := range []string{"loop", "lost"} {
		if Write(filepath.Join(dir, name), text("x")) == nil || Prove(filepath.Join(dir, name)) == nil {
			t.Errorf("%s was written", name)
		}
	}
}

// A pipe is written to and stays one; so is what a link to it names.
func TestAPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	do(t, os.Symlink("pipe", link))
	for _, path := range []string{pipe, link} {
		do(t, Prove(path))
		got := make(chan string)
		go func() {
			b, _ := os.ReadFile(pipe)
			got <- string(b)
		}()
		do(t, Write(path, text("through")))
		if s := <-got; s != "through" {
			t.Errorf("%s: %q", path, s)
		}
	}
	// Whoever reads goes away: that is told.
	r, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	do(t, err)
	err = Write(pipe, func(w io.Writer) error {
		do(t, r.Close())
		return text("lost")(w)
	})
	if !errors.Is(err, syscall.EPIPE) {
		t.Errorf("got %v", err)
	}
	info, err := os.Lstat(pipe)
	do(t, err)
	if info.Mode()&fs.ModeNamedPipe == 0 || len(files(t, dir)) != 2 {
		t.Errorf("mode %v, %v", info.Mode(), files(t, dir))
	}
}

// A device of the kind of /dev/full stays one, and that it takes nothing is told.
func TestADevice(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "full")
	if err := syscall.Mknod(path, syscall.S_IFCHR|0o600, 1<<8|7); err != nil {
		t.Skip("no device can be made here: ", err)
	}
	if f, err := os.OpenFile(path, os.O_WRONLY, 0); err != nil {
		t.Skip("no device can be opened here: ", err)
	} else {
		do(t, f.Close())
	}
	if err := Write(path, text("x")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v", err)
	}
	info, err := os.Lstat(path)
	do(t, err)
	if info.Mode()&fs.ModeCharDevice == 0 {
		t.Errorf("mode %v", info.Mode())
	}
}

// What cannot be written is named as the person named it.
func TestRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for path, want := range map[string]string{
		dir:                                "is a folder",
		filepath.Join(dir, "missing", "x"): filepath.Join(dir, "missing", "x") + ": no such file or directory",
	} {
		for _, err := range []error{Write(path, text("x")), Prove(path)} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", path, err, want)
			}
		}
	}
	do(t, Prove(filepath.Join(dir, "fine")))
	if got := files(t, dir); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
}
