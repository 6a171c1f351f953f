package gates_test

import (
	"encoding/json"
	"testing"
	"time"

	"infbench/gates"
)

func TestSpanIsKnownOrAbsent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]gates.Span{"null": {}, "0": gates.SpanOf(0), "1500": gates.SpanOf(1500 * time.Nanosecond)} {
		var got gates.Span
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
		if b, err := json.Marshal(want); err != nil || string(b) != text {
			t.Errorf("%v is written %s, %v", want, b, err)
		}
	}
	for _, bad := range []string{"-1", "1.5", `"1"`, "{}", "1e30"} {
		got := gates.SpanOf(7)
		if err := json.Unmarshal([]byte(bad), &got); err == nil || got != gates.SpanOf(7) {
			t.Errorf("%s: %v, %v", bad, got, err)
		}
	}
	if _, ok := gates.SpanOf(-1).D(); ok {
		t.Error("a time below 0 is known")
	}
	if d := (gates.Span{}).Or(time.Second); d != time.Second {
		t.Errorf("absent or a second is %v", d)
	}
}
