package endpoint

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync"
	"time"
)

// Warmth is what opening connections ahead of time came to.
type Warmth struct {
	// Opened is the number of connections that had to be opened, Ready how many stood
	// open at once.
	Opened, Ready int
	// Dialled holds how long each took to open, shortest first, the TLS handshake included.
	Dialled []time.Duration
}

// Warm opens n connections, so that no handshake falls into the time to a first token, and
// leaves them idle: this client keeps an idle connection for some seconds only. Each asks
// for the list of models, and none does before all are connected, since the second request
// would take the connection of the first. An error means that fewer are ready.
func (e Endpoint) Warm(ctx context.Context, n int) (Warmth, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, e.client.limits.Connect, tooSlow("a connection for each stream", e.client.limits.Connect))
	defer cancel()
	var (
		warmth  Warmth
		mu      sync.Mutex
		failure error
		waiting sync.WaitGroup
		asked   sync.WaitGroup
	)
	if _, real := e.client.http.(*http.Transport); !real {
		return warmth, nil // no network, and nothing would ever be connected
	}
	all := make(chan struct{})
	waiting.Add(n)
	for range n {
		asked.Go(func() {
			began := time.Now()
			connected := sync.OnceFunc(waiting.Done)
			defer connected() // where there was no connection
			ctx := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
				mu.Lock()
				if !i.Reused {
					warmth.Opened++
					warmth.Dialled = append(warmth.Dialled, time.Since(began))
				}
				mu.Unlock()
				connected()
				select {
				case <-all:
				case <-ctx.Done():
				}
			}})
			_, _, err := e.client.get(ctx, modelsPath)
			mu.Lock()
			defer mu.Unlock()
			if fateless(err) {
				warmth.Ready++
			} else if failure == nil {
				failure = err
			}
		})
	}
	waiting.Wait()
	close(all)
	asked.Wait()
	slices.Sort(warmth.Dialled)
	return warmth, failure
}

// fateless reports whether a whole answer came, whatever it says: the connection then
// stands open.
func fateless(err error) bool {
	if err == nil {
		return true
	}
	f := asFailure(err)
	return f.Status != 0 && f.Kind != TooLarge && f.Kind != BrokenOff
}
