package gates

import (
	"encoding/json"
	"testing"
)

func TestCountComesBack(t *testing.T) {
	t.Parallel()
	for _, c := range []Count{{}, CountOf(0), CountOf(41)} {
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		got := CountOf(99)
		if err := json.Unmarshal(b, &got); err != nil || got != c {
			t.Errorf("%s came back as %+v, %v", b, got, err)
		}
	}
	for _, bad := range []string{"-1", "1.5", `"3"`, "1e99", "{}"} {
		if err := json.Unmarshal([]byte(bad), new(Count)); err == nil {
			t.Errorf("%s is a count", bad)
		}
	}
}
