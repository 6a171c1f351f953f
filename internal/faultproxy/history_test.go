package faultproxy_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// A history is a conversation with one call in each turn; the result of turn i is i.
func history(turns int, id func(i int) string) string {
	list := []string{`{"role":"system","content":"S"}`, `{"role":"user","content":"go"}`}
	for i := range turns {
		list = append(list, fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":%[1]q,"type":"function","function":{"name":"lookup","arguments":"{ \"k\":%[2]d}"}}]}`, id(i), i),
			fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":"result %d"}`, id(i), i))
	}
	return strings.Join(list, ",")
}

func plainID(i int) string { return fmt.Sprintf("call_%d", i) }

func native(i int) string { return fmt.Sprintf("functions.lookup:%d", i) }

// seen returns the messages that reach the server, and the answer's status.
func seen(t *testing.T, spec, messages string) (string, int) {
	t.Helper()
	got := ""
	p := proxy(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = gjson.GetBytes(b, "messages").Raw
	}), spec)
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/chat/completions", strings.NewReader(`{"messages":[`+messages+`]}`)))
	return strings.TrimSuffix(strings.TrimPrefix(got, "["), "]"), w.Code
}

var results = regexp.MustCompile(`result \d+`)

func TestDropsTurn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		spec     string
		messages string
		lost     string
	}{
		{"drops-turn", history(4, plainID), ""}, // 10 messages
		{"drops-turn", history(5, plainID), "2"},
		{"drops-turn", history(8, plainID), "2"}, // the same one, however long it gets
		{"drops-turn:messages=16", history(7, plainID), "3"},
		{"drops-turn:messages=6", history(2, plainID), "0"},
		{"drops-turn:messages=4", history(1, plainID), ""}, // the newest result stays
		{"drops-turn:messages=0", "", ""},
		{"drops-turn:messages=2", `{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}`, ""},
		// No ids: the result alone can be told.
		{"drops-turn:messages=2", `{"role":"user","content":"a"},{"role":"tool","content":"result 7"},{"role":"user","content":"c"}`, "7"},
	} {
		got, _ := seen(t, test.spec, test.messages)
		if test.lost == "" {
			if got != test.messages {
				t.Errorf("%s: became %s", test.spec, got)
			}
			continue
		}
		had, has := results.FindAllString(test.messages, -1), results.FindAllString(got, -1)
		if len(has) != len(had)-1 || strings.Contains(got, "result "+test.lost) {
			t.Errorf("%s: the server sees %v, want all but %s", test.spec, has, test.lost)
		}
		if calls := strings.Count(got, `"tool_calls"`); strings.Contains(test.messages, "tool_calls") && calls != len(has) || strings.Contains(got, `"call_`+test.lost+`"`) {
			t.Errorf("%s: a call is left over: %s", test.spec, got)
		}
	}
	// Of two calls in one turn only the one goes, and text stays.
	const two = `{"role":"user","content":"a"},{"role":"assistant","content":"Let me see.","tool_calls":[{"id":"x"},{"id":"y"}]},{"role":"tool","tool_call_id":"x","content":"1"},{"role":"tool","tool_call_id":"y","content":"2"},{"role":"user","content":"c"}`
	got, _ := seen(t, "drops-turn:messages=4", two)
	if want := strings.Replace(strings.Replace(two, `{"id":"x"},`, "", 1), `{"role":"tool","tool_call_id":"x","content":"1"},`, "", 1); quoteAny(gjson.Parse("["+got+"]").Value()) != quoteAny(gjson.Parse("["+want+"]").Value()) {
		t.Errorf("two calls: %s", got)
	}
	one := strings.NewReplacer(`,{"id":"y"}`, "", `{"role":"tool","tool_call_id":"y","content":"2"},`, "").Replace(two)
	if got, _ = seen(t, "drops-turn:messages=4", one); strings.Contains(got, "tool") || !strings.Contains(got, "Let me see.") {
		t.Errorf("text and call: %s", got)
	}
}

