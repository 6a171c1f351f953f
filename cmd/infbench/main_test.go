package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The test binary runs itself as the command, so that exit codes are real.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"infbench": func() { os.Exit(run()) }})
}
