package tree

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/compression"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// A layer in a test is text, an entry a line: "PATH CONTENT" is a file, "PATH/" a folder,
// "PATH -> TARGET" a symbolic link, "PATH => TARGET" a hard link, "PATH |" a pipe.
func layerTar(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		path, rest, _ := strings.Cut(line, " ")
		h := &tar.Header{Name: path, Mode: 0o644, Typeflag: tar.TypeReg, Size: int64(len(rest))}
		switch word, target, _ := strings.Cut(rest, " "); {
		case path == "":
			continue
		case strings.HasSuffix(path, "/"):
			h.Typeflag, h.Size = tar.TypeDir, 0
		case word == "->":
			h.Typeflag, h.Size, h.Linkname = tar.TypeSymlink, 0, target
		case word == "=>":
			h.Typeflag, h.Size, h.Linkname = tar.TypeLink, 0, target
		case word == "|":
			h.Typeflag, h.Size = tar.TypeFifo, 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := io.WriteString(w, rest); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type pack string

const (
	plain  pack = "plain"
	zipped pack = "gzip"
	zstded pack = "zstd"
)

func layerOf(t testing.TB, content []byte, p pack) v1.Layer {
	t.Helper()
	if p == plain {
		return static.NewLayer(content, types.OCIUncompressedLayer)
	}
	option := tarball.WithCompression(compression.GZip)
	if p == zstded {
		option = tarball.WithCompression(compression.ZStd)
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }, option, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

var created = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

func imageOf(t testing.TB, platform string, p pack, layers ...string) v1.Image {
	t.Helper()
	var ls []v1.Layer
	for _, text := range layers {
		ls = append(ls, layerOf(t, layerTar(t, text), p))
	}
	return withLayers(t, platform, ls...)
}

func withLayers(t testing.TB, platform string, layers ...v1.Layer) v1.Image {
	t.Helper()
	img, err := mutate.AppendLayers(mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1), layers...)
	if err != nil {
		t.Fatal(err)
	}
	c, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want, err := v1.ParsePlatform(platform)
	if err != nil {
		t.Fatal(err)
	}
	c = c.DeepCopy()
	c.OS, c.Architecture, c.Variant, c.Created = want.OS, want.Architecture, want.Variant, v1.Time{Time: created}
	if img, err = mutate.ConfigFile(img, c); err != nil {
		t.Fatal(err)
	}
	return img
}

// forms write an image in each way in which it may be kept.
var forms = map[string]func(t testing.TB, img v1.Image) string{
	"docker":     dockerFile,
	"docker gz":  func(t testing.TB, img v1.Image) string { return gzipped(t, dockerFile(t, img)) },
	"layout":     func(t testing.TB, img v1.Image) string { return layoutFolder(t, img) },
	"layout tar": func(t testing.TB, img v1.Image) string { return tarred(t, layoutFolder(t, img)) },
	"layout tgz": func(t testing.TB, img v1.Image) string { return gzipped(t, tarred(t, layoutFolder(t, img))) },
}

func dockerFile(t testing.TB, img v1.Image) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.tar")
	if err := tarball.WriteToFile(path, name.MustParseReference("example/engine:1.2"), img); err != nil {
		t.Fatal(err)
	}
	return path
}

func layoutFolder(t testing.TB, things ...mutate.Appendable) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "layout")
	p, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	for _, thing := range things {
		option := layout.WithAnnotations(map[string]string{shortName: "engine-1.2"})
		switch thing := thing.(type) {
		case v1.Image:
			err = p.AppendImage(thing, option)
		case v1.ImageIndex:
			err = p.AppendIndex(thing, option)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func tarred(t testing.TB, dir string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "layout.tar")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(f)
	if err := errors.Join(w.AddFS(os.DirFS(dir)), w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func gzipped(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), os.WriteFile(path+".gz", out.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	return path + ".gz"
}

// look returns what can be seen below a path, a file a line: "PATH CONTENT".
func look(t testing.TB, path string, o Options) (string, Report, error) {
	t.Helper()
	found, r, err := Read(t.Context(), path, o, func(f File) (string, bool, error) {
		b, err := io.ReadAll(io.LimitReader(f.Stream(), 1<<20))
		if err == nil && f.Size() != int64(len(b)) && len(b) < 1<<20 {
			err = fmt.Errorf("%d bytes, want %d", len(b), f.Size())
		}
		if at, ok := f.At(); ok && err == nil {
			again := make([]byte, len(b))
			if _, err := at.ReadAt(again, 0); err != nil && !errors.Is(err, io.EOF) || !bytes.Equal(again, b) {
				return "", true, fmt.Errorf("sought %q, read %q: %w", again, b, err)
			}
		}
		return string(b), true, err
	})
	var lines []string
	for _, f := range found {
		line := f.Path + " " + f.Value
		if f.Err != nil {
			line = f.Path + " ! " + f.Err.Error()
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(lines, "\n"), r, err
}

func lines(s ...string) string { return strings.Join(s, "\n") }

func TestImages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		layers []string
		want   string
	}{
		{"one layer", []string{"usr/\nusr/lib/a.so one\nb two"}, lines("b two", "usr/lib/a.so one")},
		{"replaced", []string{"a old\nb same", "a new"}, lines("a new", "b same")},
		{"removed", []string{"d/a one\nd/b two", "d/.wh.a"}, "d/b two"},
		{"folder removed", []string{"d/e/a one\nd/b two\nda three", ".wh.d"}, "da three"},
		{"removed and back", []string{"a one", ".wh.a", "a two"}, "a two"},
		{"opaque", []string{"d/a one\nd/e/b two\nda three", "d/\nd/.wh..wh..opq\nd/c four"}, lines("d/c four", "da three")},
		{"opaque hides lower layers alone", []string{"d/a one", "d/b two\nd/.wh..wh..opq"}, "d/b two"},
		{"opaque root", []string{"a one\nd/b two", ".wh..wh..opq\nc three"}, "c three"},
		{"a file for a folder", []string{"d/a one\nd/b/c two", "d three"}, "d three"},
		{"a folder for a file", []string{"d one", "d/"}, ""},
		{"a folder that is implied", []string{"d one", "d/a two"}, "d/a two"},
		{"a folder over a folder", []string{"d/a one", "d/\nd/b two"}, lines("d/a one", "d/b two")},
		{"a link for a file", []string{"a one\nd/b two", "a -> d\nd -> e"}, ""},
		{"a pipe for a file", []string{"a one", "a |"}, ""},
		{"hard links", []string{"a one\nb => a", "c => a\nd => /b"}, lines("a one", "b one", "c one", "d one")},
		{"a hard link stays", []string{"a one\nb => a", ".wh.a"}, "b one"},
		{"a hard link stays when its file is replaced", []string{"a one", "b => a\na two"}, lines("a two", "b one")},
		{"a hard link for a file", []string{"a one\nb two", "b => a"}, lines("a one", "b one")},
		{"hard links in circles", []string{"a => b\nb => a\nc => c\nd => ../../x\ne one"}, "e one"},
		{"twice in a layer", []string{"a one\na two"}, "a two"},
		{"absolute and dotted", []string{"/a one\n./b two\nd//c three\nd/./e four"}, lines("a one", "b two", "d/c three", "d/e four")},
		{"out of the root", []string{"../a one\nd/../../b two\nd/.wh... x\nd/.wh.. x\nd/.wh. x\nc three"}, "c three"},
		{"metadata of AUFS", []string{"a one\n.wh..wh.aufs x\n.wh..wh.plnk/1 x"}, lines(".wh..wh.plnk/1 x", "a one")},
		{"a name of escapes", []string{"a\x1b[31m one"}, "a\x1b[31m one"},
		{"an empty layer", []string{"a one", "", "b two"}, lines("a one", "b two")},
		{"a layer twice", []string{"a one", ".wh.a", "a one"}, "a one"},
		{"no layers", nil, ""},
	} {
		for form, write := range forms {
			for _, p := range []pack{plain, zipped, zstded} {
				t.Run(c.name+"/"+form+"/"+string(p), func(t *testing.T) {
					t.Parallel()
					img := imageOf(t, "linux/amd64", p, c.layers...)
					got, r, err := look(t, write(t, img), Options{})
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(c.want, got); diff != "" {
						t.Errorf("(-want +got)\n%s", diff)
					}
					if r.Layers != len(c.layers) || r.Platform != "linux/amd64" || !r.Created.Equal(created) || len(r.Tags) != 1 {
						t.Errorf("report: %+v", r)
					}
					config, _ := img.ConfigName()
					manifest, _ := img.Digest()
					if r.Config != config.String() || (r.Kind != DockerArchive) != (r.Manifest == manifest.String()) {
						t.Errorf("got %s and %s, want %s and %s", r.Config, r.Manifest, config, manifest)
					}
				})
			}
		}
	}
}

// What can be sought in is: a layer that is not compressed, in what is not either.
func TestImagesSought(t *testing.T) {
	t.Parallel()
	for form, write := range forms {
		for _, p := range []pack{plain, zipped} {
			_, _, err := Read(t.Context(), write(t, imageOf(t, "linux/amd64", p, "a one")), Options{}, func(f File) (int, bool, error) {
				_, ok := f.At()
				if want := p == plain && (form == "layout" || form == "layout tar" || form == "docker"); ok != want {
					t.Errorf("%s, %s: sought %t, want %t", form, p, ok, want)
				}
				return 0, false, nil
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
}

// Random layers show what the library's own flattening shows.
func TestImagesAsFlattened(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var layers []string
		for range 1 + rnd.IntN(5) {
			layers = append(layers, randomLayer(rnd))
		}
		img := imageOf(t, "linux/amd64", []pack{plain, zipped}[rnd.IntN(2)], layers...)
		got, _, err := look(t, layoutFolder(t, img), Options{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if want := flattened(t, img); got != want {
			t.Fatalf("seed %d:\n%s\n%s", seed, strings.Join(layers, "---\n"), cmp.Diff(want, got))
		}
	}
}

// randomLayer says one thing of a path at most, and of none above or below another file.
func randomLayer(rnd *rand.Rand) string {
	var text strings.Builder
	var taken []string
	for range 1 + rnd.IntN(8) {
		parts := make([]string, 1+rnd.IntN(3))
		for i := range parts {
			parts[i] = string(rune('a' + rnd.IntN(3)))
		}
		kind := rnd.IntN(6)
		if last := &parts[len(parts)-1]; kind > 2 || rnd.IntN(2) == 0 {
			*last = strings.ToUpper(*last) // files: what lies below one is no image
		}
		path := strings.Join(parts, "/")
		if slices.ContainsFunc(taken, func(other string) bool {
			return path == other || strings.HasPrefix(path, other+"/") || strings.HasPrefix(other, path+"/")
		}) {
			continue
		}
		taken = append(taken, path)
		switch dir, base := filepath.Split(path); kind {
		case 0:
			fmt.Fprintf(&text, "%s.wh.%s\n", dir, base)
		case 1:
			fmt.Fprintf(&text, "%s -> x\n", path)
		case 2:
			fmt.Fprintf(&text, "%s/.wh..wh..opq\n", path)
		default:
			fmt.Fprintf(&text, "%s %d\n", path, rnd.IntN(1000))
		}
	}
	return text.String()
}

func flattened(t *testing.T, img v1.Image) string {
	t.Helper()
	var files []string
	rc := mutate.Extract(img)
	defer rc.Close()
	for r := tar.NewReader(rc); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			slices.Sort(files)
			return strings.Join(files, "\n")
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			b, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, h.Name+" "+string(b))
		}
	}
}

func indexOf(t testing.TB, platforms ...string) v1.ImageIndex {
	t.Helper()
	var index v1.ImageIndex = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range platforms {
		platform, err := v1.ParsePlatform(p)
		if err != nil {
			t.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: imageOf(t, p, zipped, "a "+p), Descriptor: v1.Descriptor{Platform: platform}})
	}
	note, err := random.Image(100, 1)
	if err != nil {
		t.Fatal(err)
	}
	return mutate.AppendManifests(index, mutate.IndexAddendum{Add: note, Descriptor: v1.Descriptor{
		Platform: &v1.Platform{OS: "unknown", Architecture: "unknown"}, Annotations: map[string]string{attestation: "attestation-manifest"},
	}})
}

func TestPlatforms(t *testing.T) {
	t.Parallel()
	both := layoutFolder(t, indexOf(t, "linux/amd64", "linux/arm64/v8", "linux/riscv64"))
	one := layoutFolder(t, imageOf(t, "linux/s390x", zipped, "a s390x"))
	two := layoutFolder(t, imageOf(t, "linux/amd64", zipped, "a one"), imageOf(t, "linux/amd64", zipped, "a two"))
	for _, c := range []struct{ name, path, platform, want, err string }{
		{"asked for", both, "linux/arm64", "a linux/arm64/v8", ""},
		{"asked for with its variant", both, "linux/arm64/v8", "a linux/arm64/v8", ""},
		{"as an archive", tarred(t, both), "linux/amd64", "a linux/amd64", ""},
		{"as a stream", gzipped(t, tarred(t, both)), "linux/riscv64", "a linux/riscv64", ""},
		{"not there", both, "linux/s390x", "", "layout: no image for linux/s390x, only for linux/amd64, linux/arm64/v8, linux/riscv64: ask for one of them"},
		{"no platform", both, "arm64", "", `"arm64" is no platform`},
		{"the only one", one, "", "a s390x", ""},
		{"the only one, and another was asked for", one, "linux/arm64", "", "no image for linux/arm64, only for linux/s390x"},
		{"two images", two, "linux/amd64", "", "2 images (engine-1.2"},
	} {
		got, r, err := look(t, c.path, Options{Platform: c.platform})
		if got != c.want || !strings.Contains(fmt.Sprint(err), c.err) || (c.err == "") != (err == nil) {
			t.Errorf("%s: got %q, %v, want %q, %q", c.name, got, err, c.want, c.err)
		}
		if err == nil && len(r.Notes) == 0 {
			t.Errorf("%s: the report does not say which of them was taken", c.name)
		}
	}
}

// A Docker archive of before 2024 links to a layer that it holds already.
func TestDockerLinks(t *testing.T) {
	t.Parallel()
	l := layerTar(t, "a one")
	img := withLayers(t, "linux/amd64", layerOf(t, l, plain), layerOf(t, l, plain))
	config, err := img.RawConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range []struct{ name, link, data string }{
		{"x/layer.tar", "", string(l)},
		{"y/layer.tar", "../x/layer.tar", ""},
		{"z.json", "", string(config)},
		{"manifest.json", "", `[{"Config":"z.json","RepoTags":["e:1"],"Layers":["x/layer.tar","y/layer.tar"]}]`},
	} {
		h := &tar.Header{Name: m.name, Mode: 0o644, Size: int64(len(m.data)), Typeflag: tar.TypeReg, Linkname: m.link}
		if m.link != "" {
			h.Typeflag = tar.TypeSymlink
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, m.data); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "old.tar")
	if err := errors.Join(w.Close(), os.WriteFile(path, b.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, gzipped(t, path)} {
		if got, r, err := look(t, p, Options{}); err != nil || got != "a one" || r.Kind != DockerArchive || r.Layers != 2 {
			t.Errorf("got %q, %+v, %v", got, r, err)
		}
	}
}

func blobs(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), "blobs", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// Whatever part of a layout is missing, cut short or changed: one line that says so.
func TestDamagedImages(t *testing.T) {
	t.Parallel()
	for _, p := range []pack{plain, zipped, zstded} {
		img := imageOf(t, "linux/amd64", p, "a one\nb two", "d/c three")
		for i := range blobs(t, layoutFolder(t, img)) {
			for name, damage := range map[string]func(path string, b []byte) error{
				"missing":  func(path string, _ []byte) error { return os.Remove(path) },
				"cut":      func(path string, b []byte) error { return os.WriteFile(path, b[:len(b)/2], 0o644) },
				"empty":    func(path string, _ []byte) error { return os.WriteFile(path, nil, 0o644) },
				"changed":  func(path string, b []byte) error { b[len(b)/3] ^= 1; return os.WriteFile(path, b, 0o644) },
				"appended": func(path string, b []byte) error { return os.WriteFile(path, append(b, 0), 0o644) },
				"a folder": func(path string, _ []byte) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o755)) },
			} {
				dir := layoutFolder(t, img)
				path := filepath.Join(dir, blobs(t, dir)[i])
				b, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := damage(path, b); err != nil {
					t.Fatal(err)
				}
				places := []string{dir}
				if name != "a folder" {
					places = append(places, tarred(t, dir), gzipped(t, tarred(t, dir)))
				}
				for _, place := range places {
					got, _, err := look(t, place, Options{})
					if err == nil || got != "" || strings.Contains(err.Error(), filepath.Dir(place)) || strings.Contains(err.Error(), "\n") {
						t.Errorf("%s, %s, %s: got %q, %v", p, filepath.Base(path), name, got, err)
					}
				}
			}
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 200 {
		fmt.Fprintf(&many, "file-%03d %s\n", i, strings.Repeat("x", 50))
	}
	for i := range 60 {
		fmt.Fprintf(&many, "link-%03d => file-000\n", i)
	}
	img := imageOf(t, "linux/amd64", zipped, many.String(), "a one")
	for form, write := range forms {
		path := write(t, img)
		for want, change := range map[string]func(b *bounds){
			"more than 100 entries":            func(b *bounds) { b.entries = 100 },
			"names of more than 1 MiB":         func(b *bounds) { b.names = 1 << 10; b.names += 1 }, // rounds down to 0
			"more than 50 files to look into":  func(b *bounds) { b.kept = 50 },
			"more than 250 files to look into": func(b *bounds) { b.kept = 250 }, // with their second names
			"more than 20000 bytes":            func(b *bounds) { b.unpacked = 20_000 },
			"an image of 2 layers":             func(b *bounds) { b.layers = 1 },
			"no such document has":             func(b *bounds) { b.document = 100 },
			"an archive of more than 3":        func(b *bounds) { b.outer = 3 },
		} {
			if strings.HasPrefix(want, "an archive") && form == "layout" {
				continue
			}
			b := usual
			change(&b)
			want = strings.Replace(want, "than 1 MiB", "than 0 MiB", 1)
			if got, _, err := look(t, path, Options{bounds: b}); err == nil || got != "" || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", form, err, want)
			}
		}
	}
}

// Archives that are no images, or hold something else where images are.
func TestNoImages(t *testing.T) {
	t.Parallel()
	write := func(name string, b []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	signature := mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1)
	signature, err := mutate.AppendLayers(signature, static.NewLayer([]byte("{}"), "application/vnd.dev.cosign.simplesigning.v1+json"))
	if err != nil {
		t.Fatal(err)
	}
	for want, path := range map[string]string{
		"neither manifest.json nor index.json": write("x.tar", layerTar(t, "a one")),
		"called .tar and no tar archive":       write("x.tar", []byte("<html>")),
		"called .whl and no zip file":          write("x.whl", []byte("version https://git-lfs")),
		"manifest.json is not readable":        write("x.tar", layerTar(t, "manifest.json [{]")),
		"configuration is missing":             write("x.tar", layerTar(t, `manifest.json [{"Config":"../../etc/passwd"}]`)),
		"holds no container image":             layoutFolder(t),
		"not a container image":                layoutFolder(t, signature),
		"index.json is not readable":           write("x.tar", layerTar(t, "oci-layout {}\nindex.json {\"manifests\":[{\"digest\":\"sha256:../../x\"}]}")),
	} {
		if got, _, err := look(t, path, Options{}); err == nil || !strings.Contains(err.Error(), want) || got != "" {
			t.Errorf("%s: got %q, %v", want, got, err)
		}
	}
	both := layoutFolder(t, signature, imageOf(t, "linux/amd64", zipped, "a one"))
	if got, _, err := look(t, both, Options{}); err != nil || got != "a one" {
		t.Errorf("an image beside its signature: got %q, %v", got, err)
	}
}
