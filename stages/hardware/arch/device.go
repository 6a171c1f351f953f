// Package arch says what compiled code was made for, what a device is, and which code
// runs on which device, as the vendors define it.
//
// The one rule: every rule of compatibility names its source. A kind of code or device is
// one file.
package arch

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Device is what code shall run on. The zero Device is none: nothing runs on it. It is
// comparable.
type Device struct {
	sm  int    // NVIDIA: ten times the major compute capability plus the minor
	gfx AMD    // AMD: the processor, with the features that were stated
	cpu string // a processor: its architecture and instruction sets, joined by "+"
}

// String returns "sm_90", "gfx90a:xnack-", the architecture of a processor, or "no device".
func (d Device) String() string {
	switch {
	case d.gfx.Processor != "":
		return d.gfx.String()
	case d.cpu != "":
		name, _, _ := strings.Cut(d.cpu, "+")
		return name
	case d.sm == 0:
		return "no device"
	}
	return fmt.Sprintf("sm_%d", d.sm)
}

// Vendor returns whose device it is, "" for none.
func (d Device) Vendor() Vendor {
	switch {
	case d.sm != 0:
		return VendorNVIDIA
	case d.gfx.Processor != "":
		return VendorAMD
	case d.cpu != "":
		return VendorCPU
	}
	return ""
}

// ErrNoDevice says that a text names no architecture.
var ErrNoDevice = errors.New("no architecture such as sm_90, 9.0 or gfx942")

var (
	smInText = regexp.MustCompile(`(?i)\bsm_?([1-9][0-9]{1,2})[af]?\b`)
	// A decimal counts only when it is the whole text: "CUDA 12.4" is no device.
	wholeDecimal = regexp.MustCompile(`^(?:compute capability |cc )?([1-9][0-9]?)\.([0-9])$`)
	times        = regexp.MustCompile(`\s*[x×*]\s*[0-9]+$`)
)

// ParseDevice reads a device as people write it: "sm_90", "sm_90 x2", "9.0", "NVIDIA
// H100 (sm_90)", "RTX 4090", "h200 x8", "gfx90a:sramecc+:xnack-". It returns [ErrNoDevice]
// for any other text and an error for one that names two architectures.
func ParseDevice(s string) (Device, error) {
	switch d, err := amdDevice(s); {
	case err == nil && smInText.MatchString(s):
		return Device{}, fmt.Errorf("two architectures, %s and %s: name one", d, smInText.FindString(s))
	case !errors.Is(err, ErrNoDevice):
		return d, err
	}
	text := s
	s = times.ReplaceAllString(strings.TrimSpace(s), "")
	if m := wholeDecimal.FindStringSubmatch(strings.ToLower(s)); m != nil {
		sm, _ := strconv.Atoi(m[1] + m[2]) // at most three digits
		return Device{sm: sm}, nil
	}
	var d Device
	for _, m := range smInText.FindAllStringSubmatch(s, -1) {
		sm, _ := strconv.Atoi(m[1])
		if d.sm != 0 && d.sm != sm {
			return Device{}, fmt.Errorf("two architectures, %s and sm_%d: name one", d, sm)
		}
		d.sm = sm
	}
	if d.sm == 0 {
		return productDevice(text)
	}
	return d, nil
}
