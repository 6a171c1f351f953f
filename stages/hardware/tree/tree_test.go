package tree

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func folderOf(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "site-packages")
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFolder(t *testing.T) {
	t.Parallel()
	dir := folderOf(t, map[string]string{"a": "one", "d/b.so.1": "two", "d/e/c": ""})
	outside := folderOf(t, map[string]string{"x": "secret"})
	for name, target := range map[string]string{"d/b.so": "b.so.1", "out": outside, "round": ".", "nowhere": "nothing"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip("no links here: ", err)
		}
	}
	root := filepath.Join(t.TempDir(), "named")
	if err := os.Symlink(dir, root); err != nil {
		t.Fatal(err)
	}
	want := lines("a one", "d/b.so.1 two", "d/e/c")
	for _, path := range []string{dir, root, dir + "/d/.."} {
		got, r, err := look(t, path, Options{})
		if err != nil || got != want || r.Kind != Folder || r.Links != 4 || r.Entries != 9 {
			t.Errorf("got %q, %+v, %v", got, r, err)
		}
	}
	_, r, err := look(t, dir, Options{CountLink: func(name string) bool { return strings.Contains(name, ".so") }})
	if err != nil || r.Links != 1 {
		t.Errorf("got %d links, %v, want 1", r.Links, err)
	}
	got, r, err := look(t, filepath.Join(dir, "d/b.so"), Options{})
	if err != nil || got != "b.so two" || r.Kind != SingleFile {
		t.Errorf("got %q, %+v, %v", got, r, err)
	}
}

// Nothing waits for the other end of a pipe, and what cannot be read is kept with its file.
func TestFolderOfOddThings(t *testing.T) {
	t.Parallel()
	dir := folderOf(t, map[string]string{"a": "one", "shut/b": "two", "closed": "three"})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Skip("no pipes here: ", err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Skip("no sockets here: ", err)
	}
	defer l.Close()
	got, r, err := look(t, dir, Options{})
	if want := "2 × a pipe, socket or device: not read"; err != nil || got != lines("a one", "closed three", "shut/b two") || strings.Join(r.Notes, "") != want {
		t.Errorf("got %q, %q, %v, want %q", got, r.Notes, err, want)
	}
	for _, path := range []string{filepath.Join(dir, "pipe"), "/dev/zero"} {
		if _, _, err := look(t, path, Options{}); err == nil || !strings.Contains(err.Error(), "neither a file nor a folder") {
			t.Errorf("%s: got %v", path, err)
		}
	}
	if _, _, err := look(t, filepath.Join(dir, "missing"), Options{}); !errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), dir) {
		t.Errorf("got %v", err)
	}
	for _, shut := range []string{"closed", "shut"} {
		if err := os.Chmod(filepath.Join(dir, shut), 0); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(filepath.Join(dir, shut), 0o755)
	}
	if os.Getuid() == 0 {
		t.Log("root reads all")
		return
	}
	if got, _, err := look(t, dir, Options{}); err != nil || got != lines("a one", "closed ! permission denied", "shut ! permission denied") {
		t.Errorf("got %q, %v", got, err)
	}
}

// A visit's error stays with its file, and the bytes of a file end with its visit.
func TestVisits(t *testing.T) {
	t.Parallel()
	sour := errors.New("sour")
	for _, path := range []string{
		folderOf(t, map[string]string{"a": "one", "b": "two", "c": "three"}), zipOf(t, "a one", "b two", "c three"),
		layoutFolder(t, imageOf(t, "linux/amd64", zipped, "a one\nb two\nc three")), layoutFolder(t, imageOf(t, "linux/amd64", plain, "a one\nb two\nc three")),
	} {
		var late []io.Reader
		found, _, err := Read(t.Context(), path, Options{}, func(f File) (int64, bool, error) {
			late = append(late, f.Stream())
			switch f.Path() {
			case "a":
				return f.Size(), false, sour
			case "b":
				return f.Size(), false, nil
			}
			return f.Size(), true, nil
		})
		if diff := cmp.Diff([]Found[int64]{{"a", 3, sour}, {"c", 5, nil}}, found, cmp.Comparer(func(a, b error) bool { return errors.Is(a, b) })); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
		for _, r := range late {
			if n, err := r.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, io.EOF) {
				t.Errorf("read %d bytes after the visit, %v", n, err)
			}
		}
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	why := errors.New("enough")
	for _, path := range []string{
		folderOf(t, map[string]string{"a": "one", "b": "two"}), zipOf(t, "a one", "b two"), dockerFile(t, imageOf(t, "linux/amd64", zipped, "a one\nb two")),
		gzipped(t, dockerFile(t, imageOf(t, "linux/amd64", zipped, "a one\nb two"))), layoutFolder(t, imageOf(t, "linux/amd64", plain, "a one\nb two")),
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		visits := 0
		found, _, err := Read(ctx, path, Options{}, func(File) (int, bool, error) {
			visits++
			cancel(why)
			return 0, true, nil
		})
		if !errors.Is(err, why) || len(found) != 0 || visits != 1 {
			t.Errorf("%s: %d visits, got %v, %v", filepath.Base(path), visits, found, err)
		}
		cancel(nil)
	}
}

