package static_test

import (
	"os/exec"
	"strings"
	"testing"
)

// Stage 0 runs before there is a server: it cannot open a socket, because nothing
// that it is made of can.
func TestImports(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "infbench/stages/static").Output()
	if err != nil {
		t.Skip("go list is not here: ", err)
	}
	allowed := map[string]bool{"infbench/gates": true, "infbench/stages/checkpoint": true, "infbench/stages/static": true}
	for dep := range strings.FieldsSeq(string(out)) {
		if dep == "net" || strings.HasPrefix(dep, "net/") && dep != "net/netip" && dep != "net/url" {
			t.Errorf("stage 0 imports %s: it could open a socket", dep)
		}
		if strings.HasPrefix(dep, "infbench/") && !allowed[dep] {
			t.Errorf("stage 0 imports %s: only gates and checkpoint are below it", dep)
		}
	}
}
