package remote_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"infbench/stages/checkpoint"
	"infbench/stages/checkpoint/demo"
	"infbench/stages/checkpoint/gguftest"
	"infbench/stages/checkpoint/remote"
	"infbench/stages/checkpoint/remote/hubtest"
)

// model writes the demo checkpoint and returns its folder and what a local reader
// makes of it.
func model(t *testing.T) (string, checkpoint.Inventory) {
	t.Helper()
	dir := t.TempDir()
	if err := demo.Write(dir); err != nil {
		t.Fatal(err)
	}
	inv, err := checkpoint.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, inv
}

var quick = remote.Options{FirstPause: time.Millisecond}

func open(t *testing.T, address string, o remote.Options) checkpoint.Inventory {
	t.Helper()
	inv, err := remote.Open(t.Context(), address, o)
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

func hub(t *testing.T, dir string) *hubtest.Hub {
	t.Helper()
	h := hubtest.Start(dir, 0)
	t.Cleanup(h.Close)
	return h
}

// What is read over HTTP is what is read locally, whichever way it is addressed.
func TestSameAsLocal(t *testing.T) {
	t.Parallel()
	dir, local := model(t)
	h := hub(t, dir)
	plain := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(plain.Close)
	unlisted := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/") {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		http.ServeFile(w, r, filepath.Join(dir, filepath.Base(r.URL.Path)))
	}))
	t.Cleanup(unlisted.Close)
	ignoring := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Range")
		http.FileServer(http.Dir(dir)).ServeHTTP(w, r)
	}))
	t.Cleanup(ignoring.Close)
	for _, address := range []string{
		h.Repo(), h.Repo() + "/tree/main", h.Repo() + "@main", h.Repo() + "/", plain.URL, unlisted.URL + "/some/folder", ignoring.URL + "/",
	} {
		inv := open(t, address, quick)
		if inv.Fingerprint() != local.Fingerprint() {
			t.Errorf("%s has another fingerprint than the folder", address)
		}
		if got, want := inv.Tokenizer().Added(), local.Tokenizer().Added(); !slices.EqualFunc(got, want, func(a, b checkpoint.AddedToken) bool { return a.ID == b.ID && a.Text == b.Text }) {
			t.Errorf("%s: tokens %v, want %v", address, got, want)
		}
		if inv.Weights().Presence() != checkpoint.Complete {
			t.Errorf("%s: %v", address, inv.Weights())
		}
	}
	if inv := open(t, h.Repo(), quick); inv.Revision() != hubtest.Commit || inv.Name() != "model" || inv.Kind() != checkpoint.Folder {
		t.Errorf("name %q, revision %q, %v", inv.Name(), inv.Revision(), inv.Kind())
	}
	if inv := open(t, h.Repo()+"/blob/main/model.safetensors.index.json", quick); inv.Kind() != checkpoint.IndexOnly || len(inv.Headers()) != 0 || !inv.Index().Readable() {
		t.Errorf("an index alone: %v, %d headers", inv.Kind(), len(inv.Headers()))
	}
	shard := local.Weights().Needed[0]
	for _, address := range []string{h.Repo() + "/resolve/main/" + shard, plain.URL + "/" + shard} {
		if inv := open(t, address, quick); inv.Kind() != checkpoint.SingleShard || len(inv.Headers()) != 1 || !inv.Config().Readable() {
			t.Errorf("%s: %v, %d headers", address, inv.Kind(), len(inv.Headers()))
		}
	}
}

func TestSubFolderAndPages(t *testing.T) {
	t.Parallel()
	dir, local := model(t)
	top := t.TempDir()
	if err := os.Rename(dir, filepath.Join(top, "sub")); err != nil {
		t.Fatal(err)
	}
	h := hub(t, top)
	h.SetPage(2)
	if inv := open(t, h.Repo()+"/tree/main/sub", quick); inv.Fingerprint() != local.Fingerprint() {
		t.Error("the sub-folder is not what it is locally")
	}
}

