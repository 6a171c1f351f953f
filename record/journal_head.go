package record

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"infbench/arrival"
	"infbench/gates"
)

// JournalHead says what the lines of a journal are about. It holds no number that was
// measured.
type JournalHead struct {
	// Run is the id of the run that began it.
	Run   string    `json:"run"`
	Began time.Time `json:"began"`
	// Harness is the version of this program, Definitions and Columns those of figures and
	// samples.
	Harness     string   `json:"harness"`
	Definitions string   `json:"definitions"`
	Columns     []string `json:"sample_columns"`
	// Identity is who was measured, Gates the digest of the proof about it.
	Identity Identity `json:"identity"`
	Gates    string   `json:"gates"`
	// Arrivals are the levels in their order, Asked what the command line asked for in words,
	// Workload what came of that with this server.
	Arrivals []arrival.ArrivalModel `json:"arrivals"`
	Asked    string                 `json:"asked"`
	Workload Workload               `json:"workload"`
}

// ThisVersion returns the head with what this program would write into it by itself.
func (h JournalHead) ThisVersion() JournalHead {
	h.Definitions, h.Columns = definitions, sampleColumns()
	return h
}

// vouched returns the head with its proof.
func (h JournalHead) vouched(g gates.GateSet) (JournalHead, error) {
	h = h.ThisVersion()
	switch {
	case !g.Satisfied():
		return h, &UngatedResultError{Reason: "a journal of samples needs a satisfied gate set"}
	case h.Identity.IsZero():
		return h, &UngatedResultError{Reason: "the journal is about nothing: the identity is empty"}
	case g.Subject() != h.Identity.Subject():
		return h, &UngatedResultError{Reason: "the gates are about another subject: " + g.Subject().Difference(h.Identity.Subject())}
	case len(h.Arrivals) == 0:
		return h, &UnmodelledArrivalError{Reason: "the journal has none"}
	case !runID.MatchString(h.Run):
		return h, fmt.Errorf("%.40q is no run id", h.Run)
	}
	proof, err := json.Marshal(g)
	if err != nil {
		return h, err
	}
	sum := sha256.Sum256(proof)
	h.Gates = "sha256:" + hex.EncodeToString(sum[:])
	h.Began = h.Began.UTC().Truncate(time.Millisecond)
	return h, nil
}

// check makes the head of a file safe to print and refuses what no journal has.
func (h *JournalHead) check() error {
	if !runID.MatchString(h.Run) || h.Identity.IsZero() || len(h.Arrivals) == 0 || h.Began.IsZero() {
		return errors.New("its head lacks the run, the subject or the levels")
	}
	for _, s := range []*string{&h.Harness, &h.Definitions, &h.Gates, &h.Asked, &h.Workload.Name, &h.Workload.CacheIntent, &h.Workload.TokenizedBy, &h.Workload.Client} {
		*s = gates.Printable(*s, 400)
	}
	return nil
}

// Differences says why what is measured now cannot be set beside what stands in the
// journal: all reasons, each with both sides. What one side does not know yet, its identity
// or workload, is left out. The server's process is not among the reasons: see
// [JournalHead.Restarted].
func (h JournalHead) Differences(now JournalHead) []string {
	var out []string
	differ := func(what, was, is string) {
		if was != is {
			out = append(out, fmt.Sprintf("%s was %s, is %s", what, short(was), short(is)))
		}
	}
	differ("the harness", h.Harness, now.Harness)
	differ("the definition of figures", h.Definitions, now.Definitions)
	differ("what is kept of a sample", strings.Join(h.Columns, " "), strings.Join(now.Columns, " "))
	differ("the levels", levelNames(h.Arrivals), levelNames(now.Arrivals))
	if levelNames(h.Arrivals) == levelNames(now.Arrivals) && !slices.EqualFunc(h.Arrivals, now.Arrivals, arrival.ArrivalModel.Equal) {
		out = append(out, "the levels have other seeds than they had")
	}
	differ("what is sent", h.Asked, now.Asked)
	if !now.Identity.IsZero() {
		h.Identity.eachDifference(now.Identity, differ)
	}
	if now.Workload.Name != "" {
		h.Workload.eachDifference(now.Workload, differ)
	}
	return out
}

// Restarted reports whether the server is another process than the one in the journal;
// known is false where it does not tell.
func (h JournalHead) Restarted(now Identity) (restarted, known bool) {
	was, ok := h.Identity.parts.Process.Value()
	is, told := now.parts.Process.Value()
	return was != is, ok && told
}

func levelNames(models []arrival.ArrivalModel) string {
	var out []string
	for _, m := range models {
		out = append(out, m.Label())
	}
	return strings.Join(out, " · ")
}

func short(s string) string {
	if s == "" {
		return "unknown"
	}
	return gates.Printable(s, 160)
}

// eachDifference tells the parts that differ, the process apart. What is unknown on both
// sides is the same.
func (i Identity) eachDifference(o Identity, tell func(what, was, is string)) {
	tell("the endpoint", i.parts.Endpoint, o.parts.Endpoint)
	tell("the model", i.parts.Model, o.parts.Model)
	for _, p := range []struct {
		what    string
		was, is Part
	}{
		{"the engine", i.parts.Engine, o.parts.Engine},
		{"the engine's build", i.parts.Build, o.parts.Build},
		{"the image", i.parts.Image, o.parts.Image},
		{"the checkpoint", i.parts.Checkpoint, o.parts.Checkpoint},
		{"the accelerator", i.parts.Accelerator, o.parts.Accelerator},
		{"the configuration", i.parts.Config, o.parts.Config},
	} {
		was, _ := p.was.Value()
		is, _ := p.is.Value()
		tell(p.what, was, is)
	}
}

// eachDifference tells what differs, the seed apart: prompts that were sent already would be
// in the server's cache.
func (w Workload) eachDifference(o Workload, tell func(what, was, is string)) {
	tell("the workload", w.Name, o.Name)
	tell("the cache", w.CacheIntent, o.CacheIntent)
	tell("the prompts' length", fmt.Sprint(w.PromptTokens), fmt.Sprint(o.PromptTokens))
	tell("the answers' length", fmt.Sprint(w.OutputTokens), fmt.Sprint(o.OutputTokens))
	tell("that the length was forced", fmt.Sprint(w.ForcedLength), fmt.Sprint(o.ForcedLength))
	tell("who counted the tokens", strings.TrimSpace(string(w.TokenSource)+" "+w.TokenizedBy), strings.TrimSpace(string(o.TokenSource)+" "+o.TokenizedBy))
	tell("the client", w.Client, o.Client)
}
