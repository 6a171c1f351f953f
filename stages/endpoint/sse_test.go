package endpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

const roomy = 1 << 20

// seen is an event as the tests compare it.
type seen struct{ name, data string }

func readEvents(src io.Reader, limit, most int) (out []seen, comments int, err error) {
	r := newEventReader(src, limit, most, func() time.Duration { return 0 }, func(int, time.Duration) {})
	for {
		ev, err := r.next()
		if err != nil {
			return out, r.comments, err
		}
		out = append(out, seen{ev.Name, string(ev.Data)})
	}
}

// sseCases are streams and the events that they hold.
var sseCases = []struct {
	name, stream string
	want         []seen
	comments     int
}{
	{"LF", "data: a\n\ndata: b\n\n", []seen{{"", "a"}, {"", "b"}}, 0},
	{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []seen{{"", "a"}, {"", "b"}}, 0},
	{"mixed line ends", "data: a\r\n\ndata: b\n\r\n", []seen{{"", "a"}, {"", "b"}}, 0},
	{"no space after the colon", "data:a\n\n", []seen{{"", "a"}}, 0},
	{"one space is taken off, not two", "data:  a\n\n", []seen{{"", " a"}}, 0},
	{"space before the newline", "data: {\"a\":1} \n\ndata: [DONE] \n\n", []seen{{"", `{"a":1} `}, {"", "[DONE] "}}, 0},
	{"comments", ": ping\n\n:\n\ndata: a\n: in between\ndata: b\n\n", []seen{{"", "a\nb"}}, 3},
	{"several data lines", "data: {\ndata: \"a\":1\ndata: }\n\n", []seen{{"", "{\n\"a\":1\n}"}}, 0},
	{"empty data", "data:\n\ndata\n\n", []seen{{"", ""}, {"", ""}}, 0},
	{"event: error", "event: error\ndata: {\"error\":1}\n\n", []seen{{"error", `{"error":1}`}}, 0},
	{"a name does not outlive its event", "event: error\ndata: a\n\ndata: b\n\n", []seen{{"error", "a"}, {"", "b"}}, 0},
	{"a name without data is no event", "event: error\n\ndata: b\n\n", []seen{{"", "b"}}, 0},
	{"older error: line", "error: {\"code\":500}\n\n", []seen{{"error", `{"code":500}`}}, 0},
	{"id and retry", "id: 7\nretry: 100\ndata: a\n\n", []seen{{"", "a"}}, 0},
	{"byte order mark", "\ufeffdata: a\n\ndata: \ufeffb\n\n", []seen{{"", "a"}, {"", "\ufeffb"}}, 0},
	{"byte order mark before a comment", "\ufeff: hello\n\ndata: a\n\n", []seen{{"", "a"}}, 1},
	{"cut after a line", "data: a\n\ndata: b\n", []seen{{"", "a"}, {"", "b"}}, 0},
	{"cut inside a line", "data: a\n\ndata: b", []seen{{"", "a"}, {"", "b"}}, 0},
	{"nothing", "", nil, 0},
	{"only blank lines", "\n\n\r\n\n", nil, 0},
	{"colons in the data", "data: a:b:c\n\n", []seen{{"", "a:b:c"}}, 0},
}

func TestEventsAreSplit(t *testing.T) {
	for _, c := range sseCases {
		t.Run(c.name, func(t *testing.T) {
			got, comments, err := readEvents(strings.NewReader(c.stream), roomy, roomy)
			if !errors.Is(err, io.EOF) {
				t.Fatalf("ended with %v", err)
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) || comments != c.comments {
				t.Errorf("%q gave %q and %d comments, want %q and %d", c.stream, got, comments, c.want, c.comments)
			}
		})
	}
}

// Wherever the network cuts the bytes, the events are the same.
func TestAnySplitOfTheBytesGivesTheSameEvents(t *testing.T) {
	for _, c := range sseCases {
		for at := range len(c.stream) {
			src := io.MultiReader(strings.NewReader(c.stream[:at]), strings.NewReader(c.stream[at:]))
			if got, _, _ := readEvents(src, roomy, roomy); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Fatalf("%s, cut at byte %d: got %q, want %q", c.name, at, got, c.want)
			}
		}
		if got, _, _ := readEvents(iotest.OneByteReader(strings.NewReader(c.stream)), roomy, roomy); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s, byte by byte: got %q, want %q", c.name, got, c.want)
		}
		if got, _, _ := readEvents(iotest.DataErrReader(strings.NewReader(c.stream)), roomy, roomy); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s, the end with the last bytes: got %q, want %q", c.name, got, c.want)
		}
	}
}

