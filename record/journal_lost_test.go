package record

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// A journal that cannot be written any more loses nothing of what it has, takes nothing more
// and says why once.
func TestJournalThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, []byte("a line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path) // for reading alone: every write fails, as on a full disk
	if err != nil {
		t.Fatal(err)
	}
	j := &Journal{path: path, file: f, lock: flock.New(path), seals: NewRedactor(bytes.Repeat([]byte{7}, 32)), head: JournalHead{}.ThisVersion(), size: 7}
	defer j.Close()
	j.Sample("level 0", Sample{End: time.Second, Outcome: OK})
	first := j.Lost()
	if first == nil {
		t.Fatal("nothing is lost")
	}
	j.Sample("level 0", Sample{End: time.Second, Outcome: OK})
	if err := j.append(journalWire{Step: "level 0"}); err == nil || err.Error() != first.Error() || j.Lost().Error() != first.Error() {
		t.Errorf("%v, then %v", first, err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "a line\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// What a sample costs its writer, which is beside the measuring path.
func BenchmarkJournalSample(b *testing.B) {
	path := filepath.Join(b.TempDir(), "x")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	j := &Journal{path: path, file: f, lock: flock.New(path), seals: NewRedactor(bytes.Repeat([]byte{7}, 32)), head: JournalHead{}.ThisVersion()}
	defer j.Close()
	s := Sample{Due: time.Hour, Sent: time.Hour, First: time.Hour, Last: time.Hour, End: time.Hour, OutputTokens: 64, Chunks: 64, Outcome: OK}
	b.ReportAllocs()
	for b.Loop() {
		j.Sample("level 0", s)
	}
}
