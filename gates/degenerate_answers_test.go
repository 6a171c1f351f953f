package gates

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Real answers of a small model in good health: what fires is a loop that a reader sees
// too, always at temperature 0, and nothing else fires at all.
func TestRealAnswers(t *testing.T) {
	t.Parallel()
	f, err := os.Open(filepath.Join("testdata", "answers", "smollm2-135m.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	answers, loops, caught, sampled := 0, 0, 0, 0
	for s := bufio.NewScanner(f); s.Scan(); {
		var a struct {
			Prompt, Finish, Answer string
			Temperature            float64
			Loops                  bool
		}
		if err := json.Unmarshal(s.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		answers++
		if a.Loops {
			loops++
		}
		fires := false
		for _, x := range Degenerate(a.Answer, TextContext{Prompt: a.Prompt, CutShort: a.Finish == "length"}) {
			switch {
			case !x.Hard:
			case x.ID == "D1" && a.Loops && a.Temperature == 0:
				fires = true
			default:
				t.Errorf("%q at temperature %g trips %s: %s", a.Prompt, a.Temperature, x.ID, x.Detail)
			}
		}
		if fires {
			caught++
		}
		if a.Temperature > 0 {
			sampled++
		}
		if found := foreignWords(a.Answer, a.Prompt); len(found) > 0 && a.Prompt != "Write a sentence in Chinese and translate it." {
			t.Errorf("%q: foreign words %q", a.Prompt, found)
		}
	}
	if answers != 100 || loops != 10 || sampled != 50 {
		t.Errorf("%d answers, %d loops, %d sampled", answers, loops, sampled)
	}
	t.Logf("real answers: %d, loops by hand %d, caught %d (recall %.2f), false alarms 0 (precision 1.00)", answers, loops, caught, float64(caught)/float64(loops))
	if caught < 8 {
		t.Errorf("%d of %d loops are caught, 8 were", caught, loops)
	}
}