// large writes a checkpoint of which the headers take a thousandth.
func large(t *testing.T, dir string) (headerBytes int64) {
	t.Helper()
	var index strings.Builder
	index.WriteString(`{"metadata":{},"weight_map":{`)
	for s := range 12 {
		var head strings.Builder
		head.WriteString(`{"__metadata__":{"format":"pt"}`)
		for i := range 200 {
			name := fmt.Sprintf("model.layers.%d.mlp.experts.%d.down_proj.weight", s, i)
			fmt.Fprintf(&head, `,%q:{"dtype":"BF16","shape":[1024,64],"data_offsets":[%d,%d]}`, name, i<<17, (i+1)<<17)
			fmt.Fprintf(&index, `%q:"model-%05d-of-00012.safetensors",`, name, s+1)
		}
		head.WriteByte('}')
		n := head.Len()
		raw := append([]byte{byte(n), byte(n >> 8), 0, 0, 0, 0, 0, 0}, head.String()...)
		path := filepath.Join(dir, fmt.Sprintf("model-%05d-of-00012.safetensors", s+1))
		if err := os.WriteFile(path, raw, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, int64(len(raw))+200<<17); err != nil {
			t.Fatal(err)
		}
		headerBytes += int64(len(raw))
	}
	text := strings.TrimSuffix(index.String(), ",") + "}}"
	for name, text := range map[string]string{
		checkpoint.DefaultIndex: text, "config.json": `{"model_type":"qwen3_moe","num_hidden_layers":12,"num_experts":200}`,
		"tokenizer.json": `{"version":"1.0","added_tokens":[{"id":7,"content":"<x>"}],"model":{"vocab":"` + strings.Repeat("x", 8<<20) + `"}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return headerBytes + int64(len(text))
}

// Only headers and small files move: the bytes of the answers' heads included, at
// most five in a hundred more; and of a tokenizer of 8 MB only its beginning.
func TestBytesMoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := large(t, dir)
	h := hub(t, dir)
	inv := open(t, h.Repo(), quick)
	if n := len(inv.Headers()); n != 12 {
		t.Fatalf("%d headers", n)
	}
	const tokenizerHead = 64 << 10
	if sent := h.Sent(); float64(sent) > 1.05*float64(want)+tokenizerHead {
		t.Errorf("%d bytes moved for %d bytes of headers and index", sent, want)
	}
	if added := inv.Tokenizer().Added(); len(added) != 1 || added[0].ID != 7 {
		t.Errorf("added tokens %v", added)
	}
}

// A second run asks only which commit the branch is at and what is there; a damaged
// cache is read again, and one that cannot be written is none.
func TestCache(t *testing.T) {
	t.Parallel()
	dir, local := model(t)
	h := hub(t, dir)
	o := quick
	o.CacheDir = filepath.Join(t.TempDir(), "headers")
	open(t, h.Repo(), o)
	h.Asked()
	inv := open(t, h.Repo(), o)
	if asked := h.Asked(); len(asked) != 2 {
		t.Errorf("the second run asks %q", asked)
	}
	if inv.Fingerprint() != local.Fingerprint() {
		t.Error("the cache gives something else")
	}
	entries, err := os.ReadDir(o.CacheDir)
	if err != nil || len(entries) == 0 {
		t.Fatal(err, entries)
	}
	for _, e := range entries {
		path := filepath.Join(o.CacheDir, e.Name())
		if info, _ := e.Info(); info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v", e.Name(), info.Mode())
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)-1] ^= 1
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if inv := open(t, h.Repo(), o); inv.Fingerprint() != local.Fingerprint() {
		t.Error("a damaged cache was believed")
	}
	o.CacheDir = filepath.Join(dir, "config.json", "x")
	open(t, h.Repo(), o)
}

// A token goes to the host that it is for, and not to the one that it redirects to.
func TestToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	large(t, dir)
	h := hub(t, dir)
	var leaked, without atomic.Int64
	h.SetIntercept(func(w http.ResponseWriter, r *http.Request) bool {
		got := r.Header.Get("Authorization")
		switch {
		case "http://"+r.Host == h.Store.URL && got != "":
			leaked.Add(1)
		case "http://"+r.Host == h.URL && got != "Bearer secret-token":
			without.Add(1)
			w.Header().Set("X-Error-Code", "RepoNotFound")
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		return false
	})
	o := quick
	o.Token = func(u *url.URL) string { return "secret-token" }
	open(t, h.Repo(), o)
	if leaked.Load() != 0 || without.Load() != 0 {
		t.Errorf("%d requests gave the token away, %d lacked it", leaked.Load(), without.Load())
	}
	_, err := remote.Open(t.Context(), h.Repo(), quick)
	if err == nil || !strings.Contains(err.Error(), "INFBENCH_HUB_TOKEN") || strings.Contains(err.Error(), "\n") {
		t.Errorf("without a token: %v", err)
	}
	o.Token = func(*url.URL) string { return "another" }
	if _, err := remote.Open(t.Context(), h.Repo(), o); err == nil || !strings.Contains(err.Error(), "the token was not accepted") || strings.Contains(err.Error(), "another") {
		t.Errorf("with a wrong token: %v", err)
	}
}

// Failures that pass are waited out.
func TestRetries(t *testing.T) {
	t.Parallel()
	dir, local := model(t)
	h := hub(t, dir)
	var mu sync.Mutex
	times := map[string]int{}
	h.SetIntercept(func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		times[r.URL.Path+r.Header.Get("Range")]++
		n := times[r.URL.Path+r.Header.Get("Range")]
		mu.Unlock()
		if "http://"+r.Host != h.URL { // or the turns of both hosts would add up
			return false
		}
		switch n {
		case 1:
			w.WriteHeader(http.StatusTooManyRequests)
		case 2:
			w.WriteHeader(http.StatusBadGateway)
		case 3: // half an answer
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("{"))
			panic(http.ErrAbortHandler)
		default:
			return false
		}
		return true
	})
	if inv := open(t, h.Repo(), quick); inv.Fingerprint() != local.Fingerprint() {
		t.Error("not what it is locally")
	}
}

// Whatever a server does, it is one line, and it ends.
func TestHostileHubs(t *testing.T) {
	t.Parallel()
	status := func(code int, header, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if header != "" {
				name, value, _ := strings.Cut(header, ": ")
				w.Header().Set(name, value)
			}
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	config := func(f http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasSuffix(r.URL.Path, "/config.json"):
				_, _ = w.Write([]byte(`{"model_type":"llama"}`))
			case strings.HasSuffix(r.URL.Path, "/"+checkpoint.DefaultIndex):
				_, _ = w.Write([]byte(`{"weight_map":{"a":"model.safetensors"}}`))
			case strings.HasSuffix(r.URL.Path, "/model.safetensors"):
				f(w, r)
			default:
				http.NotFound(w, r)
			}
		}
	}
	listing := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if strings.Contains(r.URL.Path, "/tree/") {
				_, _ = w.Write([]byte(body))
				return
			}
			_, _ = w.Write([]byte(`{"sha":"` + strings.Repeat("a", 40) + `","siblings":[]}`))
		}
	}
	for name, c := range map[string]struct {
		server http.HandlerFunc
		want   string // of the error, or of the only shard's problem
	}{
		"401":                      {status(401, "", ""), "put a token into the environment"},
		"403":                      {status(403, "", ""), "put a token into the environment"},
		"404":                      {status(404, "", ""), "no checkpoint there (as a hub repository: 404 for org/model"},
		"hub's 404":                {status(404, "X-Error-Code: RevisionNotFound", ""), "404 for org/model: not there"},
		"429":                      {status(429, "", ""), "429 for org/model, 5 times"},
		"500":                      {status(500, "", ""), "500 Internal Server Error"},
		"a page":                   {status(200, "Content-Type: text/html", "<html><h1>Log in</h1></html>"), "a login, or a wrong address"},
		"not JSON":                 {status(200, "Content-Type: application/json", "{"), "the file ends"},
		"nested":                   {status(200, "Content-Type: application/json", `{"sha":`+strings.Repeat("[", 100_000)), "does not tell how long"},
		"nested, and JSON":         {status(200, "Content-Type: application/json", `{"sha":"`+strings.Repeat("a", 40)+`","siblings":[],"x":`+strings.Repeat("[", 300)+strings.Repeat("]", 300)+`}`), "nested deeper than 64 levels"},
		"nested listing":           {listing(strings.Repeat("[", 300) + strings.Repeat("]", 300)), "the listing of org/model is none"},
		"loop":                     {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, "more than 5 redirects"},
		"half":                     {status(200, "Content-Length: 100", "{"), "ends its answer before the length that it stated"},
		"a whole page for a range": {config(status(200, "Content-Type: text/html", "<html>")), "a login, or a wrong address"},
		"wrong range": {config(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 100-107/5000")
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(make([]byte, 8))
		}), "to a request for the bytes from 0 on"},
		"no range":            {config(status(206, "", "12345678")), "to a request for the bytes from 0 on"},
		"unknown size":        {config(status(206, "Content-Range: bytes 0-7/*", "12345678")), "does not tell how long"},
		"size beyond numbers": {config(status(206, "Content-Range: bytes 0-7/99999999999999999999999", "12345678")), "states a length of"},
		"endless range": {config(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 0-7/5000000")
			w.WriteHeader(http.StatusPartialContent)
			for r := 0; r < 1<<16; r++ {
				if _, err := w.Write([]byte(strings.Repeat("\x00\x00\x00\x7f", 256))); err != nil {
					return
				}
			}
		}), "the header claims"},
		"compressed": {config(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(make([]byte, 1<<20))
			_ = z.Close()
		}), "comes compressed"},
		"claims 2^63": {config(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 0-7/9223372036854775807")
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write([]byte{0, 0, 0, 0, 0, 0, 0, 0x80})
		}), "the header claims 9223372036854775808 bytes"},
		"grows meanwhile": {config(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Range", "bytes 0-7/500")
			body := []byte{16, 0, 0, 0, 0, 0, 0, 0}
			if r.Header.Get("Range") != "bytes=0-7" {
				w.Header().Set("Content-Range", "bytes 8-23/600")
				body = make([]byte, 16)
			}
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(body)
		}), "it is being replaced"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(c.server)
			t.Cleanup(s.Close)
			inv, err := remote.Open(t.Context(), s.URL+"/org/model", quick)
			var got string
			switch {
			case err != nil:
				got = err.Error()
			case !inv.Config().Readable():
				p, _ := inv.Config().Problem()
				got = p.String()
			case len(inv.Headers()) == 1:
				list, _ := inv.Headers()[0].Problems(checkpoint.FlawUnreadable, checkpoint.FlawLength)
				for _, p := range list {
					got += p.String()
				}
			}
			if !strings.Contains(got, c.want) || strings.Contains(got, "\n") || len(got) > 500 {
				t.Errorf("got %q, want %q in one line", got, c.want)
			}
		})
	}
}

func TestRefusedAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://user:pass@host/org/name": "holds a user or password",
		"https:///org/name":               "has no host",
		"http://host:port/x":              "cannot be read",
	} {
		_, err := remote.Open(t.Context(), address, quick)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "pass@") {
			t.Errorf("%s says %v, want %q", address, err, want)
		}
	}
}

// A listing that leads elsewhere, and names that leave the folder, are not followed.
func TestListingsThatLeave(t *testing.T) {
	t.Parallel()
	dir, _ := model(t)
	h := hub(t, dir)
	h.SetIntercept(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/tree/") {
			return false
		}
		w.Header().Set("Link", `<http://127.0.0.1:1/more>; rel="next"`)
		_, _ = w.Write([]byte(`[{"type":"file","path":"../../etc/passwd","size":1}]`))
		return true
	})
	if _, err := remote.Open(t.Context(), h.Repo(), quick); err == nil || !strings.Contains(err.Error(), "goes on at another host") {
		t.Errorf("got %v", err)
	}
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/") {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<a href="../secret.json">x</a><a href="http://127.0.0.1:1/config.json">y</a><a href="config.json">z</a><a href="a%2Fb.json">w</a>`)
			return
		}
		if strings.HasPrefix(r.URL.Path, "/api/") {
			http.NotFound(w, r)
			return
		}
		if r.URL.Path != "/models/m/config.json" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		fmt.Fprint(w, `{"model_type":"llama"}`)
	}))
	t.Cleanup(pages.Close)
	if inv := open(t, pages.URL+"/models/m/", quick); len(inv.Files()) != 1 {
		t.Errorf("files %v", inv.Files())
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel(errors.New("enough"))
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	if _, err := remote.Open(ctx, s.URL+"/org/model", quick); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("got %v", err)
	}
}

