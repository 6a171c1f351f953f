// Package hubtest serves a folder in the layout of a hub, on loopback, and counts the
// bytes that leave: for tests and measurements of what a client asks for.
package hubtest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Commit is the commit that every branch of the repository stands at.
const Commit = "0123456789abcdef0123456789abcdef01234567"

// A Hub serves one repository, "org/model".
type Hub struct {
	*httptest.Server
	// Store is the host that large files are redirected to.
	Store *httptest.Server

	dir      string
	delay    time.Duration
	sent     atomic.Int64
	requests atomic.Int64

	// mu orders what a test sets before what the handlers read: a client in another
	// process is no synchronisation that the race detector sees.
	mu        sync.Mutex
	asked     []string
	intercept Intercept
	page      int
}

// An Intercept may answer a request in the hub's place; it says whether it has.
type Intercept func(w http.ResponseWriter, r *http.Request) bool

// Start serves the folder, each answer after the delay. Files from 1 kB on that are
// no JSON are redirected to the second host, as those in large file storage are.
func Start(dir string, delay time.Duration) *Hub {
	h := &Hub{dir: dir, delay: delay, page: 1000}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Server = h.counted(http.HandlerFunc(h.hub))
	h.Store = h.counted(http.HandlerFunc(h.store))
	return h
}

// SetIntercept lets f see every request to both hosts first.
func (h *Hub) SetIntercept(f Intercept) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.intercept = f
}

// SetPage sets the number of files in a page of the listing; it is 1,000 at first.
func (h *Hub) SetPage(files int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.page = files
}

// Close stops both hosts.
func (h *Hub) Close() {
	h.Server.Close()
	h.Store.Close()
}

// Repo returns the URL of the repository.
func (h *Hub) Repo() string { return h.URL + "/org/model" }

// Sent returns how many bytes left both hosts, heads of answers included.
func (h *Hub) Sent() int64 { return h.sent.Load() }

// Requests returns how many requests came.
func (h *Hub) Requests() int64 { return h.requests.Load() }

// Asked returns "METHOD path range" of each request that came, in order, and forgets
// them.
func (h *Hub) Asked() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.asked
	h.asked = nil
	return out
}

func (h *Hub) counted(handler http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(handler)
	s.Listener = &listener{s.Listener, &h.sent}
	s.Start()
	return s
}

type listener struct {
	net.Listener
	sent *atomic.Int64
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{c, l.sent}, nil
}

// A conn counts what is written. It hides the file-to-socket copy of the kernel.
type conn struct {
	net.Conn
	sent *atomic.Int64
}

func (c *conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.sent.Add(int64(n))
	return n, err
}

// begin notes a request and says whether it is answered already.
func (h *Hub) begin(w http.ResponseWriter, r *http.Request) bool {
	h.requests.Add(1)
	h.mu.Lock()
	h.asked = append(h.asked, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("Range")))
	intercept := h.intercept
	h.mu.Unlock()
	if h.delay > 0 {
		<-time.After(h.delay) // the distance of the server, not a wait for anything
	}
	return intercept != nil && intercept(w, r)
}

func (h *Hub) hub(w http.ResponseWriter, r *http.Request) {
	if h.begin(w, r) {
		return
	}
	const api, resolve = "/api/models/org/model/", "/org/model/resolve/"
	switch {
	case strings.HasPrefix(r.URL.Path, api+"revision/"):
		_ = json.NewEncoder(w).Encode(map[string]any{"id": "org/model", "sha": Commit, "siblings": []any{}})
	case strings.HasPrefix(r.URL.Path, api+"tree/"+Commit):
		h.tree(w, r, strings.Trim(strings.TrimPrefix(r.URL.Path, api+"tree/"+Commit), "/"))
	case strings.HasPrefix(r.URL.Path, resolve+Commit+"/"):
		name := strings.TrimPrefix(r.URL.Path, resolve+Commit+"/")
		info, err := os.Stat(filepath.Join(h.dir, filepath.FromSlash(name)))
		if err == nil && info.Size() >= 1024 && !strings.HasSuffix(name, ".json") {
			http.Redirect(w, r, h.Store.URL+"/blobs/"+name, http.StatusFound)
			return
		}
		http.ServeFile(w, r, filepath.Join(h.dir, filepath.FromSlash(name)))
	default:
		w.Header().Set("X-Error-Code", "RepoNotFound")
		http.Error(w, `{"error":"Repository not found"}`, http.StatusNotFound)
	}
}

func (h *Hub) store(w http.ResponseWriter, r *http.Request) {
	if h.begin(w, r) {
		return
	}
	http.ServeFile(w, r, filepath.Join(h.dir, filepath.FromSlash(strings.TrimPrefix(r.URL.Path, "/blobs/"))))
}

type treeEntry struct {
	Type string `json:"type"`
	Path string `json:"path"`
	Size int64  `json:"size"`
}

func (h *Hub) tree(w http.ResponseWriter, r *http.Request, sub string) {
	entries, err := os.ReadDir(filepath.Join(h.dir, filepath.FromSlash(sub)))
	if err != nil {
		w.Header().Set("X-Error-Code", "EntryNotFound")
		http.Error(w, "{}", http.StatusNotFound)
		return
	}
	list := []treeEntry{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		t := treeEntry{"file", strings.TrimPrefix(sub+"/"+e.Name(), "/"), info.Size()}
		if e.IsDir() {
			t.Type = "directory"
		}
		list = append(list, t)
	}
	h.mu.Lock()
	page := h.page
	h.mu.Unlock()
	from, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	to := min(from+page, len(list))
	if to < len(list) {
		w.Header().Set("Link", fmt.Sprintf(`<%s%s?cursor=%d>; rel="next"`, h.URL, r.URL.Path, to))
	}
	_ = json.NewEncoder(w).Encode(list[min(from, to):to])
}
