// Command bareloop reads the same streams as bench/client with nothing but the standard
// library: it looks for the line breaks, counts the data lines and throws them away. It
// is the floor that the measuring client is compared with.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	url := flag.String("url", "http://127.0.0.1:8199", "endpoint")
	streams := flag.Int("streams", 64, "streams at once")
	requests := flag.Int("requests", 128, "requests in all")
	tokens := flag.Int("tokens", 100, "tokens asked of each")
	flag.Parse()
	body := fmt.Sprintf(`{"model":"truth","messages":[{"role":"user","content":"go on"}],"max_tokens":%d,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`, *tokens)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: *streams, DisableCompression: true}}
	before, start := cpu(), time.Now()
	var (
		wg     sync.WaitGroup
		events atomic.Int64
		failed atomic.Int64
	)
	next := make(chan struct{})
	for range *streams {
		wg.Go(func() {
			for range next {
				n, err := read(client, *url+"/v1/chat/completions", body)
				events.Add(n)
				if err != nil {
					failed.Add(1)
				}
			}
		})
	}
	for range *requests {
		next <- struct{}{}
	}
	close(next)
	wg.Wait()
	used := cpu() - before
	// A bare loop cannot tell a token from a role chunk: what was asked for is taken.
	counted := int64(*requests) * int64(*tokens)
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"program": "bare loop", "streams": *streams, "requests": *requests, "tokens": counted, "failed": failed.Load(), "events": events.Load(),
		"cpu_s": used.Seconds(), "wall_s": time.Since(start).Seconds(), "cpu_s_per_100k_tokens": used.Seconds() / float64(max(1, counted)) * 1e5,
	})
}

func read(client *http.Client, url, body string) (events int64, err error) {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	in := bufio.NewReaderSize(resp.Body, 16<<10)
	for {
		line, err := in.ReadSlice('\n')
		if bytes.HasPrefix(line, []byte("data:")) {
			events++
		}
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return events, err
		}
	}
}

func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
