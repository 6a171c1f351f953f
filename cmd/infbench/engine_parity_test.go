//go:build engine

package main

import (
	"strings"
	"testing"

	"infbench/internal/realengine"
)

// One file in two servers: not a digit of any log probability differs.
func TestRealEngineParityWithItself(t *testing.T) {
	a, b := realengine.Start(t, realengine.Options{Slots: 1, Context: 2048}), realengine.Start(t, realengine.Options{Slots: 1, Context: 2048})
	exit, stdout, stderr := infbench(t, nil, nil, "parity", "--target", a.URL, "--reference", b.URL, "--precision", "fp32", "--quick")
	if exit != 0 || !strings.Contains(stdout, "mean 0 nats") || !strings.Contains(stdout, "largest 0, over") {
		t.Errorf("exit %d\n%s\n%s", exit, stdout, stderr)
	}
	t.Log(stdout)
}
