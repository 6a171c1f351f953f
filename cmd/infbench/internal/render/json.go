package render

import (
	"encoding/json"
	"io"

	"infbench/gates"
	"infbench/record"
	"infbench/soak"
	"infbench/stages"
)

type reportWire struct {
	Schema  string             `json:"schema"`
	Command string             `json:"command"`
	Exit    int                `json:"exit"`
	Error   string             `json:"error,omitempty"`
	Subject *gates.Subject     `json:"subject"`
	Ckpt    *checkpointWire    `json:"checkpoint,omitempty"`
	Host    record.Host        `json:"host,omitzero"`
	Kernels *kernelsWire       `json:"kernels,omitempty"`
	Stages  []stageWire        `json:"stages"`
	Record  string             `json:"record,omitempty"`
	Perf    *record.PerfRecord `json:"performance,omitempty"`
	Soak    *soak.Summary      `json:"soak,omitempty"`
}

type stageWire struct {
	Stage  int    `json:"stage"`
	Name   string `json:"name"`
	Status string `json:"status"`
	Why    string `json:"why,omitempty"`
	// Condition is what most of the failures take; "" where none says.
	Condition gates.Condition `json:"condition,omitzero"`
	TookMS    int64           `json:"took_ms"`
	Verdicts  []gates.Verdict `json:"verdicts"`
	// Engines says, for each check that failed, what engines do on the defect.
	Engines map[string][]gates.Consequence `json:"engines,omitempty"`
}

// Beside is what a document tells besides the verdicts. What is zero is not shown.
type Beside struct {
	Checkpoint *Checkpoint
	Kernels    *Kernels
	// Host is the machine that infbench ran on.
	Host record.Host
}

const reportSchema = "infbench.report/v1"

// JSON writes one document about a run. subject may be the zero Subject, when none
// was learnt; perf may be empty. problem is an error that is no verdict, such as a
// record that could not be written.
func JSON(w io.Writer, command string, exit int, problem string, subject gates.Subject, beside Beside, rep stages.Report, about func(id string) gates.Info, where string, perf record.PerfRecord) error {
	return write(w, report(command, exit, problem, subject, beside, rep, about, where, perf))
}

func report(command string, exit int, problem string, subject gates.Subject, beside Beside, rep stages.Report, about func(id string) gates.Info, where string, perf record.PerfRecord) reportWire {
	out := reportWire{Schema: reportSchema, Command: command, Exit: exit, Error: problem, Ckpt: beside.Checkpoint.wire(), Host: beside.Host, Kernels: beside.Kernels.wire(), Stages: []stageWire{}, Record: where}
	if !subject.IsZero() {
		out.Subject = &subject
	}
	if !perf.IsZero() {
		out.Perf = &perf
	}
	for _, r := range rep.Results {
		s := stageWire{Stage: r.Stage.Number(), Name: r.Stage.String(), Condition: gates.ConditionOf(r.Verdicts), TookMS: r.Took.Milliseconds(), Verdicts: append([]gates.Verdict{}, r.Verdicts...)}
		for _, v := range r.Verdicts {
			if does := about(v.Check()).Does; v.Status() == gates.Failed && len(does) > 0 {
				if s.Engines == nil {
					s.Engines = map[string][]gates.Consequence{}
				}
				s.Engines[v.Check()] = does
			}
		}
		if s.Status, s.Why = r.Status.String(), r.NotRun; r.NotRun != "" {
			s.Status = "not_run"
		}
		out.Stages = append(out.Stages, s)
	}
	return out
}

// JSONError writes the document of a command that examined nothing.
func JSONError(w io.Writer, command string, exit int, problem string) error {
	return write(w, reportWire{Schema: reportSchema, Command: command, Exit: exit, Error: problem, Stages: []stageWire{}})
}

func write(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
