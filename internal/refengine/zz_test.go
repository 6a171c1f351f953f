package refengine_test

import (
	"context"
	"fmt"
	"testing"

	"infbench/gates"
	"infbench/internal/refengine"
	"infbench/stages/endpoint"
	"infbench/stages/correctness"
	"infbench/stages/smoke"
)

func TestZZ(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e, _ := refengine.New(refengine.Config{})
	s, err := refengine.Serve(ctx, "", e)
	if err != nil { t.Fatal(err) }
	tg, err := endpoint.ParseTarget(s.URL()+"/v1", endpoint.TargetOptions{})
	if err != nil { t.Fatal(err) }
	ep, err := endpoint.Open(ctx, tg, endpoint.Options{})
	if err != nil { t.Fatal(err) }
	for _, c := range append(smoke.Checks(), correctness.Checks()...) {
		v := gates.Run(ctx, c, ep)
		fmt.Printf("VV %+v\n", v)
	}
}
