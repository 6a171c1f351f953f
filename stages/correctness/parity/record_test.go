package parity

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"infbench/stages/endpoint"
)

// server is a chat server of a few words; refuse says no to a request.
type server struct {
	mu       sync.Mutex
	refuse   func(asked) string
	logprobs bool
	calls    string // in the place of an answer, where tools are offered
	endless  int    // words of an answer, whatever was asked for
	thinks   bool   // before it answers, unless it is told not to
	asked    []asked
}

type asked struct {
	Messages    []struct{ Content string }
	Logprobs    bool
	TopLogprobs int               `json:"top_logprobs"`
	Tools       []json.RawMessage `json:"tools"`
	Choice      string            `json:"tool_choice"`
	MaxTokens   int               `json:"max_tokens"`
	Temperature *float64
	Template    map[string]bool `json:"chat_template_kwargs"`
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		if strings.HasSuffix(r.URL.Path, "/models") {
			fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
			return
		}
		http.NotFound(w, r)
		return
	}
	var q asked
	if json.NewDecoder(r.Body).Decode(&q) != nil {
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.asked = append(s.asked, q)
	s.mu.Unlock()
	if s.refuse != nil {
		if why := s.refuse(q); why != "" {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":{"message":%q}}`, why)
			return
		}
	}
	message, finish, scores := `{"content":"Yes."}`, "stop", "null"
	if s.calls != "" && len(q.Tools) > 0 {
		message, finish = s.calls, "tool_calls"
	}
	if s.endless > 0 {
		message = `{"content":"` + strings.Repeat("word ", s.endless) + `"}`
		one := `{"token":"word ","logprob":-0.1,"top_logprobs":[{"token":"word ","logprob":-0.1}]}`
		scores = `{"content":[` + strings.Repeat(one+",", s.endless-1) + one + `]}`
	} else if s.thinks && q.Template == nil {
		message, finish = `{"reasoning":"Well","content":""}`, "length"
	} else if q.Logprobs && s.logprobs {
		scores = `{"content":[{"token":"Yes","logprob":-0.1,"top_logprobs":[{"token":"Yes","logprob":-0.1},{"token":"No","logprob":-3}]},{"token":".","logprob":-0.2,"top_logprobs":[]}]}`
	}
	fmt.Fprintf(w, `{"choices":[{"index":0,"message":%s,"finish_reason":%q,"logprobs":%s}],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}}`, message, finish, scores)
}

func (s *server) open(t *testing.T) endpoint.Endpoint {
	t.Helper()
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	target, err := endpoint.ParseTarget(h.URL, endpoint.TargetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ep, err := endpoint.Open(t.Context(), target, endpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ep.Close)
	return ep
}

func TestRecord(t *testing.T) {
	t.Parallel()
	s := &server{logprobs: true}
	r, err := Record(t.Context(), s.open(t), Plan{Prompts: 3, AnswerTokens: 7})
	if err != nil {
		t.Fatal(err)
	}
	if r.Prompts() != 3 || !r.Reports() || len(r.calls) != 0 {
		t.Fatalf("recorded %+v", r)
	}
	a := r.answers[1]
	if a.text != "Yes." || len(a.positions) != 2 || a.positions[0].name != "Yes" || a.retold || a.promptTokens.Or(0) != 9 || a.tokens.Or(0) != 2 {
		t.Errorf("an answer: %+v", a)
	}
	// Each prompt without log probabilities first, then with; at temperature 0, so long.
	if len(s.asked) != 6 {
		t.Fatalf("%d requests, want 6", len(s.asked))
	}
	for i, q := range s.asked {
		if q.Logprobs != (i%2 == 1) || q.MaxTokens != 7 || q.Temperature == nil || *q.Temperature != 0 || q.Messages[0].Content != prompts(3)[i/2].text {
			t.Errorf("request %d: %+v", i, q)
		}
		if q.Logprobs && q.TopLogprobs != mostTop {
			t.Errorf("request %d asks for %d likeliest tokens", i, q.TopLogprobs)
		}
	}
}

// A server that refuses 20 likeliest tokens is asked for 5; one that refuses them all, or
// ignores the wish, is not asked again.
func TestRecordWithFewerLogprobs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server  *server
		reports bool
		asked   int
	}{
		"five at most": {&server{logprobs: true, refuse: func(q asked) string {
			if q.TopLogprobs > 5 {
				return "top_logprobs must be at most 5"
			}
			return ""
		}}, true, 3*2 + 1},
		"none": {&server{refuse: func(q asked) string {
			if q.Logprobs {
				return "logprobs are not supported"
			}
			return ""
		}}, false, 3 + 2},
		"ignored": {&server{}, false, 3 + 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.server
			r, err := Record(t.Context(), s.open(t), Plan{Prompts: 3, AnswerTokens: 7})
			if err != nil || r.Reports() != c.reports || len(s.asked) != c.asked || r.Prompts() != 3 {
				t.Errorf("err %v, reports %t, %d requests; want %t, %d", err, r.Reports(), len(s.asked), c.reports, c.asked)
			}
		})
	}
}

