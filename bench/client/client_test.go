package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"infbench/gates"
	"infbench/record"
	"infbench/stages/endpoint/endpointtest"
)

// against returns what the client says of a load of twelve requests, three at once, twenty
// tokens each. It is blind: on a busy machine a client that knows its own error names none.
func against(t *testing.T, url string, silence string) result {
	t.Helper()
	var out, errs bytes.Buffer
	folder := t.TempDir()
	code := command([]string{"-url", url, "-concurrency", "3", "-requests", "12", "-output", "20", "-calibrate=false", "-within", silence, "-seed", "1", "-out", folder}, &out, &errs)
	var r result
	file, err := os.ReadFile(filepath.Join(folder, "summary.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(file, &r); err != nil || !bytes.Equal(file, out.Bytes()) {
		t.Fatalf("%v: %s and %s", err, file, out.Bytes())
	}
	if r.ExitCode != code || r.Peer != "infbench" || (errs.Len() > 0) != (len(r.Complaints) > 0) {
		t.Errorf("exit code %d, %+v, %s", code, r, errs.String())
	}
	return r
}

// The longest silence: more than a busy machine makes, and as short as a silence that comes
// for certain may be.
const patient, hasty = "20s", "400ms"

func (r result) hasSpeed() bool {
	return r.TTFT != nil || r.ITL != nil || r.Chunk != nil || r.TPOT != nil || r.E2E != nil || r.TokS != 0 || r.OutputTokens != 0
}

// What the fault proxy does to the embedded engine: harmful faults are noticed and leave no
// speed, harmless ones change nothing and are not complained of.
func TestFaultsUnderLoad(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]record.Outcome{
		"":               "", // harmless
		"comments":       "",
		"multi-token":    "",
		"usage-missing":  "",
		"id-changes":     "",
		"total-mismatch": "",

		"cut":             record.Cut,
		"truncated":       record.Cut,
		"no-done":         record.Cut,
		"no-finish":       record.Cut,
		"two-finishes":    record.Cut,
		"bad-json":        record.Cut,
		"bad-utf8":        record.Cut,
		"stays-open":      record.Cut,
		"done-only":       record.Cut,
		"sse-error":       record.ServerSaid,
		"html":            record.HTTPError,
		"plain-json":      record.HTTPError,
		"http500:every=4": record.HTTPError,
		"company-500":     record.HTTPError,
		"reject:above=1":  record.Rejected,
		"hang:every=5":    record.TimedOut,
		"empty":           record.Empty,
		"one-token":       record.Wrong, // more of them than were asked for
		"replacement":     record.Degenerate,
		"usage-double":    record.Wrong,
		"stops-early":     record.Wrong,
		"other-model":     record.Wrong,
		"crosstalk":       record.Wrong,
		"buffered":        "burst",
	} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			fixture := &txtar.Archive{}
			if spec != "" {
				fixture.Comment = []byte("fault: " + spec + "\n")
			}
			silence := patient
			if want == record.TimedOut || spec == "stays-open" {
				silence = hasty
			}
			check(t, against(t, endpointtest.Serve(t, fixture), silence), want)
		})
	}
}

func check(t *testing.T, r result, want record.Outcome) {
	t.Helper()
	switch {
	case want == "":
		if r.ExitCode != healthy || r.OK != 12 || r.Failed != 0 || r.TTFT == nil || r.E2E == nil || r.Complaints != nil {
			t.Errorf("harmless: %+v", r)
		}
	case r.ExitCode != harmful || r.hasSpeed() || len(r.Complaints) == 0:
		t.Errorf("harmful, and it says %+v", r)
	case want == "burst":
		if r.OK != 12 || r.Counts.Bursts*2 <= r.OK {
			t.Errorf("%+v", r)
		}
	case r.Outcomes[want] == 0:
		t.Errorf("no answer is %s: %v %q", want, r.Outcomes, r.Complaints)
	}
}

// A model that thinks is measured like any other.
func TestThinkingIsMeasured(t *testing.T) {
	t.Parallel()
	r := against(t, endpointtest.Serve(t, &txtar.Archive{Comment: []byte("engine: thinks\n")}), patient)
	check(t, r, "")
	if *r.Counts.Usage != 240 || r.OutputTokens != 240 {
		t.Errorf("%+v", r)
	}
}

