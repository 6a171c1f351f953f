package app

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/urfave/cli/v2"

	"infbench/stages/endpoint"
)

func versionCommand(c console) *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "which infbench this is",
		Flags: []cli.Flag{jsonFlag()},
		Action: func(ctx *cli.Context) error {
			if ctx.Bool("json") {
				return json.NewEncoder(c.out).Encode(struct {
					Harness string   `json:"harness"`
					Go      string   `json:"go"`
					Engines []string `json:"engines"`
				}{harness(), runtime.Version(), endpoint.Engines()})
			}
			_, err := fmt.Fprintf(c.out, "%s (%s, %s/%s)\n", harness(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
