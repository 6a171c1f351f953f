package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// hostile serves one of the servers that a person may point infbench at by mistake or
// by bad luck, and returns its address.
func hostile(t *testing.T, name string) string {
	t.Helper()
	models := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"m","object":"model","owned_by":"somebody"}]}`)
	}
	chat := func(answer http.HandlerFunc) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/v1/models":
				models(w)
			case "/v1/chat/completions":
				answer(w, r)
			default:
				http.NotFound(w, r)
			}
		})
	}
	stream := func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/event-stream") }
	var h http.Handler
	switch name {
	case "html":
		h = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<!doctype html><title>Welcome to nginx!</title>")
		})
	case "endless":
		h = chat(func(w http.ResponseWriter, r *http.Request) {
			stream(w)
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"la la la \"}}]}\n\n"); err != nil {
					return
				}
			}
		})
	case "long-line":
		h = chat(func(w http.ResponseWriter, r *http.Request) {
			stream(w)
			chunk := strings.Repeat("x", 1<<20)
			_, _ = io.WriteString(w, "data: {\"a\":\"")
			for range 2048 {
				if _, err := io.WriteString(w, chunk); err != nil || r.Context().Err() != nil {
					return
				}
			}
		})
	case "silent": // accepts connections and never answers
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return "http://" + l.Addr().String()
	case "escapes":
		h = chat(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, "{\"error\":{\"message\":\"\\u001b[2J\\u001b]0;owned\\u0007 boom\\u202e\"}}")
		})
	case "echo-key":
		h = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprintf(w, `{"error":{"message":"bad key %s"}}`, r.Header.Get("Authorization"))
		})
	case "tells": // all that it knows of who asks, in answers and in errors
		var asked atomic.Int64
		h = chat(func(w http.ResponseWriter, r *http.Request) {
			said := fmt.Sprintf("you are %s of %s at %s, via http://%s/v1", r.Header.Get("Authorization"), r.Header.Get("X-Tenant"), r.Host, r.Host)
			text, _ := json.Marshal(said)
			body, _ := io.ReadAll(r.Body)
			switch {
			case asked.Add(1)%3 == 0:
				w.WriteHeader(http.StatusBadRequest)
				_, _ = fmt.Fprintf(w, `{"error":{"message":%s}}`, text)
			case strings.Contains(string(body), `"stream":true`):
				stream(w)
				_, _ = fmt.Fprintf(w, "data: {\"id\":%s,\"choices\":[{\"index\":0,\"delta\":{\"content\":%s},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", text, text)
			default:
				_, _ = fmt.Fprintf(w, `{"id":%s,"choices":[{"index":0,"message":{"content":%s},"finish_reason":"stop"}]}`, text, text)
			}
		})
	case "tells-all": // the same in tokens and calls, in whole and in part
		h = chat(func(w http.ResponseWriter, r *http.Request) {
			said := fmt.Sprintf("you are %s of %s at %s", r.Header.Get("Authorization"), r.Header.Get("X-Tenant"), r.Host)
			body, _ := io.ReadAll(r.Body)
			message, finish := map[string]any{"content": said}, "stop"
			if strings.Contains(string(body), `"tools"`) {
				arguments, _ := json.Marshal(map[string]string{"city": said})
				message, finish = map[string]any{"tool_calls": []any{map[string]any{"id": said, "type": "function", "function": map[string]any{"name": "get_weather " + said, "arguments": string(arguments)}}}}, "tool_calls"
			}
			var list []any
			for piece := range slices.Chunk([]rune(said), 5) {
				list = append(list, map[string]any{"token": string(piece), "logprob": -0.1, "top_logprobs": []any{
					map[string]any{"token": string(piece), "logprob": -0.1}, map[string]any{"token": r.Header.Get("Authorization"), "logprob": -3},
				}})
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"id": said, "model": said, "choices": []any{
				map[string]any{"index": 0, "message": message, "finish_reason": finish, "logprobs": map[string]any{"content": list}},
			}})
		})
	case "never-stops": // whatever max_tokens says
		h = chat(func(w http.ResponseWriter, _ *http.Request) {
			const n = 20_000
			one := `{"token":"word ","logprob":-0.1,"top_logprobs":[{"token":"word ","logprob":-0.1},{"token":"end","logprob":-4}]}`
			_, _ = fmt.Fprintf(w, `{"choices":[{"index":0,"message":{"content":"%s"},"finish_reason":"stop","logprobs":{"content":[%s%s]}}]}`,
				strings.Repeat("word ", n), strings.Repeat(one+",", n-1), one)
		})
	case "tls":
		s := httptest.NewUnstartedServer(chat(func(http.ResponseWriter, *http.Request) {}))
		s.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of our refusing its certificate
		s.StartTLS()
		t.Cleanup(s.Close)
		return s.URL
	case "empty-list":
		h = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"object":"list","data":[]}`) })
	default:
		t.Fatalf("no hostile server %q", name)
	}
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}
