package app

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"infbench/gates"
	"infbench/internal/evidence"
	"infbench/stages"
	"infbench/stages/endpoint"
)

// defaultEvidence is the folder of evidence where none is named.
const defaultEvidence = "bench/evidence"

// evidencePlan says which evidence is kept, and where. The zero plan keeps none.
type evidencePlan struct {
	folder string
	stated bool // a person named the folder
	warned bool // that of warnings too
}

// evidenceOf reads the flag: a folder, "off", "all", or all:FOLDER.
func evidenceOf(text string) evidencePlan {
	if text == "off" {
		return evidencePlan{}
	}
	folder, warned := strings.CutPrefix(text, "all:")
	if text == "all" {
		folder, warned = "", true
	}
	if folder == "" {
		return evidencePlan{folder: filepath.FromSlash(defaultEvidence), warned: warned}
	}
	return evidencePlan{folder: folder, stated: true, warned: warned}
}

// keeper keeps the evidence of the checks that failed: what each asked and what came. A
// nil one keeps nothing.
type keeper struct {
	p       *pipeline
	tape    evidence.Tape
	written map[string]string // check → file
	trouble string
}

func newKeeper(p *pipeline) *keeper {
	if p.ses.set.evidence == (evidencePlan{}) || p.ses.set.Target == "" {
		return nil
	}
	return &keeper{p: p, written: map[string]string{}}
}

// exchange records what a check asked. Between the checks nothing is recorded: stage 4
// measures there.
func (k *keeper) exchange(x endpoint.Exchange) {
	if k != nil {
		k.tape.Take(x)
	}
}

func (k *keeper) event(e stages.Event) {
	if _, ok := e.(stages.CheckStarted); ok {
		k.begin()
	}
	if f, ok := e.(stages.CheckFinished); ok {
		k.end(f.Verdict)
	}
}

func (k *keeper) begin() {
	if k != nil && k.trouble == "" {
		k.tape.Begin()
	}
}

// end keeps what the check asked, where its verdict is one that evidence is kept of.
func (k *keeper) end(v gates.Verdict) {
	if k == nil || k.trouble != "" {
		return
	}
	list, dropped := k.tape.End()
	status := v.Status()
	if status != gates.Failed && !(status == gates.Warned && k.p.ses.set.evidence.warned) || !slices.ContainsFunc(list, reached) {
		return
	}
	path, err := k.save(v, list, dropped)
	switch {
	case errors.Is(err, evidence.ErrNothing):
	case err != nil:
		// Said once: what ails the first file ails the next.
		k.trouble = fmt.Sprintf("no evidence is kept: %v (--evidence FOLDER names another place, --evidence off keeps none)", err)
	default:
		k.written[v.Check()] = path
	}
}

// reached reports whether there was a server at all: a refused connection needs no file.
func reached(x evidence.Exchange) bool {
	f := x.Answer.Failure
	return f == nil || f.Kind != endpoint.Unreachable
}

var errRoot = errors.New("the working folder is the root of the file system, where nobody looks for it")

func (k *keeper) save(v gates.Verdict, list []evidence.Exchange, dropped int) (string, error) {
	plan := k.p.ses.set.evidence
	if here, err := os.Getwd(); !plan.stated && err == nil && filepath.Dir(here) == here {
		return "", errRoot // a hook of the system runs there
	}
	b, err := evidence.New(evidence.Parts{
		Run: k.p.id, Command: k.p.command, Harness: harness(), Written: time.Now(), Model: k.p.ses.ep.Model(), Subject: k.p.ses.subject(k.p.cache),
		Verdict: v, Exchanges: list, Dropped: dropped,
	}, k.p.ses.redactor.Text)
	if err != nil {
		return "", err
	}
	return evidence.NewFolder(plan.folder).Save(b)
}

// complain says what kept evidence from being kept. The run goes on without it.
func (k *keeper) complain(w io.Writer) {
	if k != nil && k.trouble != "" {
		fmt.Fprintf(w, "infbench: %s\n", gates.Printable(k.p.ses.redactor.Text(k.trouble), 0))
	}
}

// hinted returns the report with the command that asks again under each verdict that left
// evidence. It is for whoever reads the report: the record names no folder of a person's.
func (k *keeper) hinted(rep stages.Report) stages.Report {
	if k == nil || len(k.written) == 0 {
		return rep
	}
	rep.Results = slices.Clone(rep.Results)
	for i, res := range rep.Results {
		rep.Results[i].Verdicts = slices.Clone(res.Verdicts)
		for n, v := range res.Verdicts {
			if path, ok := k.written[v.Check()]; ok {
				rep.Results[i].Verdicts[n] = v.Then("infbench replay " + shellWord(path) + " --target URL")
			}
		}
	}
	return rep
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./~+=:@%,-]+$`)

// shellWord quotes a path for a shell where that is needed.
func shellWord(path string) string {
	if plainWord.MatchString(path) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
