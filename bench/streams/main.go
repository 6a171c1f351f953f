// Command streams serves chat streams on an absolute schedule: token k of a request
// leaves at arrival + TTFT + k × ITL, so that a late token does not move the next ones.
// It is what bench/client and bench/bareloop read; it has no model.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"time"

	"infbench/internal/pacer"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8199", "listen address")
	ttft := flag.Duration("ttft", 200*time.Millisecond, "time to the first token")
	itl := flag.Duration("itl", 20*time.Millisecond, "time between tokens")
	flag.Parse()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(pacer.New(pacer.Pace{TTFT: *ttft, ITL: *itl}, 0).Serve(l))
}
