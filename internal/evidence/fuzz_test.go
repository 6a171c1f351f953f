package evidence

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"infbench/stages/endpoint"
)

// Whatever a file holds: an error and no bundle, or a bundle that is written and read as
// the same one.
func FuzzParse(f *testing.F) {
	whole := bundle(f,
		Exchange{Body: `{"model":"tiny","messages":[]}`, Stream: true, HangUp: 2, Answer: endpoint.Answer{
			Content: "a\xff", Calls: []endpoint.ToolCall{{Name: "f", Arguments: "{}"}}, Logprobs: []endpoint.TokenLogprob{{Top: []endpoint.Alternative{{Token: "t"}}}},
			Broke: []endpoint.Breach{{What: "x"}}, Timing: endpoint.Timing{Ended: 5, Marks: []endpoint.Mark{{At: 1, Read: 1}}},
		}},
		Exchange{Began: 7, Raw: "<html>", Answer: endpoint.Answer{Failure: &endpoint.Failure{Kind: endpoint.Refused, Status: 400}}})
	f.Add([]byte(unpacked(f, packed(f, whole))))
	f.Add([]byte(`{"schema":"infbench.evidence/v1"}`))
	f.Add([]byte(`{"schema":"infbench.evidence/v1","ledger":null,"exchanges":null}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		b, err := Parse(doc)
		if err != nil {
			if !b.IsZero() {
				t.Fatal("an error and a bundle")
			}
			return
		}
		again, err := Read(bytes.NewReader(packed(t, b)))
		if err != nil {
			t.Fatalf("what was read is not read again: %v", err)
		}
		if d := cmp.Diff(b.Exchanges(), again.Exchanges(), equally); d != "" {
			t.Fatalf("-read +read again\n%s", d)
		}
	})
}

// Whatever the bytes of a file, it is a bundle or one line that says why not.
func FuzzRead(f *testing.F) {
	file := packed(f, bundle(f, Exchange{Body: "{}"}))
	f.Add(file)
	f.Add(file[:len(file)-3])
	f.Add([]byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := Read(bytes.NewReader(b)); (err == nil) == got.IsZero() {
			t.Fatalf("%v with %+v", err, got)
		} else if err != nil && bytes.ContainsAny([]byte(err.Error()), "\n\x1b") {
			t.Fatalf("the error is no line: %q", err)
		}
	})
}
