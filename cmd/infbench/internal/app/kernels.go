package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

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

// maxReport bounds a report that inventories are read from.
const maxReport = 256 << 20

// inventories reads what is at a path: compiled code, or a report of stage 1 about some.
func inventories(ctx context.Context, path, platform string) ([]kernels.Inventory, error) {
	if list, err := reported(path); list != nil || err != nil {
		return list, err
	}
	return stock(ctx, config.Hardware{Kernels: []string{path}, Platform: platform})
}

// reported reads the inventories of a report; nil where the file is none.
func reported(path string) ([]kernels.Inventory, error) {
	if !strings.HasSuffix(path, ".json") {
		return nil, nil
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, usagef("%.120q is no regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, usagef("%.120q cannot be read", path)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxReport+1))
	if err != nil || len(b) > maxReport {
		return nil, usagef("%.120q is larger than any report, or cannot be read", path)
	}
	var report struct {
		Kernels struct {
			Inventories []kernels.Inventory `json:"inventories"`
		} `json:"kernels"`
	}
	if err := json.Unmarshal(b, &report); err != nil || len(report.Kernels.Inventories) == 0 {
		return nil, usagef("%.120q is no report with kernels; infbench stage1 --kernels PATH --json writes one", path)
	}
	return report.Kernels.Inventories, nil
}

// commonDevices are what kernels are shown against where no device is named.
var commonDevices = []string{"sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120", "sm_121", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"}

// kernelMatrix shows kernels against devices.
func kernelMatrix(c console, ctx *cli.Context) error {
	if ctx.NArg() == 0 {
		return usagef("no image; give archives, folders, wheels, or reports of stage 1")
	}
	var g render.KernelGrid
	names := ctx.StringSlice("device")
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
				return fmt.Errorf("stopped while %.120q was read: %w", path, err)
			}
			return err
		}
		g.Inventories = append(g.Inventories, list...)
	}
	switch {
	case ctx.Bool("json"):
		return g.JSON(c.out)
	case ctx.Bool("markdown"):
		return g.Markdown(c.out)
	}
	return g.Text(c.out)
}
