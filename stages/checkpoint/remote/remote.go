// Package remote opens checkpoints that lie behind HTTP before any weight of them has
// been downloaded: it reads the listing, the small files and the head of each shard
// by range requests, and nothing else.
//
// Each kind of place is one file that adds itself by addPlace: a hub, a plain folder
// or file on a web server. What is common to them (ranges, retries, redirects,
// tokens) is in client.go, and the cache of what was read in cache.go.
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"infbench/stages/checkpoint"
)

// Options say how to reach a place. The zero value works.
type Options struct {
	// Revision is the branch, tag or commit wanted of a place that has any; empty
	// means what the URL says, else "main".
	Revision string
	// Token returns the token for a host, "" for none. It is sent to that host
	// alone, never to where it redirects.
	Token func(u *url.URL) string
	// CacheDir is where headers that were read are kept, by revision; empty keeps none.
	CacheDir string
	// Transport replaces the usual one.
	Transport http.RoundTripper
	// FirstPause is the pause before the first retry; 500 ms when zero.
	FirstPause time.Duration
}

// IsURL reports whether a checkpoint is named by a URL.
func IsURL(name string) bool {
	return strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://")
}

// A place is one kind of address. open returns no source and no error when the
// address is none of its kind.
type place struct {
	name string
	rank int // lower ones are asked first
	open func(ctx context.Context, c *client, u *url.URL, o Options) (checkpoint.Source, error)
}

var places []place

func addPlace(p place) bool {
	places = append(places, p)
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.rank, b.rank) })
	return true
}

// Open reads the metadata of the checkpoint at a URL. The error says in one line what
// is wrong and what to do.
func Open(ctx context.Context, address string, o Options) (checkpoint.Inventory, error) {
	u, err := parse(address)
	if err != nil {
		return checkpoint.Inventory{}, err
	}
	inv, err := open(ctx, u, o)
	if err != nil {
		return checkpoint.Inventory{}, fmt.Errorf("open checkpoint %s: %w", u, err)
	}
	return inv, nil
}

func parse(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, errors.New("the checkpoint's URL cannot be read: give https://HOST/ORG/NAME, or the URL of a folder or file")
	case u.User != nil:
		return nil, errors.New("the checkpoint's URL holds a user or password: put a token into the environment instead (INFBENCH_HUB_TOKEN)")
	case u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the checkpoint's URL has no host or another scheme than http and https: %.60q", address)
	}
	u.Fragment, u.RawQuery = "", ""
	return u, nil
}

func open(ctx context.Context, u *url.URL, o Options) (checkpoint.Inventory, error) {
	c := newClient(u, o)
	var refusals []string
	var denied *statusError
	for _, p := range places {
		src, err := p.open(ctx, c, u, o)
		switch {
		case ctx.Err() != nil:
			return checkpoint.Inventory{}, context.Cause(ctx)
		case err != nil && errors.Is(err, errNotHere):
			refusals = append(refusals, fmt.Sprintf("as a %s: %v", p.name, err))
			if s, ok := errors.AsType[*statusError](err); ok && (s.code == http.StatusUnauthorized || s.code == http.StatusForbidden) {
				denied = s
			}
		case err != nil:
			return checkpoint.Inventory{}, err
		case src != nil:
			return checkpoint.From(ctx, src)
		}
	}
	if denied != nil {
		return checkpoint.Inventory{}, denied
	}
	return checkpoint.Inventory{}, fmt.Errorf("no checkpoint there (%s): give https://HOST/ORG/NAME, or the URL of a folder or file", strings.Join(refusals, "; "))
}
