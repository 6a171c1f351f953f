package kernels

import (
	"cmp"
	"slices"

	"infbench/stages/hardware/arch"
)

// Row is one library judged on a device.
type Row struct {
	Library
	Reach arch.Reach
	// Role says what the library is to the engine, Why what it does; Group names the
	// libraries of which one is enough.
	Role       Role
	Why, Group string
	// Served says that another library of the group runs in its place.
	Served bool
	// Foreign says that all its code is for other vendors' devices: it is not judged.
	Foreign bool
}

// Fails reports whether the engine cannot do without it and nothing in it runs.
func (r Row) Fails() bool {
	return !r.Foreign && !r.Served && r.Reach == arch.None && (r.Role == Required || r.Role == OneOf)
}

// Lacks reports whether it is no failure that nothing in it runs, and yet worth saying.
func (r Row) Lacks() bool {
	return !r.Foreign && !r.Served && r.Role != NotJudged && r.Reach == arch.None && !r.Fails()
}

// Slow reports whether the engine needs it and the driver must compile or link it first.
func (r Row) Slow() bool {
	return !r.Foreign && !r.Served && (r.Role == Required || r.Role == OneOf) && (r.Reach == arch.ByPTX || r.Reach == arch.ByLink)
}

// Judgement is an inventory judged on one device, the worst first.
type Judgement struct {
	Device arch.Device
	Rows   []Row
}

// On judges the inventory on a device.
func (inv Inventory) On(d arch.Device) Judgement {
	j := Judgement{Device: d}
	engines := inv.Engines()
	runs := map[string]arch.Reach{} // the best of each group
	for _, l := range inv.Libraries {
		if d != (arch.Device{}) && l.onProcessor() != (d.Vendor() == arch.VendorCPU) {
			continue // what is for the processor is judged on processors
		}
		role := roleOf(inv.full(l.Path), engines)
		// A library that should hold device code and does not is for nobody's devices.
		r := Row{Library: l, Reach: l.On(d), Role: role.Role, Why: role.Why, Group: role.Group, Foreign: l.Holds() && !l.For(d.Vendor())}
		runs[r.Group] = max(runs[r.Group], r.Reach)
		j.Rows = append(j.Rows, r)
	}
	for i, r := range j.Rows {
		j.Rows[i].Served = r.Group != "" && r.Reach < runs[r.Group]
	}
	slices.SortStableFunc(j.Rows, func(a, b Row) int { return cmp.Compare(a.severity(), b.severity()) })
	return j
}

// severity orders rows, the worst first.
func (r Row) severity() int {
	switch {
	case r.Fails():
		return 0
	case r.Lacks():
		return 1
	case r.Slow():
		return 2
	case r.Foreign, r.Served:
		return 4
	}
	return 3
}

// Of returns the rows for which f holds.
func (j Judgement) Of(f func(Row) bool) []Row {
	var out []Row
	for _, r := range j.Rows {
		if f(r) {
			out = append(out, r)
		}
	}
	return out
}

// Foreign reports whether there is code and none of it is for a device of this vendor.
func (j Judgement) Foreign() bool {
	return len(j.Rows) > 0 && !slices.ContainsFunc(j.Rows, func(r Row) bool { return !r.Foreign })
}