// The buffer grows across its first size, and the unread part is moved in it.
func TestEventsAroundTheBufferSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var stream bytes.Buffer
	var want []string
	for range 400 {
		data := strings.Repeat("x", rng.IntN(3*firstBuffer/2))
		want = append(want, data)
		stream.WriteString("data: " + data + "\n\n")
	}
	got, _, err := readEvents(&chunked{b: stream.Bytes(), rng: rng}, roomy, 1<<30)
	if !errors.Is(err, io.EOF) || len(got) != len(want) {
		t.Fatalf("%d events and %v, want %d", len(got), err, len(want))
	}
	for i, w := range want {
		if got[i].data != w {
			t.Fatalf("event %d has %d bytes, want %d", i, len(got[i].data), len(w))
		}
	}
}

// chunked reads pieces of random length.
type chunked struct {
	b   []byte
	rng *rand.Rand
}

func (c *chunked) Read(p []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.b[:min(len(c.b), 1+c.rng.IntN(5000))])
	c.b = c.b[n:]
	return n, nil
}

func TestAnEventLargerThanTheLimit(t *testing.T) {
	for name, stream := range map[string]string{
		"in one line":     "data: " + strings.Repeat("x", 200) + "\n\n",
		"in many lines":   strings.Repeat("data: "+strings.Repeat("x", 30)+"\n", 10) + "\n",
		"in empty lines":  strings.Repeat("data:\n", 300) + "\n",
		"a name":          "event: " + strings.Repeat("x", 200) + "\n\n",
		"a comment":       ":" + strings.Repeat("x", 200) + "\n\n",
		"without an end":  "data: " + strings.Repeat("x", 200),
		"after good ones": "data: a\n\ndata: b\n\ndata: " + strings.Repeat("x", 200) + "\n\n",
	} {
		r := newEventReader(strings.NewReader(stream), 100, roomy, func() time.Duration { return 0 }, func(int, time.Duration) {})
		var err error
		for err == nil {
			var ev Event
			if ev, err = r.next(); len(ev.Data) > 100 {
				t.Errorf("%s: an event of %d bytes came through", name, len(ev.Data))
			}
		}
		if !errors.Is(err, errEventTooLarge) {
			t.Errorf("%s: ended with %v, want errEventTooLarge", name, err)
		}
		if _, again := r.next(); !errors.Is(again, errEventTooLarge) {
			t.Errorf("%s: read on after the end: %v", name, again)
		}
	}
	if got, _, err := readEvents(strings.NewReader("data: "+strings.Repeat("x", 80)+"\n\n"), 100, roomy); len(got) != 1 || !errors.Is(err, io.EOF) {
		t.Errorf("an event within the limit: %d events, %v", len(got), err)
	}
}

// endless repeats its bytes until it has given left bytes, and notes the most memory
// that was held meanwhile.
type endless struct {
	pattern string
	block   string // the pattern many times over
	at      int
	left    int64
	held    uint64
	reads   int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	if e.block == "" {
		e.block = strings.Repeat(e.pattern, 1+64<<10/len(e.pattern))
	}
	n := 0
	for n < len(p) {
		m := copy(p[n:], e.block[e.at:])
		e.at = (e.at + m) % len(e.block)
		n += m
	}
	e.left -= int64(n)
	if e.reads++; e.reads%256 == 1 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		e.held = max(e.held, m.HeapAlloc)
	}
	return n, nil
}

