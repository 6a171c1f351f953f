package taxonomy

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	t.Parallel()
	areas := map[string]string{}
	for _, m := range All() {
		letters, _, _ := strings.Cut(m.ID, "-")
		if was, ok := areas[letters]; ok && was != m.Area {
			t.Errorf("%s stands in %q and in %q", letters, was, m.Area)
		}
		areas[letters] = m.Area
		for _, r := range m.Reports {
			if strings.ContainsAny(r, "\t\n") || strings.Contains(r, "Part ") {
				t.Errorf("%s: report %q", m.ID, r)
			}
		}
	}
	if n := len(All()); n != 177 || len(areas) != 17 {
		t.Errorf("%d modes in %d areas, want 177 in 17", n, len(areas))
	}
	if m, ok := Lookup("STR-01"); !ok || !strings.Contains(m.Symptom, "[DONE]") {
		t.Errorf("STR-01 is %+v", m)
	}
}

func TestBadTables(t *testing.T) {
	t.Parallel()
	const head = "id\tarea\tsymptom\tcauses\tengines\tseverity\tremedy\treports\n"
	for name, text := range map[string]string{
		"few cells": head + "OUT-01\ta\tb\n",
		"twice":     head + strings.Repeat("OUT-01\ta\tb\tc\td\tH\te\tf\n", 2),
		"bad id":    head + "out-1\ta\tb\tc\td\tH\te\tf\n",
	} {
		if _, err := parse(text); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
