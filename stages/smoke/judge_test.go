package smoke

import (
	"strings"
	"testing"

	"infbench/gates"
	"infbench/stages/endpoint"
)

// A call or an object that the token limit cuts is no parser's fault, however little of
// it there is; indented JSON is no run of white space.
func TestWhatTheLimitCutsIsNoFault(t *testing.T) {
	t.Parallel()
	schema, err := compile([]byte(`{"type":"object","properties":{"key":{"type":"string"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	c := gates.NewCanaries(1).Issue()
	for _, arguments := range []string{"", "{", `{"key":"12`} {
		cut := endpoint.Answer{Finish: "length", Calls: []endpoint.ToolCall{{ID: "a", Name: toolName, Arguments: arguments}}}
		if hard, soft := judgeShape(cut, schema); hard != "" || soft != "the call ran to the token limit" {
			t.Errorf("%q: %q, %q", arguments, hard, soft)
		}
		if hard, soft := judgeCall(cut, c); hard != "" || len(soft) != 1 {
			t.Errorf("%q: %q, %q", arguments, hard, soft)
		}
		whole := cut
		whole.Finish = "tool_calls"
		if hard, _ := judgeCall(whole, c); hard == "" {
			t.Errorf("%q with finish_reason tool_calls passes", arguments)
		}
	}
	deep := strings.Repeat("{\n"+strings.Repeat(" ", 30)+`"a": `, 10)
	if got := misfit(endpoint.Answer{Finish: "length", Content: deep}, nil); got != cutJSON {
		t.Errorf("indented: %q", got)
	}
	if got := misfit(endpoint.Answer{Finish: "length", Content: `{"a":` + strings.Repeat("\n ", 40)}, nil); !strings.Contains(got, "80 white space") {
		t.Errorf("blanks: %q", got)
	}
}