// rough is a server whose answers are written by hand. The n-th request to it, from 1, is
// answered by answer; the first is the one that is put alone.
func rough(t *testing.T, answer func(n int64, w http.ResponseWriter, c net.Conn)) string {
	t.Helper()
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/models"):
			_, _ = io.WriteString(w, `{"data":[{"id":"truth"}]}`)
		case r.Method != http.MethodPost:
			http.NotFound(w, r)
		default:
			_, _ = io.Copy(io.Discard, r.Body)
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			answer(n.Add(1), w, c)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

// events are those of an answer of n tokens, per in a chunk.
func events(n, per int) []string {
	var out []string
	for k := 0; k < n; k += per {
		text := ""
		for i := range per {
			text += fmt.Sprintf(" w%d", (k+i)*7%13)
		}
		out = append(out, fmt.Sprintf(`{"model":"truth","choices":[{"index":0,"delta":{"content":%q}}]}`, text))
	}
	return append(out, `{"model":"truth","choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`)
}

func counted(n int) string {
	return fmt.Sprintf(`{"model":"truth","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":%d}}`, n)
}

func send(c net.Conn, gap time.Duration, events ...string) {
	for _, e := range events {
		time.Sleep(gap)
		if _, err := io.WriteString(c, "data: "+e+"\n\n"); err != nil {
			return
		}
	}
}

// What a connection, a server and a gateway do by themselves: each has its class, and in no
// case a better number.
func TestRoughServers(t *testing.T) {
	t.Parallel()
	whole := func(c net.Conn) {
		_, _ = io.WriteString(c, streamHead)
		send(c, time.Millisecond, append(events(20, 1), counted(20), "[DONE]")...)
	}
	for name, s := range map[string]struct {
		answer func(n int64, w http.ResponseWriter, c net.Conn)
		want   record.Outcome
	}{
		"as it should be": {func(_ int64, _ http.ResponseWriter, c net.Conn) { whole(c) }, ""},
		"drips byte by byte": {func(_ int64, _ http.ResponseWriter, c net.Conn) {
			_, _ = io.WriteString(c, streamHead)
			for _, b := range []byte("data: " + strings.Join(append(events(20, 1), counted(20), "[DONE]"), "\n\ndata: ") + "\n\n") {
				if _, err := c.Write([]byte{b}); err != nil {
					return
				}
				if b == ':' {
					time.Sleep(time.Millisecond)
				}
			}
		}, ""},
		"two tokens in a chunk": {func(_ int64, _ http.ResponseWriter, c net.Conn) {
			_, _ = io.WriteString(c, streamHead)
			send(c, time.Millisecond, append(events(20, 2), counted(20), "[DONE]")...)
		}, ""},
		"chunks without a token": {func(_ int64, _ http.ResponseWriter, c net.Conn) {
			_, _ = io.WriteString(c, streamHead)
			for _, e := range append(events(20, 1), counted(20), "[DONE]") {
				send(c, time.Millisecond, `{"model":"truth","choices":[{"index":0,"delta":{"content":""}}]}`, e)
				if e == counted(20) {
					send(c, 0, "[DONE]")
					return
				}
			}
		}, ""},
		"no usage": {func(_ int64, _ http.ResponseWriter, c net.Conn) {
			_, _ = io.WriteString(c, streamHead)
			send(c, time.Millisecond, append(events(20, 1), "[DONE]")...)
		}, ""},
		"usage of nothing": {func(_ int64, _ http.ResponseWriter, c net.Conn) {
			_, _ = io.WriteString(c, streamHead)
			send(c, time.Millisecond, append(events(20, 1), counted(0), "[DONE]")...)
		}, record.Wrong},
		"usage of a few": {func(_ int64, _ http.ResponseWriter, c net.Conn) {
			_, _ = io.WriteString(c, streamHead)
			send(c, time.Millisecond, append(events(20, 1), counted(7), "[DONE]")...)
		}, record.Wrong},
		"one word for ever": {func(_ int64, _ http.ResponseWriter, c net.Conn) {
			_, _ = io.WriteString(c, streamHead)
			for range 20 {
				send(c, time.Millisecond, `{"model":"truth","choices":[{"index":0,"delta":{"content":" the"}}]}`)
			}
			send(c, 0, events(0, 1)[0], counted(20), "[DONE]")
		}, record.Degenerate},
		"garbage in company": {func(n int64, _ http.ResponseWriter, c net.Conn) {
			if n < 3 {
				whole(c)
				return
			}
			_, _ = io.WriteString(c, streamHead)
			for range 20 {
				send(c, time.Millisecond, `{"model":"truth","choices":[{"index":0,"delta":{"content":"!"}}]}`)
			}
			send(c, 0, events(0, 1)[0], counted(20), "[DONE]")
		}, record.Degenerate},
		"a stall": {func(n int64, _ http.ResponseWriter, c net.Conn) {
			if n != 4 {
				whole(c)
				return
			}
			_, _ = io.WriteString(c, streamHead)
			send(c, time.Millisecond, events(5, 1)[:5]...)
			_, _ = c.Read(make([]byte, 1)) // until the client gives up
		}, record.TimedOut},
		"a reset before the answer": {func(n int64, _ http.ResponseWriter, c net.Conn) {
			if n%4 == 0 {
				_ = c.(*net.TCPConn).SetLinger(0)
				return
			}
			whole(c)
		}, record.Unreached},
		"a reset in the answer": {func(n int64, _ http.ResponseWriter, c net.Conn) {
			if n%4 == 0 {
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n40\r\ndata: ")
				_ = c.(*net.TCPConn).SetLinger(0)
				return
			}
			whole(c)
		}, record.Cut},
		"full": {func(n int64, _ http.ResponseWriter, c net.Conn) {
			if n%4 == 0 {
				_, _ = io.WriteString(c, "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n")
				return
			}
			whole(c)
		}, record.Rejected},
		"loading": {func(n int64, _ http.ResponseWriter, c net.Conn) {
			if n%4 == 0 {
				_, _ = io.WriteString(c, "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n")
				return
			}
			whole(c)
		}, record.Rejected},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			silence := patient
			if s.want == record.TimedOut {
				silence = hasty
			}
			r := against(t, rough(t, s.answer), silence)
			check(t, r, s.want)
			if s.want == "" && r.Connections.Resent == 0 && r.Connections.Fresh == 0 {
				t.Errorf("each of these closes its connection: %+v", r.Connections)
			}
			if name == "two tokens in a chunk" && (r.Counts.Chunks != 120 || *r.Counts.Usage != 240 || r.ITL != nil) {
				t.Errorf("%+v", r)
			}
			if name == "no usage" && (r.Counts.Usage != nil || r.TokS != 0 || r.OutputTokens != 0) {
				t.Errorf("tokens that nobody counted: %+v", r)
			}
		})
	}
}

