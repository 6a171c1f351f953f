package hardware

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"infbench/gates"
	"infbench/gates/gatetest"
	"infbench/record"
	"infbench/stages/endpoint"
	"infbench/stages/hardware/fatbin/fatbintest"
	"infbench/stages/hardware/kernels"
	"infbench/stages/hardware/offload/offloadtest"
	"infbench/stages/hardware/tree"
)

// TestKernels runs hardware/kernels over its fixtures. A file "X.targets" becomes the
// library X with the targets that it lists, in the form of [fatbintest.Library], one
// "X.bundles" one in the form of [offloadtest.Library]; any other file is written as it is. In the comment "kernels: NAME …" names paths,
// "device: NAME" the device, "cut: NAME BYTES" cuts the end off a file, "link: NAME
// TARGET" makes a link, and "server: WHY" puts the check to a server whose engine has
// no kernels because of WHY, or has them when WHY is "yes". "image: PLATFORM" makes what was
// read an image, "needs: LIBRARY NAME" makes a library ask the loader for another, and
// "processor: ARCHITECTURE FLAG…" is this machine's, which the target is not on where
// "elsewhere: yes" says so.
func TestKernels(t *testing.T) {
	var list []gates.Check[Subject]
	for _, c := range Checks() {
		if ofCode(c.ID) {
			list = append(list, c)
		}
	}
	gatetest.Run(t, list, kernelsSubject)
}

// ofCode reports whether a check looks at compiled code, and asks no server.
func ofCode(id string) bool {
	return slices.Contains([]string{"hardware/kernels", "hardware/runtimes", "hardware/compilers", "hardware/processor"}, id)
}

func kernelsCheck(t *testing.T) []gates.Check[Subject] {
	all := Checks()
	i := slices.IndexFunc(all, func(c gates.Check[Subject]) bool { return c.ID == "hardware/kernels" })
	if i < 0 {
		t.Fatal("hardware/kernels is not among the checks")
	}
	return all[i : i+1]
}

func kernelsSubject(t *testing.T, fixture *txtar.Archive) Subject {
	dir := t.TempDir()
	for _, f := range fixture.Files {
		name, data := f.Name, f.Data
		if n, ok := strings.CutSuffix(name, ".targets"); ok {
			lib, err := fatbintest.Library(string(data))
			if err != nil {
				t.Fatal(err)
			}
			name, data = n, lib
		}
		if n, ok := strings.CutSuffix(name, ".bundles"); ok {
			lib, err := offloadtest.Library(string(data))
			if err != nil {
				t.Fatal(err)
			}
			name, data = n, lib
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kernelsCut(t, dir, gatetest.Field(fixture, "cut"))
	if name, to, ok := strings.Cut(gatetest.Field(fixture, "link"), " "); ok {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip("no links here: ", err)
		}
	}
	s := Subject{Device: gatetest.Field(fixture, "device")}
	for name := range strings.FieldsSeq(gatetest.Field(fixture, "kernels")) {
		s.Kernels = append(s.Kernels, stock(t, filepath.Join(dir, name))...)
	}
	if p := strings.Fields(gatetest.Field(fixture, "processor")); len(p) > 0 {
		place := record.NoTarget
		if gatetest.Field(fixture, "elsewhere") != "" {
			place = record.Elsewhere
		}
		h, err := record.NewHost(record.HostParts{Target: place, CPU: record.HostCPU{Arch: p[0], Flags: p[1:]}, Memory: record.HostMemory{Model: record.UnknownModel}})
		if err != nil {
			t.Fatal(err)
		}
		s.Host = h
	}
	for i := range s.Kernels {
		if p := gatetest.Field(fixture, "image"); p != "" {
			s.Kernels[i].Platform = p
		}
		for j, l := range s.Kernels[i].Libraries {
			if name, need, ok := strings.Cut(gatetest.Field(fixture, "needs"), " "); ok && l.Path == name {
				s.Kernels[i].Libraries[j].Needs = []string{need}
			}
		}
	}
	if why := gatetest.Field(fixture, "server"); why != "" {
		s.Endpoint = kernelsServer(t)
		if why != "yes" {
			s.FoundUnable(endpoint.Kernels, why)
		}
	}
	return s
}

// kernelsCut cuts bytes off the end of a file: "NAME BYTES".
func kernelsCut(t *testing.T, dir, field string) {
	var name string
	var n int64
	if field == "" {
		return
	}
	if _, err := fmt.Sscanf(field, "%s %d", &name, &n); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()-n); err != nil {
		t.Fatal(err)
	}
}

// kernelsServer returns a server that lists one model and knows nothing else.
func kernelsServer(t *testing.T) endpoint.Endpoint {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"object":"list","data":[{"id":"m","object":"model"}]}`))
	}))
	t.Cleanup(srv.Close)
	target, err := endpoint.ParseTarget(srv.URL, endpoint.TargetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ep, err := endpoint.Open(t.Context(), target, endpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ep.Close)
	return ep
}

// No finding may hold the path of a library, not even through an error of the system.
func TestKernelsHoldNoPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lib, err := fatbintest.Library("sm_80\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "liba.so"), lib[:len(lib)-1], 0o644); err != nil {
		t.Fatal(err)
	}
	s := Subject{Device: "sm_90", Kernels: stock(t, dir, filepath.Join(dir, "missing.so"), filepath.Join(dir, "liba.so", "x"))}
	v := gates.Run(t.Context(), kernelsCheck(t)[0], s)
	all := v.Summary() + strings.Join(v.Evidence(), "\n")
	if v.Status() != gates.Failed || strings.Contains(all, dir) || strings.Contains(all, filepath.Base(filepath.Dir(dir))) {
		t.Errorf("%s: %s", v.Status(), all)
	}
}

// More libraries than evidence has lines for are counted, the worst come first.
func TestKernelsManyLibraries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 30 {
		lib, err := fatbintest.Library([]string{"sm_90", "sm_80"}[i/29])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("lib%02d.so.1", i)), lib, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	v := gates.Run(t.Context(), kernelsCheck(t)[0], Subject{Device: "9.0", Kernels: stock(t, dir)})
	ev := v.Evidence()
	if want := "nothing in 1 of 30 libraries with device code runs on sm_90: lib29.so.1 (sm_80)"; v.Summary() != want {
		t.Errorf("got %q, want %q", v.Summary(), want)
	}
	if want := "lib29.so.1: sm_80 → none"; len(ev) == 0 || ev[0] != want || ev[len(ev)-1] != "… and 22 more libraries" {
		t.Errorf("evidence %q, want %q first and the rest counted", ev, want)
	}
}

// stock reads what is at the paths.
func stock(t *testing.T, paths ...string) []kernels.Inventory {
	t.Helper()
	var out []kernels.Inventory
	for _, path := range paths {
		inv, err := kernels.Read(t.Context(), path, tree.Options{})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, inv)
	}
	return out
}
