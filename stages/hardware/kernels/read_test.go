package kernels_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"infbench/stages/hardware/arch"
	"infbench/stages/hardware/fatbin/fatbintest"
	"infbench/stages/hardware/kernels"
	"infbench/stages/hardware/offload/offloadtest"
	"infbench/stages/hardware/tree"
)

func cuda(t testing.TB, targets string) []byte {
	t.Helper()
	b, err := fatbintest.Library(targets)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func amd(t testing.TB, targets string) []byte {
	t.Helper()
	b, err := offloadtest.Library(targets)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// cubin is the beginning of a CUDA module for sm_90a, as CUDA 12 writes it.
var cubin = append([]byte("\x7fELF\x02\x01\x01\x33\x07"), slices.Concat(make([]byte, 9), []byte{190, 0}, make([]byte, 28), []byte{0x5a, 0x0d, 0x5a, 0}, make([]byte, 12))...)

// files are a small image of an engine with all kinds of compiled code.
func files(t testing.TB) map[string][]byte {
	return map[string][]byte{
		"opt/site-packages/vllm/_C.abi3.so":                      cuda(t, "sm_80\nsm_90\ncompute_90\n"),
		"opt/site-packages/torch/lib/libtorch_hip.so":            amd(t, "gfx90a:xnack-\ngfx942\n"),
		"opt/site-packages/zipped/libq.so":                       amd(t, "compressed:\ngfx1100\n"),
		"opt/site-packages/flashinfer_cubin/cubins/a/x.cubin":    cubin,
		"opt/site-packages/flashinfer_cubin/cubins/b/y.cubin":    cubin,
		"opt/rocblas/library/TensileLibrary_lazy_gfx1100.dat":    []byte("x"),
		"opt/rocblas/library/Kernels.so-000-gfx90a-xnack+.hsaco": []byte("x"),
		"opt/llama/libggml-cpu-haswell.so":                       cuda(t, ""),
		"opt/site-packages/triton/__init__.py":                   []byte("pass"),
		"opt/lib/libcudart.so.12":                                cuda(t, ""),
		"opt/lib/libc.so":                                        []byte("/* GNU ld script */"),
		"opt/bin/tool":                                           bytes.Repeat([]byte("no ELF"), 300_000),
		"opt/bin/server":                                         append(cuda(t, "sm_75\n"), make([]byte, 1<<20)...),
		"opt/readme.txt":                                         []byte("sm_60"),
	}
}

const want = `opt/bin/server: sm_75
opt/llama/libggml-cpu-haswell.so: x86_64+avx+avx2+bmi2+f16c+fma+sse4_2
opt/rocblas/library/ (rocBLAS): gfx90a:xnack+, gfx1100
opt/site-packages/flashinfer_cubin/ (modules): sm_90a
opt/site-packages/torch/lib/libtorch_hip.so: gfx90a:xnack-, gfx942
opt/site-packages/vllm/_C.abi3.so: sm_80, sm_90, compute_90 (PTX)
opt/site-packages/zipped/libq.so: gfx1100
plain 1, not ELF 1
marks opt/lib/libcudart.so.12 opt/site-packages/triton/__init__.py opt/site-packages/vllm/_C.abi3.so
`

func said(inv kernels.Inventory) string {
	var b strings.Builder
	for _, l := range inv.Libraries {
		b.WriteString(l.Path + ": " + l.String() + "\n")
	}
	for _, d := range inv.Damaged {
		b.WriteString("damaged " + d.String() + "\n")
	}
	b.WriteString("plain " + string(rune('0'+inv.Plain)) + ", not ELF " + string(rune('0'+inv.NotELF)) + "\n")
	return b.String() + "marks " + strings.Join(inv.Marks, " ") + "\n"
}

// The same files are the same inventory in a folder, in a wheel, and in the layers of an
// image, where they come as a stream.
func TestRead(t *testing.T) {
	t.Parallel()
	all := files(t)
	for kind, path := range map[string]string{"folder": folder(t, all), "wheel or zip file": wheel(t, all), "Docker image archive": image(t, all)} {
		inv, err := kernels.Read(t.Context(), path, tree.Options{Platform: "linux/amd64"})
		if err != nil {
			t.Fatal(err)
		}
		if got := said(inv); got != want || inv.Kind != kind {
			t.Errorf("%s is %q:\n%s\nwant\n%s", kind, inv.Kind, got, want)
		}
		if inv.Whole() != (kind == "Docker image archive") {
			t.Errorf("%s: whole %v", kind, inv.Whole())
		}
		b, err := json.Marshal(inv)
		var again kernels.Inventory
		if err != nil || json.Unmarshal(b, &again) != nil || said(again) != said(inv) {
			t.Errorf("%s: written and read it is\n%s\n%v", kind, said(again), err)
		}
	}
}

func folder(t testing.TB, files map[string][]byte) string {
	dir := t.TempDir()
	for name, b := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func wheel(t testing.TB, files map[string][]byte) string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, content := range files {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write(content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "some.whl")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// image puts the files into a compressed layer, over one in which the engine is another.
func image(t testing.TB, files map[string][]byte) string {
	under := layer(t, map[string][]byte{"opt/site-packages/vllm/_C.abi3.so": cuda(t, "sm_70\n"), "opt/old.so": cuda(t, "sm_70\n")})
	over := layer(t, files, "opt/.wh.old.so")
	img, err := mutate.AppendLayers(empty.Image, under, over)
	if err != nil {
		t.Fatal(err)
	}
	img, err = mutate.ConfigFile(img, &v1.ConfigFile{OS: "linux", Architecture: "amd64", RootFS: config(t, img).RootFS})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "image.tar")
	f, err := os.Create(path)
	if err == nil {
		err = tarball.Write(nil, img, f)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func config(t testing.TB, img v1.Image) *v1.ConfigFile {
	c, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func layer(t testing.TB, files map[string][]byte, gone ...string) v1.Layer {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range gone {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The driver links again only when every object has something for the device.
func TestLinkAtLoad(t *testing.T) {
	t.Parallel()
	d, _ := arch.ParseDevice("sm_90")
	for text, want := range map[string]arch.Reach{
		"sm_80\nrelocatable:\ncompute_80\n\nsm_90\n":      arch.ByLink,
		"sm_80\nrelocatable:\ncompute_80\n\nsm_80\n":      arch.None,
		"sm_80\nrelocatable:\nsm_80\n":                    arch.None,
		"sm_90\nrelocatable:\nsm_80\n":                    arch.Native,
		"relocatable:\nsm_80\ncompute_90\n\ncompute_80\n": arch.ByLink,
	} {
		inv, err := kernels.Read(t.Context(), folder(t, map[string][]byte{"a.so": cuda(t, text)}), tree.Options{})
		if err != nil || len(inv.Libraries) != 1 {
			t.Fatal(inv, err)
		}
		if got := inv.Libraries[0].On(d); got != want {
			t.Errorf("%q on %s: got %s, want %s", text, d, got, want)
		}
	}
}

// A file that was named and is none that could be read is damaged, whatever it is; nothing
// tells the path to it.
func TestNamedFiles(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string][]byte{"pointer.so": []byte("version https://git-lfs.github.com/spec/v1\n"), "cut.so": cuda(t, "sm_90\n")[:200], "x.tar": []byte("no tar")})
	for name, want := range map[string]string{"pointer.so": "not an ELF file", "cut.so": "outside the file", "gone.so": "no such file"} {
		inv, err := kernels.Read(t.Context(), filepath.Join(dir, name), tree.Options{})
		if err != nil || len(inv.Damaged) != 1 || !strings.Contains(inv.Damaged[0].Why, want) || inv.Damaged[0].Path != name {
			t.Errorf("%s: %+v, %v, want %q", name, inv.Damaged, err, want)
		}
		if strings.Contains(said(inv), dir) {
			t.Errorf("%s: tells the path", name)
		}
	}
}

func FuzzInventory(f *testing.F) {
	inv := kernels.Inventory{Name: "x", Libraries: []kernels.Library{{Path: "a.so", Needs: []string{"libcudart.so.12"}}}}
	b, err := json.Marshal(inv)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"schema":"infbench.kernels/v1","name":"\u001b[2J","libraries":[{"path":"a","targets":["sm_90a","gfx942"],"relocatable_objects":[["sm_80"]]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var inv kernels.Inventory
		if json.Unmarshal(b, &inv) != nil {
			return
		}
		d, _ := arch.ParseDevice("sm_90")
		_, _ = inv.Outcome(d)
		again, err := json.Marshal(inv)
		if err != nil {
			t.Fatal(err)
		}
		var same kernels.Inventory
		if err := json.Unmarshal(again, &same); err != nil {
			t.Fatalf("what was written is refused: %v", err)
		}
	})
}
