package layers

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// may lists, for each room, the rooms that its files other than tests may import. A
// folder below a room belongs to it unless it is listed itself. "std" rooms import
// nothing of ours.
var may = map[string]string{
	"gates":                        "",
	"gates/gatetest":               "gates",
	"arrival":                      "",
	"record":                       "gates arrival internal/lines internal/escapes internal/trend internal/stat",
	"record/recordtest":            "record gates arrival",
	"baseline":                     "gates record internal/stat internal/trend",
	"baseline/baselinetest":        "gates arrival record record/recordtest baseline",
	"matrix":                       "record gates",
	"stages":                       "gates arrival record",
	"stages/checkpoint":            "stages/checkpoint internal/shallow",
	"stages/endpoint":              "gates internal/drawn internal/shallow internal/escapes",
	"stages/endpoint/endpointtest": "stages/endpoint gates/gatetest internal/refengine internal/faultproxy",
	"stages/static":                "gates stages/checkpoint stages/static",
	"stages/hardware":              "gates record stages/endpoint stages/hardware internal/lists",
	"stages/smoke":                 "gates stages/endpoint internal/drawn internal/shallow",
	"stages/correctness":           "gates stages/endpoint internal/whole internal/lists",
	"stages/performance":           "gates arrival record baseline stages/endpoint internal/pacer internal/trend",
	"soak":                         "gates arrival stages stages/endpoint stages/smoke stages/correctness internal/trend internal/lines",
	"internal/trend":               "",
	"internal/lines":               "",
	"internal/stat":                "",
	"internal/escapes":             "",
	"internal/lists":               "",
	"internal/whole":               "",
	"internal/tokens":              "internal/tokens",
	"internal/batching":            "",
	"internal/refengine":           "internal/batching internal/refengine internal/shallow",
	"internal/faultproxy":          "",
	"internal/taxonomy":            "",
	"internal/drawn":               "",
	"internal/shallow":             "",
	"internal/selftest":            "gates stages/endpoint stages/hardware stages/smoke stages/correctness internal/refengine internal/faultproxy",
	"internal/evidence":            "gates stages/endpoint internal/lists internal/escapes",
	"internal/replay":              "gates stages/endpoint internal/evidence",
	"internal/realengine":          "",
	"internal/layers":              "",
	"cmd/infbench":                 "*",
	"internal/pacer":               "",
	"bench":                        "gates arrival record stages/endpoint stages/performance stages/checkpoint internal/pacer internal/tokens internal/whole bench",
}

// reasons say why the tempting edges are wrong.
var reasons = map[string]string{
	"stages/static":       "stage 0 runs before there is a server: it cannot open a socket",
	"stages/smoke":        "a check sees an endpoint and nothing else",
	"stages/correctness":  "a check sees an endpoint and nothing else",
	"stages/performance":  "measuring knows no other stage; the proof reaches it as an argument",
	"soak":                "a soak asks the checks of others; what it finds is no performance",
	"internal/refengine":  "the engine answers by reading the prompt, never by knowing the checks",
	"internal/faultproxy": "the proxy injects faults, never by knowing the checks",
	"internal/replay":     "asking again judges nothing: it knows no check",
	"matrix":              "the matrix computes nothing that a record does not hold",
	"gates":               "gates is a leaf",
	"arrival":             "arrival is a leaf",
}

type listed struct {
	ImportPath string
	Imports    []string
}

func TestArrowsPointDown(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "infbench/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		from := strings.TrimPrefix(p.ImportPath, "infbench/")
		room, ok := roomOf(from)
		if !ok {
			t.Errorf("%s stands in no room of the map", from)
			continue
		}
		for _, imp := range p.Imports {
			to, ours := strings.CutPrefix(imp, "infbench/")
			if !ours {
				continue
			}
			target, _ := roomOf(to)
			allowed := strings.Fields(may[room])
			if !slices.Contains(allowed, "*") && !slices.Contains(allowed, target) && target != room {
				t.Errorf("%s imports %s: %s", from, to, or(reasons[room], "the map does not have this arrow"))
			}
			if strings.HasPrefix(to, "cmd/") && !strings.HasPrefix(from, "cmd/") {
				t.Errorf("%s imports %s: nothing imports the command line", from, to)
			}
		}
	}
}

// roomOf returns the room that a package stands in: the longest listed folder.
func roomOf(path string) (room string, ok bool) {
	for r := range may {
		if (path == r || strings.HasPrefix(path, r+"/")) && len(r) > len(room) {
			room, ok = r, true
		}
	}
	return room, ok
}

func or(s, absent string) string {
	if s == "" {
		return absent
	}
	return s
}