// A server that ends in the middle: what was under way is cut, what comes then reaches nobody.
func TestARestartInTheMiddle(t *testing.T) {
	t.Parallel()
	var s *httptest.Server
	var n atomic.Int64
	var once sync.Once
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			_, _ = io.WriteString(w, `{"data":[{"id":"truth"}]}`)
			return
		}
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for i, e := range append(events(20, 1), counted(20), "[DONE]") {
			fmt.Fprintf(w, "data: %s\n\n", e)
			w.(http.Flusher).Flush()
			if i == 10 && n.Add(1) == 5 {
				once.Do(func() {
					go func() {
						_ = s.Listener.Close()
						s.CloseClientConnections()
					}()
				})
				<-r.Context().Done()
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	r := against(t, s.URL, patient)
	check(t, r, record.Cut)
	if r.OK == 0 || r.Outcomes[record.Unreached] == 0 || r.OK+r.Failed != 12 {
		t.Errorf("%+v", r.Outcomes)
	}
}

func TestFiguresAreOfNearestRank(t *testing.T) {
	t.Parallel()
	var ms []time.Duration
	for i := range 100 {
		ms = append(ms, time.Duration(100-i)*time.Millisecond)
	}
	if f := figuresOf(ms[:99]); f.P50 != 51 || f.P99 != nil || f.Mean != 51 { // 2 to 100
		t.Errorf("%+v", f)
	}
	if f := figuresOf(ms); f.P50 != 50 || *f.P99 != 99 || f.Mean != 50.5 {
		t.Errorf("%+v", f)
	}
	if figuresOf(nil) != nil {
		t.Error("figures of nothing")
	}
}

// A count that is too large makes nothing faster.
func TestTheSmallerCountIsTaken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		k       kept
		want    int
		counted bool
	}{
		{kept{claimed: gates.CountOf(40), own: gates.CountOf(20)}, 20, true},
		{kept{claimed: gates.CountOf(20), own: gates.CountOf(40)}, 20, true},
		{kept{claimed: gates.CountOf(20)}, 20, true},
		{kept{own: gates.CountOf(20)}, 20, true},
		{kept{}, 0, false},
	} {
		if n, counted := tokensOf(c.k); n != c.want || counted != c.counted {
			t.Errorf("%+v: %d, %v", c.k, n, counted)
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-no-such-flag"}, {"-concurrency", "0"}, {"-output", "0"}, {"more"}} {
		if code := command(args, io.Discard, io.Discard); code != usage {
			t.Errorf("%q: exit code %d", args, code)
		}
	}
	if code := command([]string{"-help"}, io.Discard, io.Discard); code != healthy {
		t.Errorf("-help: exit code %d", code)
	}
	if code := command([]string{"-url", "http://127.0.0.1:1"}, io.Discard, io.Discard); code != harmful {
		t.Errorf("nobody there: exit code %d", code)
	}
}
