// Package kernels takes stock of compiled code: which libraries of an image, a wheel or a
// folder hold code for which devices, what each is to the engine beside it, and what that
// means on a device.
//
// The one rule: what a library is to an engine is data (roles.toml), and what runs where is
// the vendors' rule (package arch); nothing here knows an engine or a device by name.
package kernels
