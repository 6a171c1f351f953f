// Command mkdemo writes the demo checkpoint into a folder.
package main

import (
	"fmt"
	"os"

	"infbench/stages/checkpoint/demo"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: mkdemo DIR")
		os.Exit(64)
	}
	if err := demo.Write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}
