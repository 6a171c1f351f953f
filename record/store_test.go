package record_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"infbench/record"
	"infbench/record/recordtest"
)

func readAll(t *testing.T, path string) (runs int, problems []error) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for _, err := range record.Read(f) {
		if err != nil {
			problems = append(problems, err)
		} else {
			runs++
		}
	}
	return runs, problems
}

func TestManyWritersTearNoLine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs", "x.jsonl")
	run := recordtest.PerfRun(id)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s, err := record.Open(path, "writer"+string(rune('a'+i)))
			if err != nil {
				t.Error(err)
				return
			}
			for range 5 {
				if err := s.Append(run); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if runs, problems := readAll(t, path); runs != 40 || problems != nil {
		t.Errorf("%d runs, %v", runs, problems)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*unfinished*")); left != nil {
		t.Errorf("drafts are left: %v", left)
	}
}

func TestTornLineIsSkippedAndNeverOverwritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.jsonl")
	s, err := record.Open(path, "a")
	if err != nil {
		t.Fatal(err)
	}
	run := recordtest.PerfRun(id)
	for range 2 {
		if err := s.Append(run); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	torn := whole[:len(whole)-100]
	if err := os.WriteFile(path, torn, 0o644); err != nil {
		t.Fatal(err)
	}
	runs, problems := readAll(t, path)
	var line *record.LineError
	if runs != 1 || len(problems) != 1 || !errors.As(problems[0], &line) || !line.Torn || line.Line != 2 {
		t.Errorf("%d runs, %v", runs, problems)
	}
	if err := s.Append(run); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(after), string(torn)+"\n") {
		t.Error("the torn line was changed")
	}
	if runs, problems := readAll(t, path); runs != 2 || len(problems) != 1 {
		t.Errorf("%d runs, %v", runs, problems)
	}
}

func TestUnwritableIsFoundBeforeTheLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(file, "x.jsonl"), dir} {
		if _, err := record.Open(path, "a"); err == nil {
			t.Errorf("Open(%s) finds nothing wrong", path)
		}
	}
}

// A proof that fails takes back the file that it made, and no other.
func TestAFailedProofLeavesNoFile(t *testing.T) {
	t.Parallel()
	for _, there := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		// In the way of the draft, as a full disk would be.
		if err := os.MkdirAll(filepath.Join(filepath.Dir(path), "x.a.unfinished.jsonl", "in the way"), 0o700); err != nil {
			t.Fatal(err)
		}
		if there {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := record.Open(path, "a"); err == nil {
			t.Error("nothing is found wrong")
		}
		if _, err := os.Stat(path); (err == nil) != there {
			t.Errorf("there before: %t, and after: %v", there, err)
		}
	}
}

func TestDraftIsARecordFileOfItsOwn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.jsonl")
	s, err := record.Open(path, "b")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Draft(recordtest.PerfRun(id)); err != nil {
		t.Fatal(err)
	}
	drafts, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*.unfinished.jsonl"))
	if len(drafts) != 1 {
		t.Fatalf("drafts: %v", drafts)
	}
	if runs, problems := readAll(t, drafts[0]); runs != 1 || problems != nil {
		t.Errorf("%d runs, %v", runs, problems)
	}
}

func TestRedaction(t *testing.T) {
	t.Parallel()
	r := record.NewRedactor([]byte("key"))
	r.Hide("API key", "sk-abcdef")
	r.Hide("short", "abc")
	r.HideHost("gpu7.corp.example")
	got := r.Text(`dial gpu7.corp.example:8000 with sk-abcdef: abc`)
	if strings.Contains(got, "corp") || strings.Contains(got, "sk-") || !strings.Contains(got, "«API key»: abc") {
		t.Errorf("%q", got)
	}
	r.Hide("API key", "sk-SECRETKEY-0123456789")
	for _, text := range []string{"you sent sk-SECRETKEY-0123", "SK-SECRETKEY-0123456789", "c2stU0VDUkVUS0VZLTAxMjM0NTY3ODk="} {
		if got := r.Text(text); strings.Contains(got, "0123") || strings.Contains(got, "c2stU0") {
			t.Errorf("%q leaves %q", text, got)
		}
	}
	// Behind escapes, in a body that is cut.
	if got := r.Text(`status 500, "{\"error\":{\"message\":\"bad key \u0073\u006b\u002d\u0053\u0045\u0043\u0052\u0045\u0054\u004b\u0045\u0059\u002d`); !strings.HasSuffix(got, "bad key «API key»") {
		t.Errorf("%q", got)
	}
	if got := r.Text(`no file "/home/alice/x/models/Qwen-7B"`); got != `no file "…/Qwen-7B"` {
		t.Errorf("%q", got)
	}
	if a, b := r.Host("gpu7.corp.example"), record.NewRedactor([]byte("other")).Host("gpu7.corp.example"); a == b || !strings.HasPrefix(a, "host-") {
		t.Errorf("labels %s and %s", a, b)
	}
	far := r.Host("10.1.2.3")
	for text, want := range map[string]string{
		"upstream http://user:pass@10.1.2.3:8000/v1 is down":        "upstream http://" + far + ":8000/v1 is down",
		"worker at 10.1.2.3:29500 died":                             "worker at " + far + ":29500 died",
		"tcp://[fe80::1]:5000":                                      "tcp://" + r.Host("fe80::1") + ":5000",
		"see HTTPS://Router.Corp.Example/x":                         "see HTTPS://" + r.Host("router.corp.example") + "/x",
		"from 192.168.7.20 and 172.20.0.9":                          "from " + r.Host("192.168.7.20") + " and " + r.Host("172.20.0.9"),
		"http://127.0.0.1:8000/v1, 127.0.0.1:9, " + far + ":1":      "http://127.0.0.1:8000/v1, 127.0.0.1:9, " + far + ":1",
		"http://" + far + ":8000":                                   "http://" + far + ":8000",
		"TensorRT 10.3.0.26, cuDNN 9.1.0.70, scheduler.py:120":      "TensorRT 10.3.0.26, cuDNN 9.1.0.70, scheduler.py:120",
		"model.layers.0.mlp.down_proj at 12:30:05, ratio 1.0:2 ://": "model.layers.0.mlp.down_proj at 12:30:05, ratio 1.0:2 ://",
	} {
		if got := r.Text(text); got != want || r.Text(got) != want {
			t.Errorf("%q became %q, want %q (and to stay so)", text, got, want)
		}
	}
	for _, h := range []string{"127.0.0.1", "localhost", "[::1]", "LOCALHOST"} {
		if r.Host(h) != "loopback" {
			t.Errorf("%s is %s", h, r.Host(h))
		}
	}
	dir := t.TempDir()
	if a, b := record.LoadRedactor(dir).Host("x"), record.LoadRedactor(dir).Host("x"); a != b {
		t.Errorf("labels are not stable: %s, %s", a, b)
	}
}

func TestFileNames(t *testing.T) {
	t.Parallel()
	parts := id.Parts()
	parts.Engine, parts.Image, parts.Accelerator = record.Known("../vLLM x"), record.Known("sha256:0123456789abcdef0123"), record.Unknown("?")
	odd, err := record.NewIdentity(parts)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := odd.FileName(), "vllm-x_0123456789ab_unknown.jsonl"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
