package record

import (
	"encoding/json"
	"errors"

	"infbench/gates"
)

// Part is one part of an identity: known, or unknown with the reason. The zero
// Part is neither and does not marshal.
type Part struct{ value, unknown string }

// Known returns a known part. An empty value is unknown, without better reason.
func Known(value string) Part {
	if value == "" {
		return Unknown("it was empty")
	}
	return Part{value: gates.Printable(value, 200)}
}

// Unknown returns a part that could not be learnt, and why.
func Unknown(reason string) Part {
	if reason == "" {
		reason = "no reason was given"
	}
	return Part{unknown: gates.Printable(reason, 200)}
}

// Value returns the part, or false when it is unknown.
func (p Part) Value() (string, bool) { return p.value, p.value != "" }

// Why returns why the part is unknown, "" when it is known.
func (p Part) Why() string { return p.unknown }

// Or returns the part when it is known, else the other one.
func (p Part) Or(other Part) Part {
	if p.value == "" && other != (Part{}) {
		return other
	}
	return p
}

// String returns the value, or "unknown (reason)".
func (p Part) String() string {
	if p.value != "" {
		return p.value
	}
	if p.unknown == "" {
		return "not asked"
	}
	return "unknown (" + p.unknown + ")"
}

type partWire struct {
	Value   *string `json:"value"`
	Unknown string  `json:"unknown,omitempty"`
}

// MarshalJSON writes {"value":…} or {"value":null,"unknown":reason}.
func (p Part) MarshalJSON() ([]byte, error) {
	switch {
	case p.value != "":
		return json.Marshal(partWire{Value: &p.value})
	case p.unknown != "":
		return json.Marshal(partWire{Unknown: p.unknown})
	}
	return nil, errors.New("a part that is neither known nor unknown does not marshal")
}

// UnmarshalJSON accepts exactly one of the two forms.
func (p *Part) UnmarshalJSON(b []byte) error {
	var w partWire
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	switch {
	case w.Value != nil && *w.Value != "" && w.Unknown == "":
		*p = Known(*w.Value)
	case w.Value == nil && w.Unknown != "":
		*p = Unknown(w.Unknown)
	default:
		return errors.New("a part is either a value or unknown with a reason")
	}
	return nil
}