func TestMemoryIsFlatWhateverIsSent(t *testing.T) {
	const two = 2 << 30
	for name, c := range map[string]struct {
		src  endless
		want error
	}{
		"one line of 2 GB":     {endless{pattern: strings.Repeat("x", 4096), left: two}, errEventTooLarge},
		"2 GB of comments":     {endless{pattern: ": ping\n\n" + strings.Repeat(":x\n", 2000), left: two}, errStreamTooLarge},
		"2 GB of data lines":   {endless{pattern: "data: " + strings.Repeat("x", 500) + "\n", left: two}, errEventTooLarge},
		"2 GB of event fields": {endless{pattern: "event: " + strings.Repeat("x", 500) + "\n", left: two}, errStreamTooLarge},
	} {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := readEvents(&c.src, 4<<20, 16<<20)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: ended with %v, want %v", name, err, c.want)
		}
		if c.src.held > before.HeapAlloc+16<<20 {
			t.Errorf("%s: held %d MB", name, (c.src.held-before.HeapAlloc)>>20)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 32<<20 {
			t.Errorf("%s: allocated %d MB in all", name, grown>>20)
		}
	}
}

// An event carries the stamp and the number of the read that brought its last byte.
func TestStampsAreThoseOfTheRead(t *testing.T) {
	reads := []string{"data: a", "\n", "\ndata: b\n\ndata: c\n\nda", "ta: d\n\n", ": ping\n\n", "data: e\n\n"}
	now, next := time.Duration(0), 0
	src := readFunc(func(p []byte) (int, error) {
		if next == len(reads) {
			return 0, io.EOF
		}
		now += 10 * time.Millisecond
		n := copy(p, reads[next])
		next++
		return n, nil
	})
	var stamps []time.Duration
	r := newEventReader(src, roomy, roomy, func() time.Duration { return now }, func(_ int, at time.Duration) { stamps = append(stamps, at) })
	var got []string
	for {
		ev, err := r.next()
		if err != nil {
			break
		}
		got = append(got, fmt.Sprintf("%s@%v#%d", ev.Data, ev.At, ev.Read))
	}
	if want := "[a@30ms#3 b@30ms#3 c@30ms#3 d@40ms#4 e@60ms#6]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if len(stamps) != len(reads) {
		t.Errorf("%d reads reported, want %d", len(stamps), len(reads))
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// slowSplit is the reference: it splits a whole text into lines and those into events.
func slowSplit(stream string) (out []seen) {
	lines := strings.Split(strings.TrimPrefix(stream, "\ufeff"), "\n")
	var name string
	var data []string
	flush := func() {
		if data != nil {
			out = append(out, seen{name, strings.Join(data, "\n")})
		}
		name, data = "", nil
	}
	for i, line := range lines {
		line = strings.TrimSuffix(line, "\r")
		if line == "" {
			if i < len(lines)-1 {
				flush()
			}
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "data":
			data = append(data, value)
		case "event":
			name = value[:min(len(value), 64)]
		case "error":
			name, data = "error", []string{value}
		}
	}
	flush()
	return out
}

func FuzzEvents(f *testing.F) {
	for _, c := range sseCases {
		f.Add([]byte(c.stream), uint16(3))
	}
	f.Add(vllmBody(3), uint16(100))
	f.Fuzz(func(t *testing.T, stream []byte, size uint16) {
		const limit = 1 << 12
		piece := int(size%512) + 1
		rest := stream
		src := readFunc(func(p []byte) (int, error) {
			if len(rest) == 0 {
				return 0, io.EOF
			}
			n := copy(p, rest[:min(piece, len(rest))])
			rest = rest[n:]
			return n, nil
		})
		r := newEventReader(src, limit, roomy, func() time.Duration { return 0 }, func(int, time.Duration) {})
		var got []seen
		var err error
		for err == nil {
			var ev Event
			if ev, err = r.next(); err == nil {
				got = append(got, seen{ev.Name, string(ev.Data)})
			}
			if cap(r.buf) > limit || cap(r.data) > 4*limit {
				t.Fatalf("buffers of %d and %d bytes under a limit of %d", cap(r.buf), cap(r.data), limit)
			}
		}
		want := slowSplit(string(stream))
		if errors.Is(err, errEventTooLarge) {
			want = want[:min(len(got), len(want))] // the rest was refused
			if len(got) > 0 && len(want) == len(got) {
				got, want = got[:len(got)-1], want[:len(want)-1] // the last may be cut
			}
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%q in pieces of %d gave %q, want %q", stream, piece, got, want)
		}
	})
}
