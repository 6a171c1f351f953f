package tree

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Names in the two forms of an image.
const (
	layoutFile   = "oci-layout"
	indexFile    = "index.json"
	manifestFile = "manifest.json"
)

// store is where the parts of an image are kept.
type store interface {
	// document returns a short file whole; fs.ErrNotExist says that there is none.
	document(name string) ([]byte, error)
	// layer reads a layer, of which only the first call for a name need be answered.
	layer(v *visitor, name string) (*layer, error)
}

func blobName(h v1.Hash) string { return path.Join("blobs", h.Algorithm, h.Hex) }

// image is one that was chosen, ready to be read.
type image struct {
	manifest v1.Hash // none in a Docker archive
	config   v1.Hash
	file     *v1.ConfigFile
	layers   []ref
}

// errNoImage says that something else is kept where images are, such as a signature.
var errNoImage = errors.New("not a container image")

// ref names a layer.
type ref struct {
	name string
	blob v1.Hash // none in a Docker archive
	diff v1.Hash
}

// image reads the image that was chosen among those of a store.
func (v *visitor) image(s store, platform string) error {
	want, err := parsePlatform(platform)
	if err != nil {
		return err
	}
	var all []candidate
	if v.report.Kind == DockerArchive {
		all, err = dockerCandidates(s)
	} else {
		all, err = ociCandidates(s)
	}
	if err != nil {
		return err
	}
	c, note, err := choose(all, want, platform != "")
	if err != nil {
		return err
	}
	if note != "" {
		v.report.Notes = append(v.report.Notes, note)
	}
	img, err := c.open()
	if err != nil {
		return err
	}
	if len(img.layers) > v.bounds.layers {
		return fmt.Errorf("an image of %d layers, at most %d are read: do not use it", len(img.layers), v.bounds.layers)
	}
	v.describe(img, c.tags)
	return v.layers(s, img.layers)
}

// describe writes the image into the report.
func (v *visitor) describe(img *image, tags []string) {
	r := &v.report
	r.Layers, r.Created = len(img.layers), img.file.Created.Time
	r.Config = img.config.String()
	if p := img.file.Platform(); p != nil {
		r.Platform = printable(p.String())
	}
	if img.manifest != (v1.Hash{}) {
		r.Manifest = img.manifest.String()
	}
	const few = 20
	for _, t := range tags[:min(few, len(tags))] {
		r.Tags = append(r.Tags, printable(t))
	}
}

// layers reads layer by layer, each once: one that stands in an image twice is laid twice.
func (v *visitor) layers(s store, refs []ref) error {
	again := map[string]int{}
	for _, r := range refs {
		again[r.name]++
	}
	read := map[string]*layer{}
	for i, r := range refs {
		l := read[r.name]
		if l == nil {
			var err error
			if l, err = s.layer(v, r.name); err == nil {
				err = l.check(r)
			}
			if err != nil {
				return fmt.Errorf("layer %d of %d (%s): %w", i+1, len(refs), r.short(), v.explain(err))
			}
			read[r.name] = l
		}
		if again[r.name]--; again[r.name] == 0 {
			delete(read, r.name)
		}
		dangling, links := v.seen.lay(l.entries, v.bounds.kept-v.kept)
		if dangling > 0 {
			v.report.Notes = append(v.report.Notes, fmt.Sprintf("layer %d of %d: %d × a hard link to a file that no layer has: not read", i+1, len(refs), dangling))
		}
		v.kept += links
		if err := v.spent(); err != nil {
			return err
		}
	}
	return nil
}

// explain says what to do about a layer that could not be read.
func (v *visitor) explain(err error) error {
	_, bound := errors.AsType[tooMuchError](err)
	switch {
	case bound, v.ctx.Err() != nil:
		return err
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("it is missing: save the image again, whole")
	case errors.Is(err, context.Canceled):
		return err
	}
	return fmt.Errorf("not readable to its end (%w): copy or save the image again", WithoutPath(err))
}

// check compares a layer with what the image says of it.
func (l *layer) check(r ref) error {
	switch {
	case r.blob != (v1.Hash{}) && r.blob != l.blob:
		return fmt.Errorf("its bytes have the digest %s", l.blob)
	case r.diff != (v1.Hash{}) && r.diff != l.diff:
		return fmt.Errorf("the archive in it has the digest %s, want %s", l.diff, r.diff)
	}
	return nil
}

