package fatbin

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Variants of a target: plain code runs on later devices too, the other two trade
// that away for instructions that those lack.
const (
	Plain        = ""
	ArchSpecific = "a" // such as sm_90a: that architecture alone
	Family       = "f" // such as sm_100f: its family
)

// Target is what one entry was compiled for. It is comparable; the zero Target is
// none.
type Target struct {
	// SM is the architecture: ten times the major compute capability plus the minor,
	// 90 for 9.0 and 121 for 12.1.
	SM int
	// Variant is [Plain], [ArchSpecific] or [Family].
	Variant string
	// PTX says that it is code for a virtual architecture, which the driver compiles
	// when it is loaded; otherwise it is machine code.
	PTX bool
}

// String returns the target as the compiler names it: "sm_90a", "compute_80 (PTX)".
func (t Target) String() string {
	if t.PTX {
		return fmt.Sprintf("compute_%d%s (PTX)", t.SM, t.Variant)
	}
	return fmt.Sprintf("sm_%d%s", t.SM, t.Variant)
}

var targetForm = regexp.MustCompile(`^(sm|compute)_([1-9][0-9]{1,2})([af]?)$`)

// ParseTarget reads what String writes; " (PTX)" may be left off.
func ParseTarget(s string) (Target, error) {
	m := targetForm.FindStringSubmatch(strings.TrimSuffix(s, " (PTX)"))
	if m == nil || strings.HasSuffix(s, " (PTX)") && m[1] == "sm" {
		return Target{}, fmt.Errorf("%q is no target such as sm_90a or compute_80", s)
	}
	sm, _ := strconv.Atoi(m[2]) // at most three digits
	return Target{SM: sm, Variant: m[3], PTX: m[1] == "compute"}, nil
}

// compareTargets orders machine code before PTX, then by architecture and variant.
func compareTargets(a, b Target) int {
	if a.PTX != b.PTX {
		if a.PTX {
			return 1
		}
		return -1
	}
	return cmp.Or(cmp.Compare(a.SM, b.SM), cmp.Compare(a.Variant, b.Variant))
}

// unique returns the targets sorted, each once.
func unique(ts []Target) []Target {
	slices.SortFunc(ts, compareTargets)
	return slices.Clip(slices.Compact(ts))
}

// Join returns the targets in one line, "none" when there are none.
func Join(ts []Target) string {
	if len(ts) == 0 {
		return "none"
	}
	words := make([]string, len(ts))
	for i, t := range ts {
		words[i] = t.String()
	}
	return strings.Join(words, ", ")
}
