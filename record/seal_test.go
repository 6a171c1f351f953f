package record

import (
	"bytes"
	"testing"
)

func TestSeal(t *testing.T) {
	t.Parallel()
	here, elsewhere := NewRedactor(bytes.Repeat([]byte{1}, 32)), NewRedactor(bytes.Repeat([]byte{2}, 32))
	sealed := here.Seal("run 1", []byte("12345678"))
	if got, ok := here.Unseal("run 1", sealed); !ok || string(got) != "12345678" {
		t.Errorf("came back as %q, %v", got, ok)
	}
	if again := here.Seal("run 1", []byte("12345678")); again == sealed {
		t.Error("equal numbers can be told from their seals")
	}
	for name, try := range map[string]func() ([]byte, bool){
		"another key":  func() ([]byte, bool) { return elsewhere.Unseal("run 1", sealed) },
		"another run":  func() ([]byte, bool) { return here.Unseal("run 2", sealed) },
		"cut":          func() ([]byte, bool) { return here.Unseal("run 1", sealed[:20]) },
		"empty":        func() ([]byte, bool) { return here.Unseal("run 1", "") },
		"not its form": func() ([]byte, bool) { return here.Unseal("run 1", "«»") },
	} {
		if got, ok := try(); ok {
			t.Errorf("%s: unsealed %q", name, got)
		}
	}
}
