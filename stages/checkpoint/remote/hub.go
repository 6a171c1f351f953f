package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"infbench/internal/shallow"
	"infbench/stages/checkpoint"
)

var _ = addPlace(place{name: "hub repository", rank: 1, open: openHub})

// Bounds of a hub's answers: the largest listing of a model seen has 1,500 files.
const (
	maxAnswer = 16 << 20
	maxPages  = 64
	maxFiles  = 50_000
)

// A hub is a repository in the layout of the Hugging Face Hub: the listing under
// api/models, the files under resolve/<revision>. A branch is resolved to a commit
// once, so that all files are of one.
type hub struct {
	c      *client
	base   *url.URL // the hub itself
	repo   string   // "org/name"
	commit string   // or, where the hub tells none, the revision
	sub    string   // a folder inside the repository
	only   string   // one file of it
}

// An address is what the URL of a hub names.
type address struct {
	base           *url.URL
	repo, revision string
	sub, only      string
}

// hubAddress reads …/org/name[@revision], …/org/name/tree/revision[/folder] and
// …/org/name/{resolve,blob}/revision/file.
func hubAddress(u *url.URL) (a address, ok bool) {
	var parts []string
	for _, p := range strings.Split(u.EscapedPath(), "/") {
		if p, err := url.PathUnescape(p); err == nil && p != "" {
			parts = append(parts, p)
		}
	}
	at := slices.IndexFunc(parts, func(p string) bool { return p == "tree" || p == "resolve" || p == "blob" })
	rest := parts
	if at > 0 {
		rest = parts[:at]
		if at+1 < len(parts) {
			a.revision = parts[at+1]
			inside := parts[at+2:]
			if n := len(inside); n > 0 && parts[at] != "tree" {
				a.only, inside = inside[n-1], inside[:n-1]
			}
			a.sub = strings.Join(inside, "/")
		}
	}
	if len(rest) == 0 || slices.Contains(parts, "..") {
		return a, false
	}
	from := max(len(rest)-2, 0)
	base := *u
	base.Path, base.RawPath = "/"+strings.Join(rest[:from], "/"), ""
	a.base = &base
	a.repo = strings.Join(rest[from:], "/")
	if name, revision, given := strings.Cut(a.repo, "@"); given && a.revision == "" {
		a.repo, a.revision = name, revision
	}
	return a, true
}

func openHub(ctx context.Context, c *client, u *url.URL, o Options) (checkpoint.Source, error) {
	a, ok := hubAddress(u)
	if !ok {
		return nil, nil
	}
	if o.Revision != "" {
		a.revision = o.Revision
	}
	if a.revision == "" {
		a.revision = "main"
	}
	h := &hub{c: c, base: a.base, repo: a.repo, commit: a.revision, sub: a.sub, only: a.only}
	body, header, err := c.whole(ctx, asked{url: h.api("revision", a.revision), what: a.repo}, maxAnswer)
	if err != nil {
		if s, ok := errors.AsType[*statusError](err); ok && !s.hub && s.code != http.StatusTooManyRequests && s.code < 500 {
			return nil, notHere(err)
		}
		return nil, err
	}
	if isPage(header) || !shallow.Valid(body) || !gjson.GetBytes(body, "siblings").IsArray() && !gjson.GetBytes(body, "sha").Exists() {
		return nil, notHere(errors.New("its answer is none of a hub"))
	}
	if sha := gjson.GetBytes(body, "sha").Str; commit.MatchString(sha) {
		h.commit = sha
	}
	return h, nil
}

// notHere is [errNotHere] in the words of its reason.
func notHere(why error) error { return &reason{why} }

type reason struct{ error }

func (r *reason) Unwrap() error        { return r.error }
func (r *reason) Is(target error) bool { return target == errNotHere }

var commit = regexp.MustCompile(`^[0-9a-f]{40}$`)

// api returns the address of a hub's answer about the repository.
func (h *hub) api(parts ...string) *url.URL { return h.join("api/models", parts...) }

// join returns an address below the hub: the parts before the repository's name, and
// those after it.
func (h *hub) join(before string, after ...string) *url.URL {
	parts := []string{strings.Trim(h.base.EscapedPath(), "/"), before}
	for _, p := range append(strings.Split(h.repo, "/"), after...) {
		parts = append(parts, url.PathEscape(p))
	}
	u := *h.base
	u.RawPath = "/" + strings.TrimLeft(path.Join(parts...), "/")
	u.Path, _ = url.PathUnescape(u.RawPath) // what was escaped above
	return &u
}