func TestRecordCalls(t *testing.T) {
	t.Parallel()
	call := func(name, arguments string) string {
		return fmt.Sprintf(`{"content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":%q,"arguments":%q}}]}`, name, arguments)
	}
	plan := Plan{Calls: 2, Passes: 2}
	for name, c := range map[string]struct{ said, want string }{
		"valid":         {call("get_weather", `{"city":"Oslo"}`), "{true true"},
		"unknown tool":  {call("get_time", `{}`), "{true false there is no tool"},
		"not JSON":      {call("get_weather", `{"city":`), "{true false the arguments are no JSON"},
		"wrong type":    {call("convert_currency", `{"amount":"many","from":"EUR","to":"USD"}`), "{true false the arguments of convert_currency break its schema"},
		"lacks one":     {call("add_event", `{"title":"x","date":"y"}`), "{true false the arguments of add_event break its schema"},
		"nothing in it": {`{"content":"x"}`, "{true false"},
		"no call":       {"", "{false false"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server{calls: c.said}
			r, err := Record(t.Context(), s.open(t), plan)
			if err != nil || len(r.calls) != 2 || len(r.calls[0]) != 2 || len(r.calls[1]) != 2 {
				t.Fatalf("err %v, calls %+v", err, r.calls)
			}
			if got := fmt.Sprint(r.calls[0][0]); !strings.HasPrefix(got, c.want) {
				t.Errorf("judged %s, want %s…", got, c.want)
			}
			if q := s.asked[0]; len(q.Tools) != len(tools) || q.Choice != "auto" || q.MaxTokens == 0 {
				t.Errorf("asked %+v", q)
			}
		})
	}
	s := &server{refuse: func(q asked) string {
		if len(q.Tools) > 0 {
			return "this model knows no tools"
		}
		return ""
	}}
	r, err := Record(t.Context(), s.open(t), Plan{Prompts: 1, AnswerTokens: 7, Calls: 2, Passes: 1})
	if err != nil || len(r.calls) != 1 || len(r.calls[0]) != 0 || r.Prompts() != 1 {
		t.Errorf("tools refused: err %v, %+v", err, r)
	}
}

// When the time is over no prompt is begun, and what was answered is kept.
func TestRecordEndsInTime(t *testing.T) {
	t.Parallel()
	s := &server{logprobs: true}
	r, err := Record(t.Context(), s.open(t), Plan{Prompts: 3, AnswerTokens: 7, Calls: 3, Passes: 1, Until: time.Now()})
	if err != nil || r.Prompts() != 0 || len(s.asked) != 0 {
		t.Errorf("err %v, %d prompts, %d requests; want none", err, r.Prompts(), len(s.asked))
	}
}

// A model that thinks is asked not to: its thinking comes without log probabilities here.
// Where that is refused it is asked as it is.
func TestRecordWhatThinks(t *testing.T) {
	t.Parallel()
	s := &server{logprobs: true, thinks: true}
	r, err := Record(t.Context(), s.open(t), Plan{Prompts: 2, AnswerTokens: 7})
	if err != nil || !r.Reports() || r.answers[0].text != "Yes." || len(s.asked) != 1+2+2 {
		t.Errorf("err %v, %d requests, answers %+v", err, len(s.asked), r.answers)
	}
	s = &server{logprobs: true, thinks: true, refuse: func(q asked) string {
		if q.Template != nil {
			return "unexpected field chat_template_kwargs"
		}
		return ""
	}}
	r, err = Record(t.Context(), s.open(t), Plan{Prompts: 2, AnswerTokens: 7})
	if err != nil || r.Reports() || r.answers[0].text != "Well" || len(s.asked) != 3+1 {
		t.Errorf("refused: err %v, %d requests, answers %+v", err, len(s.asked), r.answers)
	}
}

// A server that does not keep to max_tokens is kept the beginning of, and that is said.
func TestRecordWhatIsTooLong(t *testing.T) {
	t.Parallel()
	s := &server{logprobs: true, endless: 5000}
	r, err := Record(t.Context(), s.open(t), Plan{Prompts: 2, AnswerTokens: 7})
	if err != nil || r.Long() != 2 {
		t.Fatalf("err %v, %d long answers", err, r.Long())
	}
	for _, a := range r.answers {
		if len(a.text) > 7*mostName || len(a.positions) != 7+1 || a.positions[7].name != "word " || a.positions[7].end || a.retold {
			t.Errorf("kept %d bytes and %d positions, the last %+v", len(a.text), len(a.positions), a.positions[len(a.positions)-1])
		}
	}
	c, err := Compare(r, r)
	if err != nil || !strings.Contains(strings.Join(c.evidence(Claim{}), "\n"), "the target does not keep to max_tokens in 2 of 2 prompts") {
		t.Errorf("%v, %q", err, c.evidence(Claim{}))
	}
	b, err := json.Marshal(r)
	var again Recording
	if err != nil || again.UnmarshalJSON(b) != nil || again.Long() != 2 {
		t.Errorf("%v, %d long answers in the file", err, again.Long())
	}
}
