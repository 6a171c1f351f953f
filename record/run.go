package record

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"infbench/gates"
)

// Ending says whether a run reached its end, and why not.
type Ending struct {
	Complete bool   `json:"complete"`
	Cause    string `json:"cause,omitempty"`
}

// RunParts is what every run leaves, numbers or not.
type RunParts struct {
	// ID names the run; [NewRunID] makes one.
	ID string
	// Started is the only wall-clock time of a run.
	Started time.Time
	Took    time.Duration
	// Command is the command's name without its arguments, Harness the version of
	// this program.
	Command, Harness string
	Identity         Identity
	Ledger           gates.Ledger
	Ending           Ending
	// Exit is the exit code that the run came to.
	Exit int
	// Caveats are what a reader must know beside the verdicts.
	Caveats []string
	// Abilities are what the server was found to be able to do; empty where nobody tried.
	Abilities []Ability
	// Host is the machine that infbench ran on, which is the target's only where it says so.
	Host Host
}

// An Ability is one thing that a server can or cannot do, as it was found by doing it.
type Ability struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Detail string `json:"detail,omitempty"`
}

// maxAbilities bounds the abilities of a line.
const maxAbilities = 64

// Run is one line of a record file: the verdicts of one run and why it ended, and,
// only where the gates passed, the numbers. The zero Run is nothing.
type Run struct {
	parts RunParts
	perf  PerfRecord
}

var runID = regexp.MustCompile(`^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}$`)

// NewRun returns a run without numbers.
func NewRun(p RunParts) (Run, error) {
	switch {
	case !runID.MatchString(p.ID):
		return Run{}, fmt.Errorf("%.40q is no run id", p.ID)
	case p.Started.IsZero() || p.Took < 0:
		return Run{}, errors.New("a run has a start and a duration")
	case p.Identity.IsZero() || p.Ledger.IsZero():
		return Run{}, errors.New("a run has an identity and verdicts")
	case p.Ledger.Subject() != p.Identity.Subject():
		return Run{}, errors.New("the verdicts are about another subject: " + p.Ledger.Subject().Difference(p.Identity.Subject()))
	case !p.Ending.Complete && p.Ending.Cause == "":
		return Run{}, errors.New("an incomplete run says why it ended")
	}
	p.Ending.Cause = gates.Printable(p.Ending.Cause, 300)
	p.Command, p.Harness = gates.Printable(p.Command, 40), gates.Printable(p.Harness, 80)
	caveats := p.Caveats
	p.Caveats = nil
	for _, c := range caveats {
		p.Caveats = append(p.Caveats, gates.Printable(c, 300))
	}
	if len(p.Abilities) > maxAbilities {
		return Run{}, errors.New("more abilities than a server has")
	}
	abilities := p.Abilities
	p.Abilities = nil
	for _, a := range abilities {
		p.Abilities = append(p.Abilities, Ability{gates.Printable(a.Name, 40), gates.Printable(a.State, 40), gates.Printable(a.Detail, 200)})
	}
	p.Started = p.Started.UTC().Truncate(time.Millisecond)
	return Run{parts: p}, nil
}

// With returns the run with numbers. They must be about the run's own identity and
// stand on the run's own verdicts.
func (r Run) With(p PerfRecord) (Run, error) {
	g, err := r.parts.Ledger.Gates()
	if err != nil {
		return Run{}, &UngatedResultError{Reason: err.Error(), cause: err}
	}
	if p.IsZero() || p.identity != r.parts.Identity {
		return Run{}, &UngatedResultError{Reason: "the numbers are not about this run"}
	}
	p.gates = g
	r.perf = p
	return r, nil
}

// IsZero reports whether the run is nothing.
func (r Run) IsZero() bool { return r.parts.ID == "" }

// Parts returns what the run is made of, numbers apart.
func (r Run) Parts() RunParts { return r.parts }

// Performance returns the numbers; ok is false when the run holds none.
func (r Run) Performance() (p PerfRecord, ok bool) { return r.perf, !r.perf.IsZero() }

const runSchema = "infbench.record/v1"

// The kinds of line.
const (
	verdictsKind    = "verdicts"
	performanceKind = "performance"
)