// inside returns the parts that lead to a name inside the repository.
func (h *hub) inside(name string) []string {
	parts := []string{h.commit}
	if h.sub != "" {
		parts = append(parts, strings.Split(h.sub, "/")...)
	}
	if name != "" {
		parts = append(parts, name)
	}
	return parts
}

func (h *hub) Place() checkpoint.Place {
	p := checkpoint.Place{Kind: checkpoint.Folder, Name: path.Base(h.repo)}
	if h.only != "" {
		p.Kind, _ = checkpoint.KindOfFile(h.only)
		p.Name = h.only
	}
	if commit.MatchString(h.commit) {
		p.Revision = h.commit
	}
	return p
}

func (h *hub) Near() bool { return false }

// List reads the tree of the repository, page by page.
func (h *hub) List(ctx context.Context) (out checkpoint.Listing, err error) {
	if h.only != "" {
		if _, ok := checkpoint.KindOfFile(h.only); !ok {
			return out, fmt.Errorf("%.80q is neither an index nor a file of weights", h.only)
		}
	}
	next := h.api(append([]string{"tree"}, h.inside("")...)...)
	for page := 0; next != nil; page++ {
		if page == maxPages {
			return out, fmt.Errorf("the listing of %s has more than %d pages", h.repo, maxPages)
		}
		body, header, err := h.c.whole(ctx, asked{url: next, what: "the listing of " + h.repo}, maxAnswer)
		if err != nil {
			return out, err
		}
		list := gjson.ParseBytes(body)
		if isPage(header) || !shallow.Valid(body) || !list.IsArray() {
			return out, fmt.Errorf("the listing of %s is none", h.repo)
		}
		list.ForEach(func(_, e gjson.Result) bool {
			h.entry(&out, e)
			return true
		})
		if len(out.Files)+len(out.Folders) > maxFiles {
			return out, fmt.Errorf("the listing of %s has more than %d files", h.repo, maxFiles)
		}
		if next, err = nextPage(next, header); err != nil {
			return out, err
		}
	}
	return out, nil
}

func (h *hub) entry(out *checkpoint.Listing, e gjson.Result) {
	name := e.Get("path").Str
	if h.sub != "" {
		inner, ok := strings.CutPrefix(name, h.sub+"/")
		if !ok {
			return
		}
		name = inner
	}
	if !checkpoint.PlainName(name) || !checkpoint.Beside(h.only, name) {
		return
	}
	switch e.Get("type").Str {
	case "directory":
		out.Folders = append(out.Folders, name)
	case "file":
		size := int64(-1)
		if r := e.Get("lfs.size"); r.Exists() {
			size = r.Int()
		} else if r := e.Get("size"); r.Exists() {
			size = r.Int()
		}
		out.Files = append(out.Files, checkpoint.HeldFile(name, size))
	}
}

var linkNext = regexp.MustCompile(`<([^>]+)>\s*;\s*rel="next"`)

// nextPage returns where a listing goes on, on the same host, or nil.
func nextPage(this *url.URL, header http.Header) (*url.URL, error) {
	m := linkNext.FindStringSubmatch(header.Get("Link"))
	if m == nil {
		return nil, nil
	}
	u, err := this.Parse(m[1])
	if err != nil || u.Host != this.Host || u.Scheme != this.Scheme {
		return nil, errors.New("the listing goes on at another host")
	}
	return u, nil
}

func (h *hub) file(name string) *url.URL {
	return h.join("", append([]string{"resolve"}, h.inside(name)...)...)
}

// key names a file for the cache; only what is fixed to a commit has one.
func (h *hub) key(name string) string {
	if !commit.MatchString(h.commit) {
		return ""
	}
	return h.file(name).String()
}

func (h *hub) Read(ctx context.Context, name string, limit int64) ([]byte, error) {
	return h.c.readCached(ctx, h.key(name), h.file(name), name, limit)
}

func (h *hub) Open(ctx context.Context, name string, ahead int64) (checkpoint.File, checkpoint.ReaderAtCloser, error) {
	return h.c.openCached(ctx, h.key(name), h.file(name), name, ahead)
}
