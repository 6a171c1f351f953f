// Command headers makes a large sharded checkpoint, reads its headers as stage 0 does,
// and opens it over HTTP from a server that is some way off and counts its bytes. It is
// measured beside headers.py, which reads the same headers with Python's safetensors.
package main

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"infbench/stages/checkpoint"
	"infbench/stages/checkpoint/remote"
	"infbench/stages/checkpoint/remote/hubtest"
	"infbench/stages/checkpoint/sparse"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "headers:", err)
		os.Exit(1)
	}
}

func run() error {
	dir := flag.String("dir", "", "the checkpoint's `FOLDER`")
	make := flag.Bool("make", false, "make it")
	far := flag.Duration("http", 0, "open it over HTTP with this `DELAY` before each answer")
	rounds := flag.Int("rounds", 5, "how often")
	flag.Parse()
	switch {
	case *dir == "":
		return fmt.Errorf("no -dir")
	case *make:
		return sparse.Write(*dir)
	case *far > 0:
		return overHTTP(*dir, *far, *rounds)
	}
	return read(*dir, *rounds)
}

// read reads names, dtypes, shapes and offsets of all tensors, and checks that they
// tile each file.
func read(dir string, rounds int) error {
	files, err := filepath.Glob(filepath.Join(dir, "*"+checkpoint.ShardSuffix))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no shard in %s: %w", dir, err)
	}
	debug.SetGCPercent(400) // as the command does while it reads
	for range rounds {
		start := time.Now()
		found := make([]int, len(files))
		var group errgroup.Group
		group.SetLimit(runtime.GOMAXPROCS(0))
		for i, path := range files {
			group.Go(func() error {
				f, err := os.Open(path)
				if err != nil {
					return err
				}
				defer f.Close()
				info, err := f.Stat()
				if err != nil {
					return err
				}
				h := checkpoint.ReadHeader(path, f, info.Size())
				if found[i] = len(h.Tensors()); !h.Sound() {
					return fmt.Errorf("%s is not sound", path)
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		sum := 0
		for _, n := range found {
			sum += n
		}
		fmt.Printf("infbench %d tensors in %.4f s\n", sum, time.Since(start).Seconds())
	}
	return nil
}

// overHTTP opens the checkpoint from a hub that answers after the delay.
func overHTTP(dir string, delay time.Duration, rounds int) error {
	var headers int64
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return err
	}
	count := 0
	for _, path := range names {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if !strings.HasSuffix(path, checkpoint.ShardSuffix) {
			headers += info.Size()
			continue
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		var n [8]byte
		if _, err := f.ReadAt(n[:], 0); err != nil {
			return err
		}
		headers += 8 + int64(binary.LittleEndian.Uint64(n[:]))
		count++
		_ = f.Close() // it was only read
	}
	var took []time.Duration
	for range rounds {
		hub := hubtest.Start(dir, delay)
		start := time.Now()
		inv, err := remote.Open(context.Background(), hub.Repo(), remote.Options{})
		if err != nil {
			return err
		}
		d := time.Since(start)
		took = append(took, d)
		fmt.Printf("%d headers of %d shards over HTTP, %v away: %.2f s, %d requests, %d bytes for %d of headers and small files (%+.2f %%)\n",
			len(inv.Headers()), count, delay, d.Seconds(), hub.Requests(), hub.Sent(), headers, 100*(float64(hub.Sent())/float64(headers)-1))
		hub.Close()
	}
	slices.Sort(took)
	const atOnce = 16
	fmt.Printf("median %.2f s; three round trips a shard, %d at once, would be %.2f s\n", took[len(took)/2].Seconds(), atOnce, 3*delay.Seconds()*float64(count)/atOnce)
	return nil
}