type runWire struct {
	Schema      string       `json:"schema"`
	Kind        string       `json:"kind"`
	ID          string       `json:"run"`
	Started     time.Time    `json:"started"`
	TookMS      int64        `json:"took_ms"`
	Command     string       `json:"command"`
	Harness     string       `json:"harness"`
	Exit        int          `json:"exit"`
	Ending      Ending       `json:"ending"`
	Caveats     []string     `json:"caveats,omitempty"`
	Abilities   []Ability    `json:"abilities,omitempty"`
	Host        Host         `json:"host,omitzero"`
	Identity    Identity     `json:"identity"`
	Key         string       `json:"key"`
	Ledger      gates.Ledger `json:"ledger"`
	Performance *numbersWire `json:"performance,omitempty"`
	// Digest is the hash of the line without it: an edit is noticed, by whoever does not
	// make it again.
	Digest string `json:"digest,omitempty"`
}

// numbersWire leaves out what the line holds already: identity and verdicts.
type numbersWire struct {
	Arrival      json.RawMessage `json:"arrival"`
	Measurements json.RawMessage `json:"measurements"`
}

// MarshalJSON refuses the zero Run.
func (r Run) MarshalJSON() ([]byte, error) {
	w, err := r.wire()
	if err != nil {
		return nil, err
	}
	if w.Digest, err = digestOf(w); err != nil {
		return nil, err
	}
	return json.Marshal(w)
}

func digestOf(w runWire) (string, error) {
	w.Digest = ""
	b, err := json.Marshal(w)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

func (r Run) wire() (runWire, error) {
	if r.IsZero() {
		return runWire{}, errors.New("an empty run does not marshal")
	}
	p := r.parts
	w := runWire{
		Schema: runSchema, Kind: verdictsKind, ID: p.ID, Started: p.Started, TookMS: p.Took.Milliseconds(), Command: p.Command, Harness: p.Harness,
		Exit: p.Exit, Ending: p.Ending, Caveats: p.Caveats, Abilities: p.Abilities, Host: p.Host, Identity: p.Identity, Key: p.Identity.Key(), Ledger: p.Ledger,
	}
	if perf, ok := r.Performance(); ok {
		a, err := perf.arrival.MarshalJSON()
		if err != nil {
			return runWire{}, err
		}
		m, err := perf.measured.encode()
		if err != nil {
			return runWire{}, err
		}
		w.Kind, w.Performance = performanceKind, &numbersWire{a, m}
	}
	return w, nil
}

// UnmarshalJSON proves the gates of a line with numbers again; on error the run is
// left as it was.
func (r *Run) UnmarshalJSON(b []byte) error {
	var w runWire
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	if w.Schema != runSchema {
		return fmt.Errorf("schema %.40q is not %s", w.Schema, runSchema)
	}
	out, err := NewRun(RunParts{
		ID: w.ID, Started: w.Started, Took: time.Duration(w.TookMS) * time.Millisecond, Command: w.Command, Harness: w.Harness,
		Identity: w.Identity, Ledger: w.Ledger, Ending: w.Ending, Exit: w.Exit, Caveats: w.Caveats, Abilities: w.Abilities, Host: w.Host,
	})
	if err != nil {
		return err
	}
	switch {
	case w.Kind == verdictsKind && w.Performance == nil:
	case w.Kind == verdictsKind:
		return &UngatedResultError{Reason: "a line of verdicts holds numbers"}
	case w.Kind == performanceKind && w.Performance != nil:
		g, err := w.Ledger.Gates()
		if err != nil {
			return &UngatedResultError{Reason: err.Error(), cause: err}
		}
		perf, err := assemble(w.Identity, g, w.Performance.Arrival, w.Performance.Measurements)
		if err != nil {
			return err
		}
		out.perf = perf
	default:
		return fmt.Errorf("kind %.40q does not fit the line", w.Kind)
	}
	again, err := out.wire()
	if err != nil {
		return err
	}
	if digest, err := digestOf(again); err != nil || digest != w.Digest || again.Key != w.Key {
		return errors.New("the line was changed after it was written: its digest does not fit")
	}
	*r = out
	return nil
}
