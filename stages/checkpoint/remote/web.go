package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/sync/errgroup"

	"infbench/stages/checkpoint"
)

var _ = addPlace(place{name: "folder or file", rank: 9, open: openWeb})

// A web is a plain folder behind a web server, or one file of it. Where the server
// lists its folder the listing is taken; where it does not, the names that a
// checkpoint may hold are tried one by one.
type web struct {
	c      *client
	folder *url.URL // ends with a slash
	only   string
	list   checkpoint.Listing
	index  map[string][]byte // indexes that were read to find the shards
}

// tried are the names that are looked for where the server lists nothing.
var tried = []string{
	checkpoint.ConfigFile, checkpoint.DefaultIndex, checkpoint.DefaultShard, checkpoint.GenerationFile, "tokenizer_config.json", "special_tokens_map.json",
	"added_tokens.json", "hf_quant_config.json", "quantize_config.json", "quant_config.json", "quantization_config.json", "quant_model_description.json", "quanto_qmap.json",
	"tokenizer.json", "tokenizer.model", "tekken.json", "vocab.json", "merges.txt", "vocab.txt", "spiece.model", "chat_template.jinja", "chat_template.json",
}

func openWeb(ctx context.Context, c *client, u *url.URL, _ Options) (checkpoint.Source, error) {
	w := &web{c: c, index: map[string][]byte{}}
	folder := *u
	if base := path.Base(u.Path); checkpoint.PlainName(base) {
		if _, ok := checkpoint.KindOfFile(base); ok {
			w.only = base
			folder.Path = path.Dir(u.Path)
		}
	}
	folder.Path = strings.TrimSuffix(folder.Path, "/") + "/"
	folder.RawPath = ""
	w.folder = &folder
	if err := w.find(ctx); err != nil {
		return nil, err
	}
	return w, nil
}

// find makes the listing.
func (w *web) find(ctx context.Context) error {
	if names, ok := w.listed(ctx); ok {
		for _, n := range names {
			inner, folder := strings.CutSuffix(n, "/")
			switch {
			case !checkpoint.PlainName(inner) || !checkpoint.Beside(w.only, inner):
			case folder:
				w.list.Folders = append(w.list.Folders, inner)
			default:
				w.list.Files = append(w.list.Files, checkpoint.HeldFile(inner, -1))
			}
		}
		if len(w.list.Files) > 0 && (w.only == "" || w.has(w.only)) {
			return nil
		}
		w.list = checkpoint.Listing{}
	}
	names := tried
	if w.only != "" {
		names = append([]string{w.only}, slices.DeleteFunc(slices.Clone(tried), func(n string) bool { return !checkpoint.Beside(w.only, n) })...)
		names = append(names, pieces(w.only)...)
	}
	if err := w.try(ctx, names); err != nil {
		return err
	}
	if w.only != "" || !w.has(checkpoint.DefaultIndex) {
		return nil
	}
	return w.shards(ctx)
}

func (w *web) has(name string) bool {
	return slices.ContainsFunc(w.list.Files, func(f checkpoint.File) bool { return f.Name() == name })
}

// listed returns the names that the folder's own page links to, if it has one.
func (w *web) listed(ctx context.Context) ([]string, bool) {
	body, header, err := w.c.whole(ctx, asked{url: w.folder, what: "the folder"}, maxAnswer)
	if err != nil || !isPage(header) {
		return nil, false
	}
	var names []string
	known := map[string]bool{}
	z := html.NewTokenizer(bytes.NewReader(body))
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		t := z.Token()
		if kind != html.StartTagToken || t.Data != "a" {
			continue
		}
		for _, a := range t.Attr {
			if n, ok := w.inside(a.Val); ok && a.Key == "href" && !known[n] && len(names) < maxFiles {
				known[n] = true
				names = append(names, n)
			}
		}
	}
	return names, len(names) > 0
}

// inside returns what a link names directly inside the folder.
func (w *web) inside(link string) (string, bool) {
	u, err := w.folder.Parse(link)
	if err != nil || u.Host != w.folder.Host || u.RawQuery != "" {
		return "", false
	}
	name, ok := strings.CutPrefix(u.Path, w.folder.Path)
	return name, ok && name != "" && !strings.Contains(strings.TrimSuffix(name, "/"), "/")
}

// try asks for each of the names, many at a time.
func (w *web) try(ctx context.Context, names []string) error {
	found := make([]checkpoint.File, len(names))
	errs := make([]error, len(names))
	var group errgroup.Group
	group.SetLimit(16)
	for i, n := range names {
		group.Go(func() error {
			f, err := w.c.openFile(ctx, w.file(n), n, 0)
			switch {
			case err != nil:
				errs[i] = err
			default:
				found[i] = checkpoint.HeldFile(n, f.size)
			}
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	for i, f := range found {
		if f.Name() != "" && !w.has(f.Name()) {
			w.list.Files = append(w.list.Files, f)
		}
		if err := errs[i]; err != nil && !absent(err) {
			return err
		}
	}
	if len(w.list.Files) > 0 && (w.only == "" || w.has(w.only)) {
		return nil
	}
	return notHere(errs[0])
}

// absent reports whether an error means that a name is not there: servers that list
// nothing also answer "forbidden" and pages.
func absent(err error) bool {
	s, ok := errors.AsType[*statusError](err)
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errPage) || ok && s.code < 500 && s.code != 429
}

// shards adds the shards that the index names.
func (w *web) shards(ctx context.Context) error {
	text, err := w.Read(ctx, checkpoint.DefaultIndex, maxIndex)
	if err != nil { // without the shards' names nothing here would be a checkpoint
		return fmt.Errorf("%s: %w", checkpoint.DefaultIndex, err)
	}
	w.index[checkpoint.DefaultIndex] = text
	for _, s := range checkpoint.ParseIndex(checkpoint.DefaultIndex, text).Shards() {
		if checkpoint.PlainName(s) && !w.has(s) {
			w.list.Files = append(w.list.Files, checkpoint.HeldFile(s, -1))
		}
	}
	return nil
}

const maxIndex = 64 << 20

// pieces returns the names of all pieces of a split GGUF.
func pieces(name string) []string {
	var out []string
	for _, n := range checkpoint.SplitPieces(name) {
		if n != name {
			out = append(out, n)
		}
	}
	return out
}

func (w *web) file(name string) *url.URL { return w.folder.JoinPath(name) }

func (w *web) Place() checkpoint.Place {
	p := checkpoint.Place{Kind: checkpoint.Folder, Name: path.Base(strings.TrimSuffix(w.folder.Path, "/"))}
	if !checkpoint.PlainName(p.Name) {
		p.Name = "checkpoint"
	}
	if w.only != "" {
		p.Kind, _ = checkpoint.KindOfFile(w.only)
		p.Name = w.only
	}
	return p
}

func (w *web) Near() bool { return false }

func (w *web) List(context.Context) (checkpoint.Listing, error) { return w.list, nil }

func (w *web) Read(ctx context.Context, name string, limit int64) ([]byte, error) {
	if text, ok := w.index[name]; ok {
		return text, nil
	}
	return w.c.readCached(ctx, "", w.file(name), name, limit)
}

func (w *web) Open(ctx context.Context, name string, ahead int64) (checkpoint.File, checkpoint.ReaderAtCloser, error) {
	return w.c.openCached(ctx, "", w.file(name), name, ahead)
}
