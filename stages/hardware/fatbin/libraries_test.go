package fatbin_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"infbench/stages/hardware/arch"
	"infbench/stages/hardware/elf"
	"infbench/stages/hardware/fatbin"
)

// TestLibraries reads the libraries below the folder named by
// INFBENCH_KERNEL_LIBRARIES and, where cuobjdump is on the path, compares with what it
// lists. Both are the vendor's; wheels of CUDA packages and nvidia-cuda-cuobjdump have
// them, and neither needs a device.
func TestLibraries(t *testing.T) {
	root := os.Getenv("INFBENCH_KERNEL_LIBRARIES")
	if root == "" {
		t.Skip("INFBENCH_KERNEL_LIBRARIES names no folder with real libraries")
	}
	judge, err := exec.LookPath("cuobjdump")
	if err != nil {
		t.Log("cuobjdump is not on the path: libraries are read and not compared")
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if match, _ := filepath.Match("*.so*", filepath.Base(path)); err != nil || !match || !d.Type().IsRegular() {
			return err
		}
		t.Run(filepath.Base(path), func(t *testing.T) { oneLibrary(t, path, judge) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func oneLibrary(t *testing.T, path, judge string) {
	start := time.Now()
	l, err := fatbin.Read(path)
	took := time.Since(start)
	if errors.Is(err, elf.ErrNotELF) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s; relocatable: %s; %d entries in %v", arch.Join(l.Targets), arch.Join(l.Relocatable), l.Entries, took)
	if judge == "" {
		return
	}
	// Without options it names the architecture of each entry in full, of code that can
	// be loaded, or of relocatable code where there is no other.
	first := l.Targets
	if len(first) == 0 {
		first = l.Relocatable
	}
	compare(t, judge, path, names(first, false))
	// Its lists are of file names, in which machine code for a family has lost its f.
	compare(t, judge, path, names(first, true), "--list-elf", "--list-ptx")
	compare(t, judge, path, names(slices.Concat(l.Targets, l.Relocatable), true), "-all", "--list-elf", "--list-ptx")
}

var (
	described = regexp.MustCompile(`(?m)^Fatbin (elf|ptx) code:\n=+\narch = sm_([0-9]+[af]?)$`)
	listed    = regexp.MustCompile(`(?m)^(ELF|PTX) file +[0-9]+: .*\.sm_([0-9]+[af]?)\.(?:cubin|ptx)$`)
	gaveUp    = regexp.MustCompile(`(?m)^cuobjdump fatal.*$`)
)

// compare compares sets of targets with what the judge says under the options.
func compare(t *testing.T, judge, path string, ours []string, options ...string) {
	start := time.Now()
	out, err := exec.CommandContext(t.Context(), judge, append(options, path)...).CombinedOutput()
	took := time.Since(start)
	if why := gaveUp.Find(out); why != nil {
		t.Skipf("%s (%v)", why, err)
	}
	form := listed
	if len(options) == 0 {
		form = described
	}
	var theirs []arch.CUDA
	for _, m := range form.FindAllSubmatch(out, -1) {
		name := "sm_" + string(m[2])
		if k := string(m[1]); k == "ptx" || k == "PTX" {
			name = "compute_" + string(m[2])
		}
		target, err := arch.ParseCUDA(name)
		if err != nil {
			t.Fatal(err)
		}
		theirs = append(theirs, target)
	}
	if diff := cmp.Diff(names(theirs, false), ours); diff != "" {
		t.Errorf("%v: cuobjdump and we differ (-cuobjdump +ours):\n%s", options, diff)
	}
	t.Logf("%v: compared with cuobjdump, which took %v", options, took)
}

// names returns the targets as a sorted set; bare leaves the f off machine code.
func names(ts []arch.CUDA, bare bool) []string {
	var words []string
	for _, target := range ts {
		if bare && !target.PTX && target.Variant == arch.Family {
			target.Variant = arch.Plain
		}
		words = append(words, target.String())
	}
	slices.Sort(words)
	return slices.Compact(words)
}
