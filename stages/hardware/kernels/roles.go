package kernels

import (
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Role says what a library is to the engine beside it.
type Role string

// The roles.
const (
	Required Role = "required" // the engine cannot do without
	Optional Role = "optional" // a backend that it can do without
	OneOf    Role = "one of"   // of a group one that runs is enough
	// NotJudged is a library whose kernels lie where the vendor's own tool lists none.
	NotJudged Role = "not judged"
	// Unlisted is the role of a library that no engine's list names. Where no engine is
	// recognised, whoever named the libraries means them all: they are required.
	Unlisted Role = ""
)

// roleTable is what roles.toml holds.
type roleTable struct {
	Engines []engineRoles `toml:"engine"`
	Common  struct {
		Libraries []libraryRole `toml:"library"`
	} `toml:"common"`
	JIT []jitUser `toml:"jit"`
}

// engineRoles is what one engine needs.
type engineRoles struct {
	Name      string        `toml:"name"`
	Marks     []string      `toml:"marks"` // a file of these is there where the engine is
	Libraries []libraryRole `toml:"library"`
}

// libraryRole is what the libraries that match are to an engine.
type libraryRole struct {
	Match []string `toml:"match"`
	Role  Role     `toml:"role"`
	Group string   `toml:"group"`
	Holds bool     `toml:"holds"` // without device code it is a build for the processor
	Why   string   `toml:"why"`
}

// jitUser compiles for the device on first use.
type jitUser struct {
	Name     string `toml:"name"`
	Mark     string `toml:"mark"`
	Compiles string `toml:"compiles"`
	// Without are files that spare it the compiler.
	Without []string  `toml:"without"`
	Tools   []jitTool `toml:"tool"`
}

// jitTool is a program that a compiler needs; it is there when one of its places is.
type jitTool struct {
	Name string   `toml:"name"`
	For  string   `toml:"for"` // the vendor, "" for all
	At   []string `toml:"at"`
}

//go:embed roles.toml
var rolesText string

var roles = func() roleTable {
	t, err := parseRoles(rolesText)
	if err != nil {
		panic("kernels: " + err.Error()) // a defect: the text is part of the program
	}
	return t
}()

func parseRoles(text string) (roleTable, error) {
	var t roleTable
	meta, err := toml.Decode(text, &t)
	if err != nil {
		return roleTable{}, err
	}
	if extra := meta.Undecoded(); len(extra) > 0 {
		return roleTable{}, fmt.Errorf("unknown key %s", extra[0])
	}
	lists := [][]libraryRole{t.Common.Libraries}
	for _, e := range t.Engines {
		lists = append(lists, e.Libraries)
	}
	for _, r := range slices.Concat(lists...) {
		switch {
		case r.Role != Required && r.Role != Optional && r.Role != OneOf && r.Role != NotJudged:
			return roleTable{}, fmt.Errorf("%v: %q is no role", r.Match, r.Role)
		case r.Role == OneOf && r.Group == "", r.Why == "", len(r.Match) == 0:
			return roleTable{}, fmt.Errorf("%v: a pattern, a reason, and a group where one of several is enough", r.Match)
		}
	}
	return t, nil
}

// under reports whether the end of a path matches the pattern, component by component.
func under(pattern, file string) bool {
	parts := strings.Split(file, "/")
	if n := strings.Count(pattern, "/") + 1; n < len(parts) {
		file = strings.Join(parts[len(parts)-n:], "/")
	}
	ok, _ := path.Match(pattern, file)
	return ok
}

// inPackages reports whether a file lies at the path in a folder of Python's packages, or in
// the root of what was read, be it a wheel or such a folder.
func inPackages(at, file string) bool {
	before, ok := strings.CutSuffix(file, at)
	return ok && (before == "" || slices.ContainsFunc(packages, func(p string) bool { return strings.HasSuffix(before, p+"/") }))
}

func underAny(patterns []string, file string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return under(p, file) })
}

// roleOf returns what a library is to the engines.
func roleOf(file string, engines []string) libraryRole {
	for _, e := range roles.Engines {
		if !slices.Contains(engines, e.Name) {
			continue
		}
		for _, r := range e.Libraries {
			if underAny(r.Match, file) {
				return r
			}
		}
	}
	for _, r := range roles.Common.Libraries {
		if underAny(r.Match, file) {
			return r
		}
	}
	if len(engines) == 0 {
		return libraryRole{Role: Required}
	}
	return libraryRole{}
}

// marks reports whether a file says that an engine, a compiler or a tool is there, so that
// its path is worth keeping.
func marks(file string) bool {
	if runtime.MatchString(path.Base(file)) {
		return true
	}
	return slices.ContainsFunc(roles.Engines, func(e engineRoles) bool { return underAny(e.Marks, file) }) ||
		slices.ContainsFunc(roles.JIT, func(j jitUser) bool {
			return inPackages(j.Mark, file) || underAny(j.Without, file) || slices.ContainsFunc(j.Tools, func(t jitTool) bool { return underAny(t.At, file) })
		})
}

// enginesAmong returns the engines whose marks are among the files, in the table's order.
func enginesAmong(files []string) []string {
	var out []string
	for _, e := range roles.Engines {
		if slices.ContainsFunc(files, func(f string) bool { return underAny(e.Marks, f) }) {
			out = append(out, e.Name)
		}
	}
	return out
}
