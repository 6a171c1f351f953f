package checkpoint

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// downloadNotes is where a hub's client writes, for each file that it puts into a local
// folder, which commit the file is of: NAME.metadata, with the commit in its first line.
const downloadNotes = ".cache/huggingface/download"

// Commits returns the commit that each file was downloaded at, where the client that
// fetched it left a note; nil when there is none.
func (inv Inventory) Commits() map[string]string { return inv.get().commits }

// noted is implemented by sources that may hold such notes.
type noted interface {
	commits(ctx context.Context) map[string]string
}

func (d folder) commits(context.Context) map[string]string {
	notes := filepath.Join(d.dir, filepath.FromSlash(downloadNotes))
	entries, err := os.ReadDir(notes)
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".metadata")
		if !ok || !e.Type().IsRegular() || !PlainName(name) {
			continue
		}
		f, err := os.Open(filepath.Join(notes, e.Name()))
		if err != nil {
			continue
		}
		line, _ := bufio.NewReader(io.LimitReader(f, 64)).ReadString('\n')
		_ = f.Close() // it was only read
		if line = strings.TrimSpace(line); commitHex.MatchString(line) {
			out[name] = line
		}
	}
	return out
}
