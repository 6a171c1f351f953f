// Command streams serves chat streams on an absolute schedule: token k of a request
// leaves at arrival + TTFT + k × ITL, so that a late token does not move the next ones.
// It is what bench/client and bench/bareloop read; it has no model.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"
)

var words = [...]string{" harbour", " lantern", " quiet", " road", " over", " the", " morning", " carried", " basket", " river", " and", " told", " nobody", " green", " bench", " near"}

func main() {
	addr := flag.String("addr", "127.0.0.1:8199", "listen address")
	ttft := flag.Duration("ttft", 200*time.Millisecond, "time to the first token")
	itl := flag.Duration("itl", 20*time.Millisecond, "time between tokens")
	flag.Parse()
	http.HandleFunc("/v1/models", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"object":"list","data":[{"id":"truth","object":"model","owned_by":"nobody"}]}`)
	})
	http.HandleFunc("/v1/chat/completions", func(w http.ResponseWriter, r *http.Request) { stream(r.Context(), w, r, *ttft, *itl) })
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal((&http.Server{ReadHeaderTimeout: time.Minute}).Serve(l))
}

func stream(ctx context.Context, w http.ResponseWriter, r *http.Request, ttft, itl time.Duration) {
	due := time.Now().Add(ttft)
	var q struct {
		MaxTokens int `json:"max_tokens"`
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || q.MaxTokens < 1 {
		http.Error(w, `{"error":{"message":"bad request"}}`, http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	flush := w.(http.Flusher).Flush
	const head = `data: {"id":"chatcmpl-0123456789abcdef0123456789abcdef","object":"chat.completion.chunk","created":1764000000,"model":"truth","choices":`
	fmt.Fprintf(w, "%s[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n", head)
	flush()
	t := time.NewTimer(0)
	defer t.Stop()
	for k := range q.MaxTokens {
		if wait := time.Until(due); wait > 0 {
			t.Reset(wait)
			select {
			case <-t.C:
			case <-ctx.Done():
				return
			}
		}
		fmt.Fprintf(w, "%s[{\"index\":0,\"delta\":{\"content\":%q},\"logprobs\":null,\"finish_reason\":null}]}\n\n", head, words[(k*7+k/16)%len(words)])
		flush()
		due = due.Add(itl)
	}
	fmt.Fprintf(w, "%s[{\"index\":0,\"delta\":{},\"logprobs\":null,\"finish_reason\":\"length\"}]}\n\n", head)
	fmt.Fprintf(w, "%s[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":%d,\"total_tokens\":%d}}\n\ndata: [DONE]\n\n", head, q.MaxTokens, q.MaxTokens+9)
}
