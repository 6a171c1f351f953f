package record

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"infbench/gates"
)

// IdentityParts are the parts of an [Identity]. A part left at its zero value
// becomes unknown.
type IdentityParts struct {
	// Endpoint is the redacted address: scheme, host label, port. Empty for a run
	// about a checkpoint alone.
	Endpoint string `json:"endpoint,omitempty"`
	// Model is the name under which the model is served.
	Model string `json:"model,omitempty"`
	// Engine is the software behind the endpoint, Build its own version string.
	Engine Part `json:"engine"`
	Build  Part `json:"build"`
	// Image is the digest of the container image. Not the version: two images can
	// report the same versions and differ in compiled kernels.
	Image Part `json:"image"`
	// Checkpoint is the revision or fingerprint of the checkpoint.
	Checkpoint Part `json:"checkpoint"`
	// Accelerator is the architecture and count, such as "sm_90 x1".
	Accelerator Part `json:"accelerator"`
	// Config is a hash of the configuration that the server reports.
	Config Part `json:"config"`
	// Process marks the server process, such as its start time: it changes on restart.
	Process Part `json:"process"`
	// Cache is the state of the prefix cache that the numbers were taken in.
	Cache Part `json:"cache"`
}

// Identity says exactly what was examined. The zero Identity is nothing.
type Identity struct{ parts IdentityParts }

// NewIdentity returns the identity of the parts; at least an endpoint or a known
// checkpoint must be named.
func NewIdentity(p IdentityParts) (Identity, error) {
	if _, ok := p.Checkpoint.Value(); p.Endpoint == "" && !ok {
		return Identity{}, errors.New("an identity needs an endpoint or a checkpoint")
	}
	p.Endpoint = gates.Printable(p.Endpoint, 200)
	p.Model = gates.Printable(p.Model, 200)
	for _, part := range []*Part{&p.Engine, &p.Build, &p.Image, &p.Checkpoint, &p.Accelerator, &p.Config, &p.Process, &p.Cache} {
		if *part == (Part{}) {
			*part = Unknown("it was not asked")
		}
	}
	return Identity{p}, nil
}

// Parts returns the identity's parts.
func (i Identity) Parts() IdentityParts { return i.parts }

// IsZero reports whether the identity is nothing.
func (i Identity) IsZero() bool { return i == Identity{} }

// Subject returns what verdicts about this identity are about. The cache state is
// not part of it: it changes with every request.
func (i Identity) Subject() gates.Subject {
	v := func(p Part) string { s, _ := p.Value(); return s }
	s, err := gates.NewSubject(gates.SubjectParts{
		Endpoint: i.parts.Endpoint, Engine: strings.TrimSpace(v(i.parts.Engine) + " " + v(i.parts.Build)), Model: i.parts.Model,
		Checkpoint: v(i.parts.Checkpoint), Config: v(i.parts.Config), Process: v(i.parts.Process),
	})
	if err != nil {
		return gates.Subject{}
	}
	return s
}

// Key returns a short hash of everything but the address and the server process: what
// must be equal for two runs to be compared. An unknown part enters as unknown, whatever
// the reason; a comparison treats it as different all the same.
func (i Identity) Key() string {
	p := i.parts
	p.Endpoint, p.Process = "", Part{}
	for _, part := range []*Part{&p.Engine, &p.Build, &p.Image, &p.Checkpoint, &p.Accelerator, &p.Config, &p.Process, &p.Cache} {
		if _, ok := part.Value(); !ok {
			*part = Unknown("unknown")
		}
	}
	b, err := json.Marshal(p)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:6])
}

// FileName returns the name of the record file of this identity:
// <engine>_<image digest, 12>_<accelerator>.jsonl.
func (i Identity) FileName() string {
	word := func(p Part, most int) string {
		s, ok := p.Value()
		if !ok {
			return "unknown"
		}
		s = strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-':
				return r
			case r >= 'A' && r <= 'Z':
				return r + 'a' - 'A'
			}
			return '-'
		}, strings.TrimPrefix(s, "sha256:"))
		if len(s) > most {
			s = s[:most]
		}
		if s = strings.Trim(s, "-."); s == "" {
			return "unknown"
		}
		return s
	}
	return fmt.Sprintf("%s_%s_%s.jsonl", word(i.parts.Engine, 32), word(i.parts.Image, 12), word(i.parts.Accelerator, 32))
}

// MarshalJSON refuses the zero Identity.
func (i Identity) MarshalJSON() ([]byte, error) {
	if i.IsZero() {
		return nil, errors.New("an identity that is nothing does not marshal")
	}
	return json.Marshal(i.parts)
}

// UnmarshalJSON goes through [NewIdentity].
func (i *Identity) UnmarshalJSON(b []byte) error {
	var p IdentityParts
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	out, err := NewIdentity(p)
	if err != nil {
		return err
	}
	*i = out
	return nil
}
