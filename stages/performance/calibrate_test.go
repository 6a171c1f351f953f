package performance

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"infbench/arrival"
	"infbench/internal/pacer"
	"infbench/record"
	"infbench/stages/endpoint"
)

func model(t *testing.T, text string) arrival.ArrivalModel {
	t.Helper()
	m, err := arrival.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const msec = time.Millisecond

// Whatever the level, its calibration is bounded in time and no easier than the level is: as
// many streams, and no more time per token than makes up for the server beside it.
func TestACalibrationFitsAndIsNoEasier(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]Shape{
		"one stream":       {model(t, "sessions:n=1"), 1, 30 * msec, 20 * msec, 64},
		"one slow stream":  {model(t, "sessions:n=1"), 1, 9 * time.Second, 700 * msec, 2000},
		"many streams":     {model(t, "sessions:n=1024"), 1024, 200 * msec, 20 * msec, 100},
		"one token each":   {model(t, "sessions:n=8"), 8, 200 * msec, 0, 1},
		"a fast engine":    {model(t, "sessions:n=4"), 4, 3 * msec, 90 * time.Microsecond, 512},
		"an open loop":     {model(t, "poisson:rate=40"), 90, 300 * msec, 30 * msec, 64},
		"a slow open loop": {model(t, "poisson:rate=0.5"), 20, 5 * time.Second, 100 * msec, 400},
		"a burst":          {model(t, "burst:n=32"), 32, 300 * msec, 30 * msec, 64},
		"more than fit":    {model(t, "sessions:n=9000"), 9000, 200 * msec, 20 * msec, 100},
	} {
		p, err := planFor(s)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.pace.ITL > max(2*s.TPOT, 100*time.Microsecond) || p.streams != min(s.Streams, 4096) || p.tokens < 1 || p.tokens > s.OutputTokens {
			t.Errorf("%s: %+v is easier", name, p)
		}
		if p.ramp > 1300*msec || p.fresh.FirstDue() == 0 || (p.starts == byClock) != (s.Arrival.Kind() == "poisson") {
			t.Errorf("%s: %+v", name, p)
		}
		// Every stream stands until the window has ended and not much longer, and enough of their
		// tokens are in it.
		seen := time.Duration(0)
		for i := range p.streams {
			offset := p.ramp * time.Duration(i) / time.Duration(p.streams)
			end := offset + p.pace.TTFT + time.Duration(p.standing(offset)-1)*p.pace.ITL
			if window := p.ramp + 1300*msec; end <= window || end > window+p.pace.ITL {
				t.Errorf("%s: a stream stands until %v", name, end)
			}
			seen += 1200 * msec / p.pace.ITL
		}
		if seen < 100 {
			t.Errorf("%s: %d tokens in the window", name, seen)
		}
	}
	for name, s := range map[string]Shape{
		"no model": {Streams: 1, OutputTokens: 1}, "no stream": {Arrival: model(t, "sessions:n=1"), OutputTokens: 1},
		"no token": {Arrival: model(t, "sessions:n=1"), Streams: 1}, "a sweep": {sweepOf(t, "sessions:n=1", "sessions:n=2"), 1, 0, 0, 1},
	} {
		if p, err := planFor(s); err == nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// The series E12 as IEC 60063 has it.
func TestRounding(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]time.Duration{
		0: 0, 9: 0, 10: 10, 11: 10, 12: 12, 99: 82, 100: 100, 20 * msec: 18 * msec, 22 * msec: 22 * msec, 1199 * msec: time.Second, 50 * time.Microsecond: 47 * time.Microsecond,
	} {
		if got := rounded(d); got != want {
			t.Errorf("%v: %v, want %v", d, got, want)
		}
	}
}

// Over real sockets, for each way of starting requests: what was sent was read, and the
// result can be written and read back.
func TestCalibrate(t *testing.T) {
	t.Parallel()
	for _, s := range []Shape{
		{model(t, "sessions:n=3"), 3, 10 * msec, 5 * msec, 40},
		{model(t, "poisson:rate=60"), 6, 20 * msec, 5 * msec, 16},
		{model(t, "burst:n=4"), 4, 10 * msec, 5 * msec, 16},
	} {
		c, err := Calibrate(t.Context(), s)
		if err != nil {
			t.Errorf("%s: %v", s.Arrival, err)
			continue
		}
		if c.Lag().N() < 100 || c.TTFTError().N() < 4 || c.Streams() != s.Streams || c.During() {
			t.Errorf("%s: %v", s.Arrival, c)
		}
		if timed := s.Arrival.Kind() == "poisson"; timed != (c.Dispatch().N() > 0) {
			t.Errorf("%s: %d starts by a clock", s.Arrival, c.Dispatch().N())
		}
		var again record.Calibration
		if b, err := json.Marshal(c); err != nil || json.Unmarshal(b, &again) != nil || again != c {
			t.Errorf("%s: it is read back as %v: %v", s.Arrival, again, err)
		}
	}
}

// lagging holds each piece of a body back.
type lagging struct{ by time.Duration }

func (l lagging) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && strings.HasSuffix(r.URL.Path, "completions") {
		resp.Body = heldBack{resp.Body, l.by}
	}
	return resp, err
}

type heldBack struct {
	io.ReadCloser
	by time.Duration
}

func (h heldBack) Read(p []byte) (int, error) {
	n, err := h.ReadCloser.Read(p)
	time.Sleep(h.by)
	return n, err
}

// A client that reads late is found out, and by how much at least.
func TestALateClientIsFoundOut(t *testing.T) {
	t.Parallel()
	r, err := newRuler(t.Context(), pacer.Pace{TTFT: 5 * msec, ITL: 5 * msec}, endpoint.Options{Transport: lagging{12 * msec}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	began := time.Now()
	for range 2 {
		r.ask(t.Context(), r.body(120), byClock, time.Now())
	}
	parts, err := r.compare(began, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	parts.Streams, parts.OutputTokens = 1, 120
	c, err := record.NewCalibration(parts)
	if err != nil {
		t.Fatal(err)
	}
	if lag, ok := c.Lag().P50().Value(); !ok || lag < 12*msec {
		t.Errorf("the lag is %v", lag)
	}
	if trust := c.Judge(5*msec, 5*msec); trust.ClientLimited == "" {
		t.Errorf("%+v of %v", trust, c)
	}
}

// The pulse sees what is read beside a level, and ends when it is told to.
func TestPulse(t *testing.T) {
	t.Parallel()
	p, err := StartPulse(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for p.beaten() < 7 { // answers of 20 tokens
		pause(t.Context(), msec)
	}
	c, err := p.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if !c.During() || c.Lag().N() < 7*20 {
		t.Errorf("%v", c)
	}
}

// beaten is the number of answers so far.
func (p *Pulse) beaten() int {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	return len(p.r.taken)
}
