package hardware

import (
	"context"
	"strings"
	"time"

	"infbench/gates"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[Subject]{
	ID: "hardware/engine-words",
	Doc: `nothing that the engine says of its own kernels speaks against it

Which attention backend computes, of what type the KV cache is, whether decoding is captured into graphs: the engine knows, and some show it.
A count of requests with NaN in their logits is the plainest word there is, and stands on a page that nobody looks at. Read after the requests
of this stage, so that it covers them.`,
	Since:  "0.4.0",
	Cost:   60 * time.Millisecond,
	Needs:  []gates.Capability{endpoint.Server},
	Modes:  []string{"NUM-06", "NUM-07", "NUM-10", "CON-01"},
	Faults: []string{"nan-counted", "torch-native", "graphs-off"},
	Causes: []string{"a kernel that overflows, or a quantised KV cache without scales", "a backend that was fallen back to", "the server was started with graphs off"},
	Next:   []string{"the engine's log: infbench stage1 --target URL --engine-log FILE", "another attention backend, an unquantised KV cache"},
	Late:   true,
	Run:    engineWords,
})

func engineWords(ctx context.Context, s Subject) (gates.Finding, error) {
	w, err := s.Words(ctx)
	if err != nil {
		return gates.Finding{}, err
	}
	var said []string
	slow := ""
	for _, word := range w.Said {
		said = append(said, word.Name+" "+word.Value)
		if strings.HasPrefix(word.Name, "attention") && strings.EqualFold(word.Value, "torch_native") {
			slow = word.Name + " is computed by " + word.Value + ", which no graph captures"
		}
	}
	nan, looked := w.NaN.N()
	if looked {
		said = append(said, "requests with NaN are counted")
	}
	line := strings.Join(said, ", ")
	tell := func(f gates.Finding) gates.Finding {
		if n := w.Preempted.Or(0); n > 0 {
			f = f.With("%d requests were thrown out of a batch for want of cache since the server started", n)
		}
		return f
	}
	switch {
	case nan > 0:
		return tell(gates.Fail("the engine counts %d requests with NaN in their logits", nan).With("%s", line)), nil
	case slow != "":
		return tell(gates.Warn("%s", slow).With("%s", line)), nil
	case w.GraphsOff:
		return tell(gates.Warn("decoding is not captured into graphs (disable_cuda_graph): each step is launched kernel by kernel").With("%s", line)), nil
	case len(said) == 0:
		return gates.NotApply("the engine shows nothing of its kernels; --engine-log FILE reads what it writes"), nil
	}
	return tell(gates.Pass("%s", line)), nil
}