// zipOf makes a wheel: "NAME CONTENT" is deflated, "NAME = CONTENT" stored, "NAME -> TARGET"
// a link.
func zipOf(t testing.TB, members ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		name, text, _ := strings.Cut(m, " ")
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		if s, ok := strings.CutPrefix(text, "= "); ok {
			h.Method, text = zip.Store, s
		}
		if s, ok := strings.CutPrefix(text, "-> "); ok {
			h.SetMode(os.ModeSymlink | 0o777)
			text = s
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "/") {
			if _, err := io.WriteString(f, text); err != nil {
				t.Fatal(err)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "engine-1.2-py3-none-any.whl")
	if err := errors.Join(w.Close(), os.WriteFile(path, b.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWheel(t *testing.T) {
	t.Parallel()
	path := zipOf(t, "d/", "d/a.so one", "b = two", "c -> b", "../e three", "/f four", "g\x00h five", "b = newer", "empty = ", "d/a\x1b six")
	got, r, err := look(t, path, Options{})
	want := lines("b newer", "d/a\x1b six", "d/a.so one", "empty", "f four")
	if err != nil || got != want || r.Kind != Wheel || r.Links != 1 || r.Entries != 10 {
		t.Errorf("got %q, %+v, %v, want %q", got, r, err, want)
	}
	if want := "2 × " + badName; strings.Join(r.Notes, ";") != want {
		t.Errorf("got %q, want %q", r.Notes, want)
	}
	sought := map[string]bool{}
	if _, _, err := Read(t.Context(), path, Options{}, func(f File) (int, bool, error) {
		_, sought[f.Path()] = f.At()
		return 0, false, nil
	}); err != nil || !sought["b"] || sought["f"] {
		t.Errorf("sought: %v, %v", sought, err)
	}
	// Told by its bytes.
	other := filepath.Join(t.TempDir(), "engine")
	if err := os.Rename(path, other); err != nil {
		t.Fatal(err)
	}
	if _, r, err := look(t, other, Options{}); err != nil || r.Kind != Wheel {
		t.Errorf("%+v, %v", r, err)
	}
}

// A sound wheel with something changed in its directory, at an offset from its entry.
func TestHostileWheels(t *testing.T) {
	t.Parallel()
	le := binary.LittleEndian
	for _, c := range []struct {
		name    string
		members []string
		change  func(b, entry []byte)
		want    string
	}{
		{"longer than it says", []string{"a " + strings.Repeat("x", 5000)}, func(_, e []byte) { le.PutUint32(e[24:], 100) }, "a ! zip: not a valid zip file"},
		{"shorter than it says", []string{"a one"}, func(_, e []byte) { le.PutUint32(e[24:], 100) }, "a ! unexpected EOF"},
		{"stored and lying", []string{"a = one"}, func(_, e []byte) { le.PutUint32(e[24:], 100) }, "a ! stored in 3 bytes, and 100 long: do not use it"},
		{"encrypted", []string{"a one"}, func(_, e []byte) { e[8] |= 1 }, "a ! encrypted: unpack it and name the folder"},
		{"another method", []string{"a one"}, func(_, e []byte) { e[10] = 93 }, "a ! compressed by method 93, which is not read: unpack it and name the folder"},
		{"wrong sum", []string{"a one", "b two"}, func(_, e []byte) { e[16]++ }, lines("a ! zip: checksum error", "b two")},
		{"past the file", []string{"a one"}, func(_, e []byte) { le.PutUint32(e[20:], 1<<30) }, "engine-1.2-py3-none-any.whl: no sound zip file: a ends past the file: is the download complete?"},
		{"header past the file", []string{"a one"}, func(_, e []byte) { le.PutUint32(e[42:], 1<<30) }, "engine-1.2-py3-none-any.whl: no sound zip file: the header of a: EOF: is the download complete?"},
		{"shared bytes", []string{"a one", "b two"}, func(b, e []byte) { copy(e[42:46], b[bytes.LastIndex(b, []byte("PK\x01\x02"))+42:]) }, "shares bytes with another member"},
		{"bytes inside another", []string{"a one", "b two"}, func(_, e []byte) { le.PutUint32(e[20:], 60) }, "shares bytes with another member"},
		{"no directory", []string{"a one"}, func(b, _ []byte) { clear(b[len(b)-22:]) }, "not a sound zip file"},
	} {
		path := zipOf(t, c.members...)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c.change(b, b[bytes.Index(b, []byte("PK\x01\x02")):])
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		got, _, err := look(t, path, Options{})
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	path := zipOf(t, "a one", "b two", "c "+strings.Repeat("x", 50_000))
	for want, change := range map[string]func(b *bounds){
		"more than 2 entries":              func(b *bounds) { b.entries = 2 },
		"directory has more than 0 MiB":    func(b *bounds) { b.folder = 100 },
		"it unpacks to more than 10 bytes": func(b *bounds) { b.unpacked = 10 },
	} {
		b := usual
		change(&b)
		if _, _, err := look(t, path, Options{bounds: b}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// Any bytes, as any kind: no panic, nothing outside the root, and errors of one line.
func FuzzRead(f *testing.F) {
	img := imageOf(f, "linux/amd64", zipped, "a one\nb => a", ".wh.a\nc two")
	for _, path := range []string{zipOf(f, "d/a one", "b = two"), dockerFile(f, img), gzipped(f, dockerFile(f, img)), tarred(f, layoutFolder(f, imageOf(f, "linux/amd64", plain, "a one")))} {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	small := usual
	small.unpacked, small.entries = 1<<20, 1000
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		found, _, err := Read(t.Context(), path, Options{bounds: small}, func(f File) (int, bool, error) {
			n, err := io.Copy(io.Discard, io.LimitReader(f.Stream(), 1<<20))
			return int(n), true, err
		})
		if err != nil && (len(found) > 0 || strings.Contains(err.Error(), t.TempDir()) || strings.ContainsAny(err.Error(), "\n\x1b")) {
			t.Fatalf("%d found, %q", len(found), err)
		}
		for _, one := range found {
			if name, ok := clean(one.Path); !ok || name != one.Path {
				t.Fatalf("a path %q", one.Path)
			}
		}
	})
}

// FuzzLayer reads any bytes as a layer.
func FuzzLayer(f *testing.F) {
	f.Add(layerTar(f, "a one\nb => a\nd/\nd/.wh.c\n.wh..wh..opq\ne -> f"))
	f.Fuzz(func(t *testing.T, b []byte) {
		v := &visitor{budget: budget{ctx: t.Context(), bounds: usual}}
		v.visit = func(f File) (int, bool) {
			n, err := io.Copy(io.Discard, f.Stream())
			if at, ok := f.At(); !ok || err == nil && n > int64(len(b)) {
				t.Fatalf("%d bytes, %t, %v", n, at != nil, err)
			}
			return 0, true
		}
		v.damaged = func(error) int { return 0 }
		l, err := v.layer(bytes.NewReader(b), bytes.NewReader(b))
		if err != nil {
			return
		}
		var u union
		u.lay(l.entries, usual.kept)
		u.lay(l.entries, usual.kept)
		below := map[string]int{}
		for path := range u.files {
			if name, ok := clean(path); !ok || name != path {
				t.Fatalf("a path %q", path)
			}
			for i := range path {
				if path[i] == '/' {
					below[path[:i]]++
					if _, ok := u.files[path[:i]]; ok {
						t.Fatalf("%q lies below a file", path)
					}
				}
			}
		}
		if diff := cmp.Diff(below, u.below); diff != "" && len(below)+len(u.below) > 0 {
			t.Fatal(fmt.Sprint("folders are counted wrongly: ", diff))
		}
	})
}
