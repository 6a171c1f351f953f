package kernels_test

import (
	"fmt"
	"strings"
	"testing"

	"infbench/stages/hardware/kernels"
)

// report is one of stage 1 about one image, with the given members of its inventory.
func report(members string) string {
	return `{"kernels":{"inventories":[{"schema":"infbench.kernels/v1"` + members + `}]}}`
}

func repeated(s string, n int) string { return strings.TrimSuffix(strings.Repeat(s+",", n), ",") }

// What is no report says why, and no list is longer than any image needs.
func TestReadReport(t *testing.T) {
	t.Parallel()
	lib := func(members string) string { return report(`,"libraries":[{"path":"a.so",` + members + `}]`) }
	for name, c := range map[string]struct{ text, want string }{
		"whole":             {lib(`"targets":["sm_90"],"relocatable_objects":[["sm_80"],[]],"needs":["libcudart.so.12"]`), ""},
		"nothing in it":     {report(``), ""},
		"null lists":        {report(`,"libraries":null,"marks":null`), ""},
		"no kernels":        {`{}`, "it lists none"},
		"no inventories":    {`{"kernels":{"inventories":[]}}`, "it lists none"},
		"cut short":         {report(``)[:40], "unexpected end of JSON input"},
		"another schema":    {`{"kernels":{"inventories":[{"schema":"x"}]}}`, `schema "x", want "infbench.kernels/v1"`},
		"escaped schema":    {`{"kernels":{"inventories":[{"schema":"x\u001b[2J"}]}}`, `schema "x\u{1b}[2J", want "infbench.kernels/v1"`},
		"unknown target":    {lib(`"targets":["sm_90","sm_x"]`), `libraries: a.so: targets: "sm_x" is no target`},
		"negative":          {report(`,"links":-1`), "a count below zero"},
		"negative files":    {lib(`"files":-1`), "a count below zero"},
		"no list":           {report(`,"marks":{}`), "marks: no list"},
		"many inventories":  {`{"kernels":{"inventories":[` + repeated(`{"schema":"infbench.kernels/v1"}`, 1_001) + `]}}`, "a list of more than 1000 entries"},
		"many libraries":    {report(`,"libraries":[` + repeated(`{}`, 20_001) + `]`), "libraries: a list of more than 20000 entries"},
		"many marks":        {report(`,"marks":[` + repeated(`""`, 20_001) + `]`), "marks: a list of more than 20000 entries"},
		"many notes":        {report(`,"notes":[` + repeated(`""`, 1_001) + `]`), "notes: a list of more than 1000 entries"},
		"many damaged":      {report(`,"damaged":[` + repeated(`{}`, 20_001) + `]`), "damaged files: a list of more than 20000 entries"},
		"many targets":      {lib(`"targets":[` + repeated(`"sm_90"`, 1_001) + `]`), "targets: a list of more than 1000 entries"},
		"many objects":      {lib(`"relocatable_objects":[` + repeated(`[]`, 4_097) + `]`), "relocatable objects: a list of more than 4096 entries"},
		"many needs":        {lib(`"needs":[` + repeated(`""`, 4_097) + `]`), "needs: a list of more than 4096 entries"},
		"many altogether":   {report(`,"libraries":[` + repeated(`{"needs":[`+repeated(`""`, 4_000)+`]}`, 300) + `]`), "more than 1048576 entries"},
		"many in all of it": {`{"kernels":{"inventories":[` + repeated(`{"schema":"infbench.kernels/v1","marks":[`+repeated(`""`, 20_000)+`]}`, 60) + `]}}`, "more than 1048576 entries"},
	} {
		list, err := kernels.ReadReport([]byte(c.text))
		if c.want == "" && (err != nil || len(list) != 1) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %d, %v, want %s", name, len(list), err, c.want)
		}
		if strings.Contains(fmt.Sprint(err), "\x1b") {
			t.Errorf("%s: an escape in %q", name, err)
		}
	}
}
