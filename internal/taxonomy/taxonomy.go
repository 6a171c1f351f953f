// Package taxonomy holds the failure modes of served models: what a client sees, what is
// likely behind it, what to do first, and where it was reported. Checks and faults refer
// to them by id.
//
// modes.tsv is the one source. A report shows that a symptom happened to somebody, not
// that a current version has it; causes are the words of those who reported or mended it.
package taxonomy

import (
	_ "embed" // the table
	"fmt"
	"regexp"
	"strings"
	"sync"
)

//go:embed modes.tsv
var table string

// A Mode is one failure mode.
type Mode struct {
	// ID is three or four letters and two digits, such as "OUT-01".
	ID string `json:"id"`
	// Area is the family that the letters stand for.
	Area string `json:"area"`
	// Symptom is what a client sees.
	Symptom string `json:"symptom"`
	// Causes are the likely ones, Engines where it was reported.
	Causes  string `json:"causes"`
	Engines string `json:"engines"`
	// Severity is H for a hard failure, W for a warning; "W→H" is a warning once and hard
	// when it repeats. Empty is normal behaviour that breaks naive clients.
	Severity string `json:"severity,omitempty"`
	// Remedy is what to try first.
	Remedy string `json:"remedy,omitempty"`
	// Reports are public issues, as "owner/repository#number".
	Reports []string `json:"reports,omitempty"`
}

// All returns the modes in the order of the table.
var All = sync.OnceValue(func() []Mode {
	list, err := parse(table)
	if err != nil {
		panic("taxonomy: " + err.Error()) // the table is part of the program
	}
	return list
})

var goodID = regexp.MustCompile(`^[A-Z]{3,4}-[0-9]{2}$`)

// IsID reports whether a text has the form of a mode's id.
func IsID(s string) bool { return goodID.MatchString(s) }

// Lookup returns the mode of that id.
func Lookup(id string) (Mode, bool) {
	for _, m := range All() {
		if m.ID == id {
			return m, true
		}
	}
	return Mode{}, false
}

func parse(text string) ([]Mode, error) {
	var out []Mode
	seen := map[string]bool{}
	for n, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		cells := strings.Split(line, "\t")
		switch {
		case len(cells) != 8:
			return nil, fmt.Errorf("line %d has %d cells, want 8", n+1, len(cells))
		case n == 0:
			continue
		case !IsID(cells[0]) || seen[cells[0]] || cells[1] == "" || cells[2] == "":
			return nil, fmt.Errorf("line %d: the id %q is bad or twice, or it has no area or symptom", n+1, cells[0])
		}
		seen[cells[0]] = true
		m := Mode{ID: cells[0], Area: cells[1], Symptom: cells[2], Causes: cells[3], Engines: cells[4], Severity: cells[5], Remedy: cells[6]}
		for r := range strings.SplitSeq(cells[7], ", ") {
			if r != "" {
				m.Reports = append(m.Reports, r)
			}
		}
		out = append(out, m)
	}
	return out, nil
}
