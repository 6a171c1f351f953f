package pacer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Pace is the schedule of an answer.
type Pace struct{ TTFT, ITL time.Duration }

// Model is the name of the one model that is served.
const Model = "truth"

// maxTokens bounds one answer.
const maxTokens = 1 << 20

// Server serves paced streams and remembers when each token left.
type Server struct {
	pace   Pace
	origin time.Time
	http   http.Server
	number atomic.Int64
	busy   sync.WaitGroup

	mu   sync.Mutex
	room int // answers that are still remembered
	sent map[string]Sent
}

// Sent is when one answer happened, on the clock that began at [Server.Origin].
type Sent struct {
	// Arrival is the read that brought the first byte of the request.
	Arrival time.Duration
	// Tokens holds the instant just before the write of each token.
	Tokens []time.Duration
	// End is when the whole answer was written.
	End time.Duration
}

// New returns a server that remembers so many answers; later ones are served and
// forgotten.
func New(pace Pace, remember int) *Server {
	s := &Server{pace: pace, origin: time.Now(), room: remember, sent: map[string]Sent{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", models)
	mux.HandleFunc("POST /v1/chat/completions", s.chat)
	s.http = http.Server{Handler: forgetting(mux), ReadHeaderTimeout: time.Minute, ConnContext: func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, c)
	}}
	return s
}

// Start returns a server that already listens on a loopback port, and its URL.
func Start(ctx context.Context, pace Pace, remember int) (s *Server, url string, err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", fmt.Errorf("the truth server cannot listen on a loopback port: %w", err)
	}
	s = New(pace, remember)
	go func() { _ = s.Serve(l) }()
	return s, "http://" + l.Addr().String(), nil
}

// Serve serves the listener until [Server.Close].
func (s *Server) Serve(l net.Listener) error {
	err := s.http.Serve(stampedListener{l, s.origin})
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Close ends the server and every connection to it.
func (s *Server) Close() { _ = s.http.Close() }

// Origin is the instant that the times of [Sent] count from.
func (s *Server) Origin() time.Time { return s.origin }

// Settle waits until the answers that were begun are written down: a client has read the end
// of one a moment before.
func (s *Server) Settle() { s.busy.Wait() }

// Sent returns when the answer of that id happened, false while it has not ended or
// where it is not remembered.
func (s *Server) Sent(id string) (Sent, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent, ok := s.sent[id]
	return sent, ok
}

// Pace returns the schedule.
func (s *Server) Pace() Pace { return s.pace }

func models(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"`+Model+`","object":"model","owned_by":"nobody"}]}`)
}

var words = [...]string{" harbour", " lantern", " quiet", " road", " over", " the", " morning", " carried", " basket", " river", " and", " told", " nobody", " green", " bench", " near"}

// Word returns the k-th token of every answer.
func Word(k int) string { return words[(k*7+k/16)%len(words)] }

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	s.busy.Add(1)
	defer s.busy.Done()
	sent := Sent{Arrival: connOf(r).arrival()}
	var q struct {
		MaxTokens int  `json:"max_tokens"`
		Stream    bool `json:"stream"`
		Options   struct {
			EachChunk bool `json:"continuous_usage_stats"`
		} `json:"stream_options"`
	}
	if err := json.NewDecoder(io.LimitReader(r.Body, 16<<20)).Decode(&q); err != nil || q.MaxTokens < 1 || q.MaxTokens > maxTokens || !q.Stream {
		http.Error(w, `{"error":{"message":"a stream and max_tokens are wanted"}}`, http.StatusBadRequest)
		return
	}
	id := "chatcmpl-" + strconv.FormatInt(s.number.Add(1), 10)
	kept := s.keeps()
	if kept {
		sent.Tokens = make([]time.Duration, 0, q.MaxTokens)
	}
	if !s.stream(r.Context(), w, answer{id, q.MaxTokens, q.Options.EachChunk}, &sent) || !kept {
		return
	}
	sent.End = time.Since(s.origin)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent[id] = sent
}

// keeps reports whether one more answer is remembered.
func (s *Server) keeps() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.room--
	return s.room >= 0
}

// answer is what a request asked for.
type answer struct {
	id        string
	tokens    int
	eachChunk bool // a running usage in each chunk
}

// promptTokens is what every prompt is said to have.
const promptTokens = 9

func appendUsage(b []byte, tokens int) []byte {
	b = strconv.AppendInt(append(b, `,"usage":{"prompt_tokens":9,"completion_tokens":`...), int64(tokens), 10)
	return append(strconv.AppendInt(append(b, `,"total_tokens":`...), int64(tokens+promptTokens), 10), '}')
}

// stream writes the answer and reports whether all of it was written.
func (s *Server) stream(ctx context.Context, w http.ResponseWriter, a answer, sent *Sent) bool {
	w.Header().Set("Content-Type", "text/event-stream")
	flush := w.(http.Flusher).Flush
	head := `data: {"id":"` + a.id + `","object":"chat.completion.chunk","created":1764000000,"model":"` + Model + `","choices":`
	if _, err := io.WriteString(w, head+`[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}`+"\n\n"); err != nil {
		return false
	}
	flush()
	t := time.NewTimer(time.Hour)
	defer t.Stop()
	event := make([]byte, 0, 512)
	due := sent.Arrival + s.pace.TTFT
	for k := range a.tokens {
		if wait := due - time.Since(s.origin); wait > 0 {
			t.Reset(wait)
			select {
			case <-t.C:
			case <-ctx.Done():
				return false
			}
		}
		event = append(append(event[:0], head...), `[{"index":0,"delta":{"content":"`...)
		event = append(append(event, Word(k)...), `"},"logprobs":null,"finish_reason":null}]`...)
		if a.eachChunk {
			event = appendUsage(event, k+1)
		}
		event = append(event, "}\n\n"...)
		if cap(sent.Tokens) > 0 {
			sent.Tokens = append(sent.Tokens, time.Since(s.origin))
		}
		if _, err := w.Write(event); err != nil {
			return false
		}
		flush()
		due += s.pace.ITL
	}
	event = append(append(event[:0], head...), `[{"index":0,"delta":{},"logprobs":null,"finish_reason":"length"}]}`+"\n\n"...)
	event = append(appendUsage(append(append(event, head...), "[]"...), a.tokens), "}\n\ndata: [DONE]\n\n"...)
	_, err := w.Write(event)
	return err == nil
}
