package arrival

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func durations(t *testing.T, texts ...string) []time.Duration {
	t.Helper()
	var out []time.Duration
	for _, text := range texts {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, d)
	}
	return out
}

func TestReadStarts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file string
		want []time.Duration
	}{
		"own, from any second":  {"at_s\n10\n10.5\n", durations(t, "0s", "500ms")},
		"own, milliseconds":     {`{"at_ms":3}` + "\n\n" + `{"at_ms":4.5,"x":[{"y":null}]}`, durations(t, "0s", "1.5ms")},
		"Mooncake":              {`{"timestamp": 0, "input_length": 6758, "hash_ids": [0, 1]}` + "\n" + `{"timestamp": 3000, "input_length": 7322}`, durations(t, "0s", "3s")},
		"Azure 2023":            {"TIMESTAMP,ContextTokens\r\n2023-11-16 18:15:46.6805900,374\r\n2023-11-16 18:15:50.9951690,396\r\n", durations(t, "0s", "4.314579s")},
		"Azure 2024":            {"TIMESTAMP,ContextTokens\n2024-05-10 23:59:59.999+00:00,1\n2024-05-11 00:00:00.000930+00:00,2\n", durations(t, "0s", "1.93ms")},
		"RFC 3339, any column":  {"a,timestamp\n1,2024-05-10T10:00:00Z\n2,2024-05-10T12:00:01+02:00\n", durations(t, "0s", "1s")},
		"a byte order mark":     {"\xef\xbb\xbfat_s\n0\n", durations(t, "0s")},
		"quotes and spaces":     {"\"at_s\" , \"a,b\"\n 1 , \"x,y\"\n", nil},
		"quoted":                {"\"at_s\",\"a,b\"\n 1 ,\"x,y\"\n", durations(t, "0s")},
		"microseconds of epoch": {"at_s\n1700000000.000001\n1700000000.000003\n", durations(t, "0s", "2.146µs")}, // as near as float64 comes
	} {
		got, err := readStarts(strings.NewReader(c.file), 0)
		if (err != nil) != (c.want == nil) || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, %v; want %v", name, got, err, c.want)
		}
	}
}

func TestReadThinks(t *testing.T) {
	t.Parallel()
	file := "session,think_ms\nb,0\na,1500\nb,2\n"
	got, err := readThinks(strings.NewReader(file), 0)
	if want := [][]time.Duration{durations(t, "0s", "2ms"), durations(t, "1500ms")}; err != nil || !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	if got, err := readThinks(strings.NewReader("think_s\n1\n2\n3\n"), 2); err != nil || len(got) != 1 || !slices.Equal(got[0], durations(t, "1s", "2s")) {
		t.Errorf("the first two of one session: got %v, %v", got, err)
	}
}