// A GGUF model is read by ranges too, all pieces of a split, and its vocabulary is
// read over but not kept.
func TestGGUF(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var tokens []any
	for i := range 20_000 {
		tokens = append(tokens, fmt.Sprint("token", i))
	}
	piece := func(n int, meta [][2]any) {
		spec := gguftest.Spec{
			Meta:    append(meta, [][2]any{{"split.no", float64(n)}, {"split.count", 2.0}, {"split.tensors.count", 2.0}}...),
			Tensors: []gguftest.Tensor{{Name: fmt.Sprintf("blk.%d.attn_norm.weight", n), Shape: []int64{1 << 20}}},
		}
		data, err := spec.File()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("m-%05d-of-00002.gguf", n+1)), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	piece(0, [][2]any{{"general.architecture", "llama"}, {"llama.block_count", 2.0}, {"tokenizer.ggml.tokens", tokens}})
	piece(1, nil)
	local, err := checkpoint.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	h := hub(t, dir)
	plain := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(plain.Close)
	for _, address := range []string{h.Repo(), h.Repo() + "/resolve/main/m-00002-of-00002.gguf", plain.URL + "/m-00001-of-00002.gguf"} {
		inv := open(t, address, quick)
		if inv.Fingerprint() != local.Fingerprint() || inv.Kind() != checkpoint.GGUFModel {
			t.Errorf("%s: %v, not what it is locally", address, inv.Kind())
		}
	}
	if sent := h.Sent(); sent > 2<<20 {
		t.Errorf("%d bytes moved for two headers of half a megabyte, twice", sent)
	}
}
