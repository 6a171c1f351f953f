package main

import (
	"archive/tar"
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/rogpeppe/go-internal/testscript"

	"infbench/stages/hardware/fatbin/fatbintest"
)

// library FILE TARGET… makes a library with CUDA code.
func library(ts *testscript.TestScript, _ bool, args []string) {
	b, err := fatbintest.Library(strings.Join(args[1:], "\n") + "\n")
	ts.Check(err)
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	ts.Check(os.WriteFile(path, b, 0o644))
}

// image FILE FOLDER… makes an image archive, each folder a layer.
func image(ts *testscript.TestScript, _ bool, args []string) {
	img := empty.Image
	for _, folder := range args[1:] {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		ts.Check(w.AddFS(os.DirFS(ts.MkAbs(folder)).(fs.ReadDirFS)))
		ts.Check(w.Close())
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
		ts.Check(err)
		img, err = mutate.AppendLayers(img, layer)
		ts.Check(err)
	}
	c, err := img.ConfigFile()
	ts.Check(err)
	c = c.DeepCopy()
	c.OS, c.Architecture = "linux", "amd64"
	img, err = mutate.ConfigFile(img, c)
	ts.Check(err)
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(tarball.Write(nil, img, f))
	ts.Check(f.Close())
}
