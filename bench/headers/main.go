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
)

const tensors, shards = 100_000, 163

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
		return write(*dir)
	case *far > 0:
		return overHTTP(*dir, *far, *rounds)
	}
	return read(*dir, *rounds)
}

// write makes a sparse FP8 checkpoint: headers are real, weights are holes.
func write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	type shard struct {
		header strings.Builder
		end    int64
	}
	all := map[string]*shard{}
	var index strings.Builder
	index.WriteString(`{"metadata": {}, "weight_map": {"model.norm.weight": "extra.safetensors"`)
	for i := range tensors {
		name := fmt.Sprintf("model.layers.%d.mlp.experts.%d.%s.", i/1640, i%1640/6, [...]string{"gate_proj", "up_proj", "down_proj"}[i%1640/2%3])
		file := fmt.Sprintf("model-%05d-of-%06d.safetensors", i/614+1, shards)
		s := all[file]
		if s == nil {
			s = &shard{}
			s.header.WriteString(`{"__metadata__":{"format":"pt"}`)
			all[file] = s
		}
		dtype, shape, size := "F8_E4M3", "[256,256]", int64(1<<16)
		if name += "weight"; i%2 == 1 {
			name, dtype, shape, size = name+"_scale_inv", "F32", "[2,2]", 16
		}
		fmt.Fprintf(&index, ",\n    %q: %q", name, file)
		fmt.Fprintf(&s.header, `,%q:{"dtype":%q,"shape":%s,"data_offsets":[%d,%d]}`, name, dtype, shape, s.end, s.end+size)
		s.end += size
	}
	index.WriteString("}}")
	for file, s := range all {
		s.header.WriteByte('}')
		head := binary.LittleEndian.AppendUint64(nil, uint64(s.header.Len()))
		path := filepath.Join(dir, file)
		if err := os.WriteFile(path, append(head, s.header.String()...), 0o644); err != nil {
			return err
		}
		if err := os.Truncate(path, int64(8+s.header.Len())+s.end); err != nil {
			return err
		}
	}
	config := `{"model_type": "deepseek_v3", "num_hidden_layers": 61, "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}`
	if err := os.WriteFile(filepath.Join(dir, checkpoint.ConfigFile), []byte(config), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, checkpoint.DefaultIndex), []byte(index.String()), 0o644)
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
