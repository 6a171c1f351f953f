package gates

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What the detectors make of the symptoms of public reports. The empty ones are those that
// no statistic of a text tells from legitimate writing: a known answer does, which is why
// that decides and these only support it.
var reported = map[string]struct {
	by       string // the detector that must fire hard
	cutShort bool   // it ran to the token limit
}{
	"exclamations.txt": {"D2", true}, "fullwidth_exclamations.txt": {"D2", true}, "hashes.txt": {"D1", true}, "single_letters.txt": {"D1", true},
	"tabs_and_newlines.txt": {"D9", true}, "blank_tail.json": {"D9", true}, "table_cells.md": {"D1", true},
	"sentence_loop.txt": {"D1", true}, "paragraph_loop.txt": {"D1", true},
	"invented_turns.txt": {"D10", true}, "end_marker.txt": {"D10", false}, "reserved_tokens.txt": {"D10", false}, "eos_marker.txt": {"D10", false},
	"system_marker.txt": {"D10", false}, "header_marker.txt": {"D10", false}, "byte_level_blanks.txt": {"D10", false}, "byte_tokens.txt": {"D10", false},
	"glued_salad.txt": {"D4", true}, "spaced_salad.txt": {"D5", true}, "mojibake.txt": {"D8", false}, "replacement.txt": {"D6", false}, "nul_bytes.txt": {"D7", false},
	"common_words.txt": {}, "stop_words.txt": {}, "punctuation.txt": {}, "foreign_word.txt": {},
}

func TestReportedGarbage(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "garbage", "*"))
	if err != nil {
		t.Fatal(err)
	}
	origin, err := os.ReadFile(filepath.Join("testdata", "garbage", "ORIGIN.md"))
	if err != nil {
		t.Fatal(err)
	}
	caught, seen := 0, 0
	for _, file := range files {
		name := filepath.Base(file)
		if name == "ORIGIN.md" {
			continue
		}
		seen++
		want, ok := reported[name]
		if !ok || !strings.Contains(string(origin), name) {
			t.Errorf("%s is not described", name)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var hard []string
		for _, s := range Degenerate(string(text), TextContext{Prompt: "Hello", CutShort: want.cutShort}) {
			if s.Hard {
				hard = append(hard, s.ID)
			}
		}
		switch {
		case want.by == "" && len(hard) > 0:
			t.Errorf("%s is caught by %v, which is news", name, hard)
		case want.by != "" && !slices.Contains(hard, want.by):
			t.Errorf("%s is caught by %v, want %s", name, hard, want.by)
		}
		if len(hard) > 0 {
			caught++
		}
	}
	if seen != len(reported) {
		t.Errorf("%d files, %d are described", seen, len(reported))
	}
	t.Logf("reported garbage: %d of %d caught by a detector (recall %.2f); the other %d need a known answer", caught, seen, float64(caught)/float64(seen), seen-caught)
}
