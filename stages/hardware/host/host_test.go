package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"infbench/record"
	"infbench/stages/hardware/host"
)

var update = flag.Bool("update", false, "write what is captured into the fixtures; read the diff")

// wanted is the file of a fixture that holds what is captured of it.
const wanted = "want"

// machine makes sources of a fixture: lines say what machine it is, files are its file
// system, "FILE -> TARGET" is a link, and "$ COMMAND" what a command prints. Of a process's
// environment the lines stand for its entries.
func machine(t testing.TB, a *txtar.Archive) host.Sources {
	t.Helper()
	s := host.Sources{System: "linux", Arch: "amd64", Own: func() []netip.Addr { return []netip.Addr{netip.MustParseAddr("192.0.2.7")} }}
	for line := range strings.SplitSeq(string(a.Comment), "\n") {
		switch key, value, _ := strings.Cut(line, ": "); key {
		case "system":
			s.System = value
		case "arch":
			s.Arch = value
		case "target":
			name, port, err := net.SplitHostPort(value)
			if err != nil {
				t.Fatal(err)
			}
			n, _ := strconv.Atoi(port)
			s.Target = host.Target{Host: name, Port: n}
		}
	}
	root, printed := fstest.MapFS{}, map[string]string{}
	for _, f := range a.Files {
		command, isCommand := strings.CutPrefix(f.Name, "$ ")
		link, to, isLink := strings.Cut(f.Name, " -> ")
		switch {
		case f.Name == wanted:
		case isCommand:
			printed[command] = string(f.Data)
		case isLink:
			root[link] = &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink}
		case strings.HasSuffix(f.Name, "/environ"):
			root[f.Name] = &fstest.MapFile{Data: bytes.ReplaceAll(f.Data, []byte("\n"), []byte{0})}
		default:
			root[f.Name] = &fstest.MapFile{Data: f.Data}
		}
	}
	s.Root = root
	s.Exec = func(_ context.Context, name string, args ...string) (string, error) {
		if out, ok := printed[strings.Join(append([]string{name}, args...), " ")]; ok {
			return out, nil
		}
		return "", errors.New("no such command")
	}
	return s
}

// What is captured of each machine, in one line and as the record holds it.
func TestCapture(t *testing.T) {
	t.Parallel()
	paths, _ := filepath.Glob("testdata/*.txtar")
	if len(paths) < 12 {
		t.Fatalf("only %d machines", len(paths))
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			h := host.Capture(t.Context(), machine(t, a))
			b, err := json.MarshalIndent(h, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			device, err := host.DeviceOf(h)
			if err != nil {
				device = "none: " + err.Error()
			}
			got := h.String() + "\n--device auto: " + device + "\n" + string(b) + "\n"
			at := len(a.Files)
			for i, f := range a.Files {
				if f.Name == wanted {
					at = i
				}
			}
			if *update {
				a.Files = append(a.Files[:at:at], txtar.File{Name: wanted, Data: []byte(got)})
				if err := os.WriteFile(path, txtar.Format(a), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if at == len(a.Files) {
				t.Fatal("the fixture does not say what is wanted; -update writes it")
			}
			if diff := cmp.Diff(string(a.Files[at].Data), got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			var back record.Host
			if err := json.Unmarshal(b, &back); err != nil {
				t.Fatal(err)
			}
			if again, err := json.MarshalIndent(back, "", "  "); err != nil || !bytes.Equal(again, b) {
				t.Errorf("it does not come back as it was (%v):\n%s", err, again)
			}
		})
	}
}