func TestIDsRewritten(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		spec, messages string
		status, calls  int
	}{
		{"ids-rewritten", history(0, plainID), 200, 0},
		{"ids-rewritten", history(3, native), 200, 3},
		{"ids-rewritten", history(1, plainID), 400, 0},
		{"ids-rewritten", history(1, func(int) string { return "functions.lookup" }), 400, 0},
		{"ids-rewritten", history(1, func(int) string { return "chatcmpl-tool-1f" }), 400, 0},
		{"ids-rewritten", strings.Replace(history(1, native), `"tool_call_id":"functions.lookup:0"`, `"tool_call_id":"x"`, 1), 400, 0},
		{"ids-rewritten:how=drop", history(3, native), 200, 3},
		{"ids-rewritten:how=drop", history(3, plainID), 200, 0},
		{"ids-rewritten:how=drop", history(2, plainID) + "," + strings.TrimPrefix(history(3, native), history(0, native)+","), 200, 3},
	} {
		got, status := seen(t, test.spec, test.messages)
		if status != test.status || strings.Count(got, `"tool_calls"`) != test.calls || strings.Count(got, `"role":"tool"`) != test.calls {
			t.Errorf("%s: status %d, the server sees %s", test.spec, status, got)
		}
		if test.status == 200 && test.calls == strings.Count(test.messages, `"tool_calls"`) && got != test.messages {
			t.Errorf("%s: became %s", test.spec, got)
		}
	}
	// A client that hands back the ids it got is understood.
	for _, how := range []string{"refuse", "drop"} {
		for _, stream := range []bool{true, false} {
			url := serve(t, proxy(t, fake{}, "ids-rewritten:how="+how))
			good := chat(t, serve(t, fake{}), "tool", stream, withTool)
			got := chat(t, url, "tool", stream, withTool)
			if s := tools(func(c call) bool { return c.id == "functions.lookup:0" && c.args == good.calls[0].args })(got, good); s != "" || got.calls[1].id != "functions.lookup:1" {
				t.Errorf("%s\n%s", s, got.raw)
			}
			later := chat(t, url, "", stream, withTool+`,"messages":[`+history(2, native)+`,{"role":"user","content":"single tool"}]`)
			if later.status != 200 || later.calls[0].id != "functions.lookup:2" {
				t.Errorf("later: %s", later.raw)
			}
		}
	}
}

func TestTextAndCall(t *testing.T) {
	t.Parallel()
	const text = `{"role":"assistant","content":"Let me see.","tool_calls":[{"id":"a","function":{"name":"lookup"}}]},{"role":"tool","tool_call_id":"a","content":"x"}`
	for _, stream := range []bool{true, false} {
		url, control := serve(t, proxy(t, fake{}, "text-and-call")), serve(t, fake{})
		for messages, hit := range map[string]bool{
			`{"role":"user","content":"tool"}`:                                                                true,
			history(2, plainID) + `,{"role":"user","content":"tool"}`:                                         false,
			`{"role":"assistant","content":"Let me see."},{"role":"user","content":"tool"}`:                   false,
			`{"role":"assistant","content":"Yes.","tool_calls":[]},{"role":"user","content":"tool"}`:          false,
			text + `,{"role":"user","content":"tool"}`:                                                        true,
			text + `,` + history(1, plainID) + `,{"role":"user","content":"tool"}`:                            true,
			text + `,` + history(1, plainID) + `,{"role":"user","content":"The code is 48213907, say hello"}`: false,
		} {
			hit = hit && strings.Contains(messages, "Let me see")
			more := withTool + `,"messages":[` + messages + `]`
			got, good := chat(t, url, "", stream, more), chat(t, control, "", stream, more)
			if !hit && got.raw != good.raw {
				t.Errorf("%s: got %s", messages, got.raw)
			}
			if s := all(healthy(got), want(len(got.calls) == 0 && strings.HasPrefix(got.text, "<tool_call>") && got.finish[0] == "stop", got.text)); hit && s != "" {
				t.Errorf("%s: %s", messages, s)
			}
		}
	}
}

func TestReasoningReturned(t *testing.T) {
	t.Parallel()
	for spec, each := range map[string]int64{"reasoning-returned": 400, "reasoning-returned:tokens=25": 25} {
		for _, stream := range []bool{true, false} {
			url, control := serve(t, proxy(t, fake{}, spec)), serve(t, fake{})
			for _, turns := range []int{0, 1, 5} {
				more := `,"messages":[` + history(turns, plainID) + `,{"role":"user","content":"The code is 48213907."}]`
				got, good := chat(t, url, "", stream, more), chat(t, control, "", stream, more)
				if s := same(got, good); s != "" || got.usage.Get("prompt_tokens").Int() != good.usage.Get("prompt_tokens").Int()+each*int64(turns) {
					t.Errorf("%s, %d turns: %s %s", spec, turns, s, got.usage.Raw)
				}
				if turns == 0 && got.raw != good.raw {
					t.Errorf("no turn: %s", got.raw)
				}
			}
		}
	}
}