func TestBadTraces(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"":                                    "no requests",
		"\n\n":                                "no requests",
		"at_s\n":                              "no requests",
		"when\n3\n":                           "line 1: none of the columns at_s, at_ms, timestamp, TIMESTAMP",
		`{"when":3}`:                          "line 1: none of the columns",
		`{"AT_S":3}`:                          "line 1: none of the columns",
		"at_s\n1\nx\n":                        `line 3: at_s "x" is no time`,
		"at_s\n1\nNaN\n":                      "line 3: at_s \"NaN\" is no time",
		"at_s\n1\n1e999\n":                    "line 3: at_s",
		"at_s\n2\n1\n":                        "line 3: its time is before that of the line above",
		"at_s\n0\n1e300\n":                    "line 3: its time is more than 8760h0m0s after the first",
		"at_s\n-1e300\n1e300\n":               "line 3: its time is more than",
		"TIMESTAMP\n12\n":                     "numbers belong in a column at_s or at_ms",
		"TIMESTAMP\n2023-11-16\n":             "no date with time",
		"timestamp\n1\n2023-11-16 18:15:46\n": "line 3: a date among numbers",
		"TIMESTAMP\n0001-01-01 00:00:00\n9999-12-31 00:00:00\n": "line 3: its time is more than",
		"at_s,b\n1\n":                             "line 2: 1 values under 2 names",
		"at_s\n\"1\n":                             "line 2: no CSV",
		"{\"at_s\":1}\n{\"at_s\":\n":              "line 2: no JSON object",
		"{\"at_s\":1}\n[1]\n":                     "line 2: no JSON object",
		"{\"at_s\":1}\nnull\n":                    "line 2: no JSON object",
		"{\"at_s\":1}\n{\"at_ms\":2}\n":           "line 2: no at_s",
		"{\"at_s\":1}\n{\"at_s\":null}\n":         "line 2: no at_s",
		"at_s\n" + strings.Repeat("1", 2<<20):     "line 2: longer than 1048576 bytes",
		strings.Repeat("{\"a\":", 20000):          "line 1: no JSON object",
		"at_s\n" + strings.Repeat("1\n", 100_001): "line 100002: more than 100000 requests: take the first with first=100000",
	} {
		_, err := readStarts(strings.NewReader(file), 0)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40q: got %v, want %q", file, err, want)
		}
	}
	for file, want := range map[string]string{
		"at_s\n1\n":                      "none of the columns think_s, think_ms",
		"think_s\n-1\n":                  "line 2: a think time of -1s",
		"think_s\n1e9\n":                 "line 2: a think time of",
		"think_s\n2023-11-16 18:15:46\n": "line 2: think_s \"2023-11-16 18:15:46\" is no time",
	} {
		if _, err := readThinks(strings.NewReader(file), 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want %q", file, err, want)
		}
	}
}

// The shipped excerpts, by hand: the first gaps of Azure's and the grid of Mooncake's.
func TestExcerpts(t *testing.T) {
	t.Parallel()
	for form, want := range map[string]string{
		"replay:mode=open,file=testdata/traces/azure_2023_conv.head.csv":                 "open loop, replay of 40 requests over 24.146s",
		"replay:mode=open,file=testdata/traces/mooncake_conversation.head.jsonl":         "open loop, replay of 30 requests over 9s",
		"replay:mode=open,file=testdata/traces/mooncake_conversation.head.jsonl,first=3": "open loop, replay of 3 requests over 0s",
	} {
		m, err := Parse(form)
		if err != nil || !strings.HasPrefix(m.String(), want) {
			t.Errorf("%s: got %s, %v; want %s", form, m, err, want)
		}
	}
}

func FuzzTrace(f *testing.F) {
	f.Add([]byte("at_s\n1\n2\n"), false)
	f.Add([]byte("TIMESTAMP,ContextTokens\n2023-11-16 18:15:46.6805900,374\n2023-11-16 18:15:50.9951690,396\n"), false)
	f.Add([]byte(`{"timestamp": 0, "hash_ids": [0, 1]}`+"\n"+`{"timestamp": 3000}`), false)
	f.Add([]byte("session,think_s\na,1\nb,2\na,\"3\"\n"), true)
	f.Add([]byte(`{"session":"a","think_ms":1e3}`), true)
	f.Fuzz(func(t *testing.T, b []byte, closed bool) {
		var m ArrivalModel
		var err error
		if closed {
			var thinks [][]time.Duration
			if thinks, err = readThinks(strings.NewReader(string(b)), 0); err == nil {
				m, err = ReplaySessions(thinks, 1)
			}
		} else {
			var starts []time.Duration
			if starts, err = readStarts(strings.NewReader(string(b)), 0); err == nil {
				if !slices.IsSorted(starts) || starts[0] != 0 {
					t.Fatalf("times %v", starts)
				}
				m, err = Replay(starts, 1)
			}
		}
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r\x1b") {
				t.Fatalf("an error that is not one plain line: %q", err)
			}
			return
		}
		js, err := m.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var back ArrivalModel
		if err := back.UnmarshalJSON(js); err != nil || !back.Equal(m) || fmt.Sprint(back) != fmt.Sprint(m) {
			t.Fatalf("%s does not come back: %v", js, err)
		}
	})
}
