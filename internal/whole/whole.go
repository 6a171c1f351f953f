// Package whole writes files that a person named: all of one or nothing of it.
//
// The one rule: nothing at the path is put out of the way but a regular file. A device, a
// pipe or a terminal is written to, and so is what a link leads to.
package whole

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write writes the file at a path, whole or not at all. What is there and is no regular
// file, or is this process's own stdout or stderr, is written to as it is. A new file is
// for its owner alone; one that is replaced keeps its mode.
func Write(path string, write func(io.Writer) error) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return replace(path, 0o600, write)
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder", path)
	}
	for _, open := range []*os.File{os.Stdout, os.Stderr} {
		// Such as /dev/stdout: behind it may be a file that a shell opened.
		if same, err := open.Stat(); err == nil && os.SameFile(same, info) {
			return write(open)
		}
	}
	if !info.Mode().IsRegular() {
		return through(path, write)
	}
	return replace(path, info.Mode().Perm(), write)
}

// Prove finds out whether [Write] will find the folder and may write, before what is to be
// written is there. It leaves nothing behind.
func Prove(path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a folder", path)
	case err == nil && !info.Mode().IsRegular():
		return nil // a pipe is opened once
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if path, err = behind(path); err != nil {
		return err
	}
	f, err := beside(path)
	if err != nil {
		return err
	}
	_ = f.Close()
	return os.Remove(f.Name())
}

func through(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	err = write(f)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

func replace(path string, mode fs.FileMode, write func(io.Writer) error) error {
	path, err := behind(path)
	if err != nil {
		return err
	}
	f, err := beside(path)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Chmod(mode)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // half a file is none
	}
	return naming(path, err)
}

// beside makes a file in the folder of another one.
func beside(path string) (*os.File, error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".infbench-*")
	return f, naming(path, err)
}

// naming returns the error with the path that is meant: of the name beside it nobody has
// heard.
func naming(path string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return fmt.Errorf("%s: %w", path, at.Err)
	}
	return err
}

// behind follows links to the file that is meant, which need not be there.
func behind(path string) (string, error) {
	const most = 40
	for range most {
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil //nolint:nilerr // no link
		}
		if !filepath.IsAbs(to) {
			folder, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return "", err
			}
			to = filepath.Join(folder, to)
		}
		path = to
	}
	return "", fmt.Errorf("%s: too many links", path)
}
