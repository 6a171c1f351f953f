package faultproxy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Info describes a fault; it is what documentation is printed from.
type Info struct {
	// ID is the name in a spec, in kebab case.
	ID string
	// Doc says in one line what the client then sees.
	Doc string
	// Modes are the ids of the failure modes it imitates. Empty where the taxonomy
	// has no row: a breach of the wire contract or of the configuration.
	Modes []string
	// Stage is the number of the first stage that must catch the fault as it is by
	// default. 4 is a matter of time only, which correctness does not see; 0 is
	// harmless: no check may object.
	Stage int
	// Params are the fault's own parameters. Those of Conditions come on top.
	Params []Param
}

// A fault is an Info with something behind it.
type fault struct {
	Info
	// build is called once per proxy with the parameters of the spec.
	build func(o options) acts
}

// acts are what a fault does. Each is optional and is asked only where the scope
// and the conditions hold.
type acts struct {
	// scope says which requests are meant; nil is every generation request.
	scope func(x *exchange) bool
	// request rewrites the request before the upstream sees it.
	request func(x *exchange)
	// respond answers in the upstream's place.
	respond respondFunc
	// admit may make the request wait, and may turn it away: what it returns responds;
	// nil lets the request through.
	admit func(x *exchange) respondFunc
	// instead is asked when the answer begins, and may put another in its place; nil lets
	// the upstream speak.
	instead func(x *exchange) respondFunc
	// answer returns the filter for the answer to one request.
	answer func(x *exchange) filter
	// otherwise is answer for the generation requests that scope or conditions leave out.
	otherwise func(x *exchange) filter
	// over is told when the answer to a generation request has ended, whatever scope
	// and conditions say: it keeps the books for the others.
	over func(x *exchange)
}

var registry []fault

var goodID = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// register adds a fault. It panics on one that cannot be documented or named: a bug
// of the file that calls it.
func register(f fault) bool {
	switch {
	case !goodID.MatchString(f.ID):
		panic(fmt.Sprintf("faultproxy: bad id %q", f.ID))
	case f.Doc == "" || strings.Contains(f.Doc, "\n"):
		panic("faultproxy: " + f.ID + " needs one line of documentation")
	case f.build == nil:
		panic("faultproxy: " + f.ID + " does nothing")
	case slices.ContainsFunc(registry, func(o fault) bool { return o.ID == f.ID }):
		panic("faultproxy: " + f.ID + " is registered twice")
	}
	for _, p := range f.Params {
		if err := p.check(p.Default); err != nil {
			panic("faultproxy: " + f.ID + ": " + err.Error())
		}
	}
	registry = append(registry, f)
	return true
}

// always is the build of a fault without parameters.
func always(a acts) func(options) acts { return func(options) acts { return a } }

// Faults lists every fault, ordered by ID.
func Faults() []Info {
	list := make([]Info, len(registry))
	for i, f := range registry {
		list[i] = f.Info
		list[i].Modes, list[i].Params = slices.Clone(f.Modes), slices.Clone(f.Params)
	}
	slices.SortFunc(list, func(a, b Info) int { return strings.Compare(a.ID, b.ID) })
	return list
}

func lookup(id string) (fault, bool) {
	i := slices.IndexFunc(registry, func(f fault) bool { return f.ID == id })
	if i < 0 {
		return fault{}, false
	}
	return registry[i], true
}