func (r ref) short() string {
	h := r.blob
	if h == (v1.Hash{}) {
		h = r.diff
	}
	return h.Algorithm + ":" + h.Hex[:min(12, len(h.Hex))]
}

// verified returns a document that has the digest.
func verified(s store, h v1.Hash, what string) ([]byte, error) {
	b, err := s.document(blobName(h))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("its %s %s is missing: save the image again, whole", what, h)
	case err != nil:
		return nil, fmt.Errorf("its %s %s: %w", what, h, WithoutPath(err))
	}
	hasher, err := v1.Hasher(h.Algorithm)
	if err != nil {
		return nil, fmt.Errorf("its %s: %w", what, err)
	}
	_, _ = hasher.Write(b) // never fails
	if got := fmt.Sprintf("%x", hasher.Sum(nil)); got != h.Hex {
		return nil, fmt.Errorf("its %s %s has the digest %s: copy or save the image again", what, h, got)
	}
	return b, nil
}

// openOCI reads the manifest and configuration of an image.
func openOCI(s store, digest v1.Hash) (*image, error) {
	m, err := ociManifest(s, digest)
	if err != nil {
		return nil, err
	}
	raw, err := verified(s, m.Config.Digest, "configuration")
	if err != nil {
		return nil, err
	}
	img := &image{manifest: digest, config: m.Config.Digest}
	if img.file, err = parseConfig(raw); err != nil {
		return nil, err
	}
	for i, l := range m.Layers {
		if !l.MediaType.IsLayer() {
			return nil, fmt.Errorf("%w: layer %d of %d is of the type %s: name one that is", errNoImage, i+1, len(m.Layers), printable(string(l.MediaType)))
		}
		img.layers = append(img.layers, ref{name: blobName(l.Digest), blob: l.Digest})
	}
	return img, img.diffs()
}

func ociManifest(s store, digest v1.Hash) (*v1.Manifest, error) {
	raw, err := verified(s, digest, "manifest")
	if err != nil {
		return nil, err
	}
	m, err := v1.ParseManifest(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("its manifest %s is not readable (%s): copy or save the image again", digest, printable(err.Error()))
	}
	return m, nil
}

func parseConfig(raw []byte) (*v1.ConfigFile, error) {
	c, err := v1.ParseConfigFile(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("its configuration is not readable (%s): copy or save the image again", printable(err.Error()))
	}
	return c, nil
}

// openDocker reads the configuration of an image.
func openDocker(s store, d tarball.Descriptor) (*image, error) {
	raw, err := s.document(path.Clean(d.Config))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("its configuration is missing: save the image again, whole")
	case err != nil:
		return nil, fmt.Errorf("its configuration: %w", WithoutPath(err))
	}
	img := &image{config: v1.Hash{Algorithm: "sha256", Hex: fmt.Sprintf("%x", sha256.Sum256(raw))}}
	if img.file, err = parseConfig(raw); err != nil {
		return nil, err
	}
	named := strings.TrimPrefix(strings.TrimSuffix(path.Base(d.Config), ".json"), "sha256:")
	if h, err := v1.NewHash("sha256:" + named); err == nil && h != img.config {
		return nil, fmt.Errorf("its configuration %s has the digest %s: copy or save the image again", h, img.config)
	}
	for _, name := range d.Layers {
		img.layers = append(img.layers, ref{name: path.Clean(name)})
	}
	return img, img.diffs()
}

// diffs adds what the configuration says of the layers.
func (img *image) diffs() error {
	ids := img.file.RootFS.DiffIDs
	if len(ids) != len(img.layers) {
		return fmt.Errorf("%w: %d layers, and %d in its configuration: name one that is", errNoImage, len(img.layers), len(ids))
	}
	for i, id := range ids {
		img.layers[i].diff = id
	}
	return nil
}

// parseJSON reads a document of a store.
func parseJSON[T any](s store, name string) (doc T, err error) {
	raw, err := s.document(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return doc, fmt.Errorf("without %s: save the image again, whole", name)
	case err != nil:
		return doc, fmt.Errorf("%s: %w", name, WithoutPath(err))
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return doc, fmt.Errorf("%s is not readable (%s): copy or save the image again", name, printable(err.Error()))
	}
	return doc, nil
}
