package offload_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"infbench/stages/hardware/elf"
	"infbench/stages/hardware/offload"
	"infbench/stages/hardware/offload/offloadtest"
)

// TestLibraries reads the libraries and kernel files below the folder named by
// INFBENCH_KERNEL_LIBRARIES and, where clang-offload-bundler is on the path, compares
// each bundle with what it lists. Wheels for ROCm have the files, LLVM the judge, and
// neither needs a device.
func TestLibraries(t *testing.T) {
	root := os.Getenv("INFBENCH_KERNEL_LIBRARIES")
	if root == "" {
		t.Skip("INFBENCH_KERNEL_LIBRARIES names no folder with real libraries")
	}
	judge, err := exec.LookPath("clang-offload-bundler")
	if err != nil {
		t.Log("clang-offload-bundler is not on the path: files are read and not compared")
	}
	patterns := []string{"*.so*", "*.hsaco", "*.co", "*.o"}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		match := slices.ContainsFunc(patterns, func(p string) bool { m, _ := filepath.Match(p, filepath.Base(path)); return m })
		if err != nil || !match || !d.Type().IsRegular() {
			return err
		}
		t.Run(filepath.Base(path), func(t *testing.T) { oneFile(t, path, judge) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func oneFile(t *testing.T, path, judge string) {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	l, err := readBytes(b)
	took := time.Since(start)
	if errors.Is(err, elf.ErrNotELF) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !l.Holds() && !l.Elsewhere {
		t.Skip("no code for AMD's devices")
	}
	t.Logf("%s; %d bundles, %d compressed, %d code objects, %d others, elsewhere %v, in %v", l, l.Bundles, l.Compressed, l.Entries, l.Other, l.Elsewhere, took)
	if named, kind, ok := offload.ByName(path); ok {
		if want := []string{named.String()}; len(l.Targets) == 1 && l.Targets[0].Processor == named.Processor {
			t.Logf("its name says %v, %s", want, kind)
		} else {
			t.Errorf("its name says %v, %s, its code %s", want, kind, l)
		}
	}
	if judge == "" || l.Bundles == 0 {
		return
	}
	compare(t, judge, b, l)
}

// compare compares what the file holds with what the judge lists of each bundle in it.
// Bundles are found by their magic, wherever it stands.
func compare(t *testing.T, judge string, b []byte, l offload.Library) {
	var theirs []string
	bundles := 0
	for at := 0; at < len(b); at++ {
		rest := b[at:]
		compressed := bytes.HasPrefix(rest, []byte(offload.CompressedMagic))
		if !compressed && !bytes.HasPrefix(rest, []byte(offload.Magic)) {
			continue
		}
		end := len(rest)
		if _, n, err := offload.Head(rest); err == nil && n > 0 {
			end = int(n)
		}
		file := filepath.Join(t.TempDir(), "bundle")
		if err := os.WriteFile(file, rest[:end], 0o600); err != nil {
			t.Fatal(err)
		}
		bundles++
		theirs = append(theirs, listed(t, judge, file)...)
		at += end - 1
	}
	if bundles != l.Bundles || len(theirs) != l.Entries+l.Other {
		t.Errorf("the judge lists %d code objects in %d bundles, we %d in %d", len(theirs), bundles, l.Entries+l.Other, l.Bundles)
	}
	var ours []string
	for _, target := range l.Targets {
		ours = append(ours, target.String())
	}
	slices.Sort(theirs)
	slices.Sort(ours)
	if diff := cmp.Diff(slices.Compact(theirs), ours); diff != "" {
		t.Errorf("the judge and we differ (-judge +ours):\n%s", diff)
	}
}

// listed returns the targets that the judge finds in a bundle. One of before LLVM 20 does
// not know version 3.
func listed(t *testing.T, judge, file string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), judge, "--list", "--type=o", "--input="+file).CombinedOutput()
	if err != nil {
		t.Skipf("%s: %v", out, err)
	}
	var names []string
	for id := range strings.FieldsSeq(string(out)) {
		if name := id[strings.LastIndex(id, "--")+2:]; !strings.HasPrefix(id, "host-") {
			names = append(names, name)
		}
	}
	return names
}

// TestJudge holds the bundles that tests are made of to what LLVM reads and writes.
func TestJudge(t *testing.T) {
	judge, err := exec.LookPath("clang-offload-bundler")
	if os.Getenv("INFBENCH_KERNEL_LIBRARIES") == "" || err != nil {
		t.Skip("INFBENCH_KERNEL_LIBRARIES is not set, or clang-offload-bundler not on the path")
	}
	targets := []string{"gfx1100", "gfx90a:sramecc+:xnack-", "gfx942"}
	plain := bundle(targets...)
	ours := map[string][]byte{"plain": plain}
	for version := 1; version <= 3; version++ {
		for method, name := range []string{"zlib", "zstd"} {
			ours[fmt.Sprintf("version %d, %s", version, name)] = offloadtest.Compressed(version, method, plain)
		}
	}
	for name, b := range ours {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "bundle")
			if err := os.WriteFile(file, b, 0o600); err != nil {
				t.Fatal(err)
			}
			got := listed(t, judge, file)
			slices.Sort(got)
			if diff := cmp.Diff(got, targets); diff != "" {
				t.Errorf("the judge reads (-judge +ours):\n%s", diff)
			}
		})
	}
	for _, options := range [][]string{nil, {"-compress"}} {
		dir := t.TempDir()
		args := append([]string{"--type=o", "--output=" + filepath.Join(dir, "out"), "--input=" + os.DevNull}, options...)
		ids := "host-x86_64-unknown-linux-gnu-"
		for i, target := range targets {
			file := filepath.Join(dir, fmt.Sprint(i))
			if err := os.WriteFile(file, noise(5000), 0o600); err != nil {
				t.Fatal(err)
			}
			ids += ",hipv4-amdgcn-amd-amdhsa--" + target
			args = append(args, "--input="+file)
		}
		if out, err := exec.CommandContext(t.Context(), judge, append(args, "--targets="+ids)...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		b, err := os.ReadFile(filepath.Join(dir, "out"))
		if err != nil {
			t.Fatal(err)
		}
		l, err := readBytes(b)
		if want := "gfx90a:sramecc+:xnack-, gfx942, gfx1100"; err != nil || l.String() != want || l.Compressed != len(options) {
			t.Errorf("%v: got %s, %+v, %v, want %s", options, l, l, err, want)
		}
	}
}
