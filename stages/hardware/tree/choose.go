package tree

import (
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"infbench/gates"
)

// candidate is an image of an archive or layout.
type candidate struct {
	platform v1.Platform
	digest   v1.Hash
	tags     []string
	group    int // images of one group are one for several platforms
	open     func() (*image, error)
}

// Annotations that name an image, and the one that marks what is none.
const (
	fullName    = "io.containerd.image.name"
	shortName   = "org.opencontainers.image.ref.name"
	attestation = "vnd.docker.reference.type"
)

// ociCandidates returns the images of an OCI layout, those of indexes in it too.
func ociCandidates(s store) ([]candidate, error) {
	top, err := parseJSON[v1.IndexManifest](s, indexFile)
	if err != nil {
		return nil, err
	}
	w := ociWalk{s: s}
	for i, d := range top.Manifests {
		if err := w.add(d, i, nil, 0); err != nil {
			return nil, err
		}
	}
	if len(w.found) == 0 && w.passed != nil {
		return nil, w.passed
	}
	return w.found, nil
}

type ociWalk struct {
	s      store
	found  []candidate
	seen   int
	passed error // why something was passed over
}

func (w *ociWalk) add(d v1.Descriptor, group int, tags []string, depth int) error {
	if w.seen++; w.seen > maxImages || depth > maxIndexes {
		return fmt.Errorf("more than %d images, or indexes inside indexes: save one image alone", maxImages)
	}
	if name := d.Annotations[fullName]; name != "" {
		tags = append(slices.Clip(tags), name)
	} else if name := d.Annotations[shortName]; name != "" {
		tags = append(slices.Clip(tags), name)
	}
	switch {
	case d.Annotations[attestation] != "":
	case d.MediaType.IsIndex():
		raw, err := verified(w.s, d.Digest, "index")
		if err != nil {
			return err
		}
		index, err := v1.ParseIndexManifest(strings.NewReader(string(raw)))
		if err != nil {
			return fmt.Errorf("its index %s is not readable (%s): copy or save the image again", d.Digest, printable(err.Error()))
		}
		for _, d := range index.Manifests {
			if err := w.add(d, group, tags, depth+1); err != nil {
				return err
			}
		}
	case d.MediaType.IsImage(), d.MediaType == "":
		return w.image(d, group, tags)
	}
	return nil
}

// image adds an image. One that is listed without its platform says it itself.
func (w *ociWalk) image(d v1.Descriptor, group int, tags []string) error {
	for i, c := range w.found {
		if c.digest == d.Digest {
			w.found[i].tags = append(c.tags, tags...)
			return nil
		}
	}
	open := func() (*image, error) { return openOCI(w.s, d.Digest) }
	if d.Platform == nil {
		img, err := open()
		if errors.Is(err, errNoImage) {
			w.passed = err
			return nil
		}
		if err != nil {
			return err
		}
		d.Platform = img.file.Platform()
	}
	if d.Platform == nil {
		d.Platform = &v1.Platform{}
	}
	if d.Platform.OS == "unknown" {
		return nil // an attestation
	}
	w.found = append(w.found, candidate{*d.Platform, d.Digest, slices.Clone(tags), group, open})
	return nil
}

// dockerCandidates returns the images of a Docker archive.
func dockerCandidates(s store) ([]candidate, error) {
	all, err := parseJSON[tarball.Manifest](s, manifestFile)
	if err != nil {
		return nil, err
	}
	if len(all) > maxImages {
		return nil, fmt.Errorf("%d images, at most %d are read: save one image alone", len(all), maxImages)
	}
	var found []candidate
	for i, d := range all {
		img, err := openDocker(s, d)
		if err != nil {
			return nil, err
		}
		c := candidate{digest: img.config, tags: d.RepoTags, group: i, open: func() (*image, error) { return img, nil }}
		if p := img.file.Platform(); p != nil {
			c.platform = *p
		}
		found = append(found, c)
	}
	return found, nil
}

// platformForm is "os/arch" or "os/arch/variant".
var platformForm = regexp.MustCompile(`^[a-z0-9._-]+/[a-z0-9._-]+(/[a-z0-9._-]+)?$`)

// CheckPlatform says what is wrong with a platform that no image could be for.
func CheckPlatform(s string) error {
	if !platformForm.MatchString(s) {
		return fmt.Errorf("%s is no platform: want os/arch or os/arch/variant, such as linux/arm64", gates.Quote(s, 60))
	}
	return nil
}

// parsePlatform returns the platform that is asked for: when none is named, Linux on this
// machine's architecture.
func parsePlatform(s string) (v1.Platform, error) {
	if s == "" {
		return v1.Platform{OS: "linux", Architecture: runtime.GOARCH}, nil
	}
	if err := CheckPlatform(s); err != nil {
		return v1.Platform{}, err
	}
	p, err := v1.ParsePlatform(s)
	if err != nil {
		return v1.Platform{}, fmt.Errorf("the platform %s: %s", printable(s), printable(err.Error()))
	}
	return *p, nil
}

// choose picks the image for the platform, and says so where there was a choice.
func choose(all []candidate, want v1.Platform, asked bool) (c candidate, note string, err error) {
	if len(all) == 0 {
		return c, "", errors.New("it holds no container image: name one that does")
	}
	var fit []candidate
	for _, c := range all {
		if c.platform.Satisfies(want) || defaultVariant(c.platform).Satisfies(defaultVariant(want)) {
			fit = append(fit, c)
		}
	}
	switch {
	case len(fit) == 0 && len(all) == 1 && !asked:
		return all[0], fmt.Sprintf("the only image there is for %s, this machine is %s", platformName(all[0].platform), want), nil
	case len(fit) == 0:
		return c, "", fmt.Errorf("no image for %s, only for %s: ask for one of them", printable(want.String()), list(all, platformOf))
	}
	for _, other := range fit[1:] {
		if other.group != fit[0].group {
			return c, "", fmt.Errorf("%d images (%s): save one of them alone", len(fit), list(fit, tagsOf))
		}
	}
	if len(all) > 1 {
		note = fmt.Sprintf("of images for %s, the one for %s", list(all, platformOf), platformName(fit[0].platform))
	}
	return fit[0], note, nil
}

// defaultVariant names the variant that is meant when none is.
func defaultVariant(p v1.Platform) v1.Platform {
	if p.Architecture == "arm64" && p.Variant == "" {
		p.Variant = "v8"
	}
	return p
}

func platformName(p v1.Platform) string {
	if s := p.String(); s != "" {
		return printable(s)
	}
	return "no platform that it names"
}

func platformOf(c candidate) string { return platformName(c.platform) }

func tagsOf(c candidate) string {
	if len(c.tags) == 0 {
		return c.digest.String()
	}
	return printable(c.tags[0])
}

// list names the first few, each once.
func list(all []candidate, name func(candidate) string) string {
	const few = 8
	var names []string
	for _, c := range all {
		if n := name(c); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	if n := len(names); n > few {
		names = append(names[:few], fmt.Sprintf("%d more", n-few))
	}
	return strings.Join(names, ", ")
}
