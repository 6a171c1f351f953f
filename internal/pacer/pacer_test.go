package pacer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// piped is a listener without sockets, so that the bubble of a test owns the clock.
type piped struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p piped) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, errors.New("closed")
	}
}
func (p piped) Close() error   { close(p.done); return nil }
func (p piped) Addr() net.Addr { return &net.TCPAddr{} }

func (p piped) client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		p.conns <- theirs
		return ours, nil
	}}}
}

func serve(t *testing.T, pace Pace, remember int) (*Server, *http.Client) {
	t.Helper()
	p := piped{make(chan net.Conn), make(chan struct{})}
	s := New(pace, remember)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(p) }()
	client := p.client()
	t.Cleanup(func() {
		client.CloseIdleConnections()
		s.Close()
		<-ended
	})
	return s, client
}

// events returns the data lines of one answer; slow is told of each before the next is read.
func events(t *testing.T, client *http.Client, tokens int, options string, slow func(n int)) []string {
	t.Helper()
	resp, err := client.Post("http://pacer/v1/chat/completions", "application/json", strings.NewReader(fmt.Sprintf(`{"stream":true,"max_tokens":%d%s}`, tokens, options)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var out []string
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			out = append(out, data)
			slow(len(out))
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

type event struct {
	ID      string `json:"id"`
	Choices []struct {
		Delta  struct{ Content string } `json:"delta"`
		Finish string                   `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Completion int `json:"completion_tokens"`
	} `json:"usage"`
}

func parse(t *testing.T, data string) (e event) {
	t.Helper()
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return e
}

func ms(n ...int) (out []time.Duration) {
	for _, n := range n {
		out = append(out, time.Duration(n)*time.Millisecond)
	}
	return out
}

func sinceArrival(s Sent) (out []time.Duration) {
	for _, t := range s.Tokens {
		out = append(out, t-s.Arrival)
	}
	return out
}

func TestTokensLeaveBySchedule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, client := serve(t, Pace{TTFT: 30 * time.Millisecond, ITL: 7 * time.Millisecond}, 1)
		got := events(t, client, 4, "", func(int) {})
		id := parse(t, got[0]).ID
		sent, ok := s.Sent(id)
		if !ok || !slices.Equal(sinceArrival(sent), ms(30, 37, 44, 51)) {
			t.Errorf("%v: %v", ok, sinceArrival(sent))
		}
		if len(got) != 8 || got[7] != "[DONE]" {
			t.Fatal(got)
		}
		text := ""
		for _, e := range got[:5] {
			text += parse(t, e).Choices[0].Delta.Content
		}
		if text != Word(0)+Word(1)+Word(2)+Word(3) || parse(t, got[5]).Choices[0].Finish != "length" || parse(t, got[6]).Usage.Completion != 4 {
			t.Error(text, got[5:])
		}
		// The second is served and not remembered.
		if _, ok := s.Sent(parse(t, events(t, client, 2, "", func(int) {})[0]).ID); ok {
			t.Error("more was remembered than there is room for")
		}
	})
}

// A reader that stops for a while makes the tokens of that while late and no other.
func TestALateTokenMovesNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, client := serve(t, Pace{TTFT: 10 * time.Millisecond, ITL: 10 * time.Millisecond}, 1)
		got := events(t, client, 40, "", func(n int) {
			if n == 3 { // the role and two tokens
				time.Sleep(155 * time.Millisecond)
			}
		})
		sent, _ := s.Sent(parse(t, got[0]).ID)
		at := sinceArrival(sent)
		late := 0
		for k, got := range at {
			due := time.Duration(10+10*k) * time.Millisecond
			switch {
			case got < due:
				t.Errorf("token %d left at %v, before %v", k, got, due)
			case got > due:
				late++
			}
		}
		if late == 0 || late > 16 || at[39] != 400*time.Millisecond {
			t.Errorf("%d late, the last at %v", late, at[39])
		}
	})
}

func TestRunningUsageIsSentWhereAskedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, client := serve(t, Pace{}, 0)
		for i, e := range events(t, client, 3, `,"stream_options":{"include_usage":true,"continuous_usage_stats":true}`, func(int) {})[1:4] {
			if u := parse(t, e).Usage; u == nil || u.Completion != i+1 {
				t.Errorf("event %d: %s", i, e)
			}
		}
	})
}

// Over real sockets: arrivals are in order on a connection that is used again, and what is no
// request for a stream is refused.
func TestOverSockets(t *testing.T) {
	t.Parallel()
	s, url, err := Start(t.Context(), Pace{ITL: time.Microsecond}, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	last := time.Duration(0)
	for range 3 {
		if models, err := http.Get(url + "/v1/models"); err != nil { // takes the connection's earlier stamp with it
			t.Fatal(err)
		} else {
			_, _ = io.Copy(io.Discard, models.Body)
			models.Body.Close()
		}
		began := time.Since(s.Origin())
		resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(`{"stream":true,"max_tokens":5}`))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		_, data, _ := strings.Cut(string(body), "data: ")
		data, _, _ = strings.Cut(data, "\n")
		s.Settle()
		sent, ok := s.Sent(parse(t, data).ID)
		if !ok || sent.Arrival <= last || sent.Arrival < began || len(sent.Tokens) != 5 || sent.Tokens[0] < sent.Arrival || sent.End < sent.Tokens[4] {
			t.Errorf("%v %+v after %v", ok, sent, last)
		}
		last = sent.End
	}
	for _, bad := range []string{"", "{", `{"stream":true}`, `{"max_tokens":4}`, `{"stream":true,"max_tokens":2000000}`} {
		resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(bad))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%q: %d", bad, resp.StatusCode)
		}
	}
}
