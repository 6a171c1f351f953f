package endpointtest_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"infbench/stages/endpoint"
	"infbench/stages/endpoint/endpointtest"
)

// A day on the network takes no time, and a killed server refuses until another one listens.
func TestNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := endpointtest.NewNetwork(t)
		n.Start(endpointtest.Handler(t, &txtar.Archive{}))
		target, err := endpoint.ParseTarget("http://127.0.0.1:1", endpoint.TargetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ep, err := endpoint.Open(t.Context(), target, endpoint.Options{Seed: 1, Transport: n.Transport()})
		if err != nil {
			t.Fatal(err)
		}
		ask := func() error {
			a, err := ep.Ask(t.Context(), endpoint.Chat("The secret code is 48213907. What is the secret code?"))
			if err == nil && !strings.Contains(a.Visible(), "48213907") {
				t.Errorf("answered %s", a.Says())
			}
			return err
		}
		if err := ask(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		if what, err := ep.Changed(t.Context()); what != "" || err != nil {
			t.Errorf("after a day: %q, %v", what, err)
		}
		n.Kill()
		var f *endpoint.Failure
		if err := ask(); !errors.As(err, &f) || f.Kind != endpoint.Unreachable {
			t.Errorf("after a kill: %v", err)
		}
		n.Start(endpointtest.Handler(t, &txtar.Archive{}))
		if what, err := ep.Changed(t.Context()); !strings.Contains(what, "server process") || err != nil {
			t.Errorf("another process: %q, %v", what, err)
		}
		if err := ask(); err != nil {
			t.Error(err)
		}
	})
}
