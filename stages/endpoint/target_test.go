package endpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestParseTarget(t *testing.T) {
	for _, c := range []struct{ in, url, printed string }{
		{"http://127.0.0.1:8000", "http://127.0.0.1:8000/v1/models", "http://loopback:8000"},
		{"  http://localhost:8000/ ", "http://localhost:8000/v1/models", "http://loopback:8000"},
		{"HTTP://Secret.Example", "http://Secret.Example/v1/models", "http://host"},
		{"https://secret.example/v1", "https://secret.example/v1/models", "https://host"},
		{"https://secret.example/v1/", "https://secret.example/v1/models", "https://host"},
		{"https://secret.example/v1///", "https://secret.example/v1/models", "https://host"},
		{"https://secret.example/v1/chat/completions", "https://secret.example/v1/models", "https://host"},
		{"https://secret.example/v1/chat/completions/", "https://secret.example/v1/models", "https://host"},
		{"https://secret.example/v1/models", "https://secret.example/v1/models", "https://host"},
		{"https://secret.example/v1/completions", "https://secret.example/v1/models", "https://host"},
		{"https://secret.example:8443/team/llm/v1", "https://secret.example:8443/team/llm/v1/models", "https://host:8443"},
		{"https://secret.example/team/a%2Fb", "https://secret.example/team/a%2Fb/v1/models", "https://host"},
		{"https://secret.example/v10", "https://secret.example/v10/v1/models", "https://host"},
		{"http://[::1]:8000", "http://[::1]:8000/v1/models", "http://loopback:8000"},
		{"http://[2001:db8::7]/v1", "http://[2001:db8::7]/v1/models", "http://host"},
		{"http://192.0.2.7:8000", "http://192.0.2.7:8000/v1/models", "http://host:8000"},
	} {
		target, err := ParseTarget(c.in, TargetOptions{})
		if err != nil {
			t.Errorf("%q: %v", c.in, err)
			continue
		}
		equal(t, c.in, target.url(modelsPath), c.url)
		equal(t, c.in, target.String(), c.printed)
	}
	for in, want := range map[string]string{
		"":                               "no target",
		"   ":                            "no target",
		"127.0.0.1:8000":                 "no address such as",
		"localhost:8000":                 "no address such as",
		"secret.example":                 "no address such as",
		"ftp://secret.example":           "no address such as",
		"unix:///run/secret.sock":        "no address such as",
		"http://":                        "no address such as",
		"http:///v1":                     "no address such as",
		"http://:8000":                   "names no host",
		"http://secret.example:port":     "no address such as",
		"http://secret.example:99999":    "port is not between",
		"http://secret.example:0":        "port is not between",
		"http://sec ret.example":         "no address such as",
		"http://user@secret.example":     "user name or password",
		"http://u:secret@secret.example": "user name or password",
		"http://secret.example?key=1":    "query or fragment",
		"http://secret.example/v1#x":     "query or fragment",
		"http://[::1":                    "no address such as",
		"http://secret.example/\x1b[31m": "no address such as",
	} {
		target, err := ParseTarget(in, TargetOptions{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q: got %v, want %q and no address", in, err, want)
		}
		equal(t, "the target of an error", target.String(), "nowhere")
	}
	target, err := ParseTarget("http://secret.example:8000", TargetOptions{HostLabel: func(h string) string { return fmt.Sprint("h", len(h)) }})
	if err != nil || target.String() != "http://h14:8000" || target.Host() != "secret.example" {
		t.Errorf("labelled: %v, %v, host %q", target, err, target.Host())
	}
	if (Target{}).Host() != "" {
		t.Error("the zero target has a host")
	}
}

func TestHeadersCannotBeInjected(t *testing.T) {
	for name, o := range map[string]TargetOptions{
		"line break in the key":    {Key: "sk-secret\r\nX-Evil: 1"},
		"newline at the key's end": {Key: "sk-secret\n"},
		"NUL in the key":           {Key: "sk-secret\x00"},
		"line break in a value":    {Headers: map[string]string{"X-Team": "sk-secret\nX-Evil: 1"}},
		"line break in a name":     {Headers: map[string]string{"X-Team\r\nX-Evil": "sk-secret"}},
		"colon in a name":          {Headers: map[string]string{"X-Team: a": "sk-secret"}},
		"space in a name":          {Headers: map[string]string{"X Team": "sk-secret"}},
		"no name":                  {Headers: map[string]string{"": "sk-secret"}},
	} {
		if _, err := ParseTarget("http://127.0.0.1:1", o); err == nil || strings.Contains(err.Error(), "secret") || strings.ContainsAny(err.Error(), "\r\n\x00") {
			t.Errorf("%s: %v", name, err)
		}
	}
	target, err := ParseTarget("http://127.0.0.1:1", TargetOptions{Key: "sk-secret", Headers: map[string]string{"x-team": "a\tb"}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := (&client{target: target}).request(t.Context(), http.MethodPost, chatPath, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "Authorization", r.Header.Get("Authorization"), "Bearer sk-secret")
	equal(t, "X-Team", r.Header.Get("X-Team"), "a\tb")
}

// No verb of fmt, no encoder and no error prints the key, a header or the host, also
// where the target lies inside another struct.
func TestTheKeyIsNeverPrinted(t *testing.T) {
	o := TargetOptions{Key: "sk-SECRET1", Headers: map[string]string{"X-Team": "SECRET2"}}
	target, err := ParseTarget("http://SECRET3.example:8000/SECRET4", o)
	if err != nil {
		t.Fatal(err)
	}
	type inside struct {
		t Target
		p *Target
		c *client
	}
	c := &client{target: target}
	values := []any{
		target, &target,
		[]Target{target},
		map[string]Target{"a": target},
		inside{t: target, p: &target},
		&inside{t: target, c: c}, *c, c,
		struct{ T Target }{target},
		Endpoint{&shared{client: c}},
		shared{client: c}.client, o, &o,
		surface{client: c},
		llamacpp{&surface{client: c}},
	}
	for _, v := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X", "%t", "%p", "%T", "%50v", "%-+#v", "%!"} {
			if _, plain := v.(TargetOptions); plain && verb == "%p" {
				continue // fmt asks no method about a pointer verb; vet refuses it
			}
			if got := fmt.Sprintf(verb, v); strings.Contains(got, "SECRET") || strings.Contains(got, fmt.Sprintf("%x", "SECRET")) || strings.Contains(got, fmt.Sprintf("%X", "SECRET")) {
				t.Errorf("%s of %T prints %q", verb, v, got)
			}
		}
		if got := fmt.Sprint(errors.Join(fmt.Errorf("at %v", v))); strings.Contains(got, "SECRET") {
			t.Errorf("an error about %T prints %q", v, got)
		}
	}
	b, err := json.Marshal(struct{ T Target }{target})
	if err != nil || string(b) != `{"T":"http://host:8000"}` {
		t.Errorf("JSON: %s, %v", b, err)
	}
	equal(t, "%q", fmt.Sprintf("%q", target), `"http://host:8000"`)
	equal(t, "options", fmt.Sprintf("%+v", o), "target options (key: true, headers: 1)")
}

// A server that echoes the key does not bring it into a failure, not even half of it
// where the text is cut.
func TestAnEchoedKeyIsTakenOutBeforeTheCut(t *testing.T) {
	const key, header = "sk-0123456789abcdefghijklmnopqrstuvwxyz", "team-0123456789"
	target, err := ParseTarget("http://127.0.0.1:1", TargetOptions{Key: key, Headers: map[string]string{"X-Team": header, "X-Short": "ok"}})
	if err != nil {
		t.Fatal(err)
	}
	for pad := range 60 {
		body := `{"error":{"message":"` + strings.Repeat("y", 90+pad) + " the key " + key + " of " + header + " is ok " + strings.Repeat("z", 150) + `"}}`
		for _, stream := range []bool{false, true} {
			for _, status := range []int{401, 200} {
				c := &client{target: target, limits: testLimits(), http: tripper(func(r *http.Request) (*http.Response, error) {
					resp := jsonReply(status, body)
					if stream && status == 200 {
						resp = jsonReply(status, "data: "+body+"\n\n")
						resp.Header.Set("Content-Type", "text/event-stream")
					}
					return resp, nil
				})}
				send := c.complete
				if stream {
					send = c.stream
				}
				a := send(t.Context(), Prepared{body: []byte("{}"), stream: stream})
				if a.Failure == nil || strings.Contains(a.Failure.Error(), "01234") || strings.Contains(a.Failure.Error(), "uvwxyz") || strings.Contains(a.Failure.Error(), "56789") {
					t.Fatalf("pad %d, stream %t, status %d: %v", pad, stream, status, a.Failure)
				}
			}
		}
	}
	equal(t, "what stands in its place", string(target.hide([]byte("x "+key+" y "+header+" ok"))), "x «API key» y «header X-Team» ok")
}
