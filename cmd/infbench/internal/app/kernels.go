package app

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"infbench/cmd/infbench/internal/config"
	"infbench/cmd/infbench/internal/render"
	"infbench/stages/hardware/arch"
	"infbench/stages/hardware/kernels"
	"infbench/stages/hardware/tree"
)

// stock takes stock of the compiled code that was named.
func stock(ctx context.Context, h config.Hardware) ([]kernels.Inventory, error) {
	var out []kernels.Inventory
	for _, path := range h.Kernels {
		inv, err := kernels.Read(ctx, path, tree.Options{Platform: h.Platform})
		if err != nil {
			return nil, err
		}
		out = append(out, inv)
	}
	return out, nil
}

// Bounds on what a matrix is made of: an inventory of an image has 200 kB.
const maxReport, maxInventories = 64 << 20, 1_000

// inventories reads what is at a path: compiled code, or a report of stage 1 about some.
func inventories(ctx context.Context, path, platform string) ([]kernels.Inventory, error) {
	if list, err := reported(path); list != nil || err != nil {
		return list, err
	}
	return stock(ctx, config.Hardware{Kernels: []string{path}, Platform: platform})
}

// reported reads the inventories of a report; nil where the file is none, which its first
// byte tells: no archive, wheel or library begins with a brace.
func reported(path string) ([]kernels.Inventory, error) {
	// Asked before it is opened: opening a pipe would wait for its writer.
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil // what cannot be read as code says so itself
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	r := bufio.NewReader(f)
	if first, _ := r.Peek(1); string(first) != "{" {
		return nil, nil
	}
	if info.Size() > maxReport {
		return nil, usagef("%.120q is larger than %d MiB, which no report is", path, maxReport>>20)
	}
	b := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	if _, err := b.ReadFrom(io.LimitReader(r, info.Size())); err != nil { // what is written meanwhile is left out
		return nil, usagef("%.120q cannot be read: %v", path, tree.WithoutPath(err))
	}
	list, err := kernels.ReadReport(b.Bytes())
	if err != nil {
		return nil, usagef("%.120q is no report with kernels: %.300s; infbench stage1 --kernels PATH --json writes one", path, err)
	}
	return list, nil
}

// commonDevices are what kernels are shown against where no device is named.
var commonDevices = []string{"sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120", "sm_121", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"}

// kernelMatrix shows kernels against devices.
func kernelMatrix(c console, ctx *cli.Context) error {
	if ctx.NArg() == 0 {
		return usagef("no image; give archives, folders, wheels, or reports of stage 1")
	}
	var g render.KernelGrid
	if err := platformOf(ctx); err != nil {
		return err
	}
	names := separated(ctx.StringSlice("device"))
	if len(names) == 0 {
		names = commonDevices
	}
	for _, name := range names {
		d, err := arch.ParseDevice(name)
		if err != nil {
			return usagef("--device %.60q: %v", name, err)
		}
		g.Devices = append(g.Devices, d)
	}
	for _, path := range ctx.Args().Slice() {
		if _, err := os.Stat(path); err != nil {
			return usagef("there is nothing at %.120q", path)
		}
		list, err := inventories(ctx.Context, path, ctx.String("platform"))
		if err != nil {
			if ctx.Context.Err() != nil {
				return stoppedWhile(ctx.Context, fmt.Sprintf("%.120q was read; nothing is shown", path))
			}
			return err
		}
		if g.Inventories = append(g.Inventories, list...); len(g.Inventories) > maxInventories {
			return usagef("more than %d images and reports of some; give fewer", maxInventories)
		}
	}
	switch {
	case ctx.Bool("json"):
		return g.JSON(c.out)
	case ctx.Bool("markdown"):
		return g.Markdown(c.out)
	}
	return g.Text(c.out)
}
