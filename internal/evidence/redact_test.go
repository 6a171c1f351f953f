package evidence

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"infbench/record"
	"infbench/stages/endpoint"
)

// wrapped returns the ways in which a secret stands in JSON, and in JSON in JSON, with the
// escapes of this library and without.
func wrapped(t interface{ Fatal(...any) }, secret string) []string {
	out := []string{secret}
	for range 2 {
		for _, s := range out {
			html, err := json.Marshal("say " + s + ".")
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(html), quoted("say "+s+"."))
		}
	}
	return out
}

// No secret gets into a bundle: wherever it stood, in whatever escapes, neither the bytes
// of the file nor any text that is read from it holds it.
func TestNoSecretIsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		secret := rapid.StringMatching(`[A-Za-z]{2}[A-Za-z0-9+/=_.&<>"\\'äé-]{8,28}[A-Za-z0-9]{2}`).Draw(rt, "secret")
		r := record.NewRedactor(make([]byte, 32))
		r.Hide("API key", secret)
		r.HideHost("gpu7.example.org")
		forms := wrapped(rt, secret)
		text := func(label string) string {
			return rapid.SampledFrom([]string{"", "ok ", `{"a":`, "\\", `"`}).Draw(rt, label+" before") + rapid.SampledFrom(forms).Draw(rt, label) +
				" http://gpu7.example.org:8000/x at gpu7.example.org" + rapid.SampledFrom([]string{"", "}", `\`, `"`, ` "x": "\n"`}).Draw(rt, label+" after")
		}
		alt := endpoint.Alternative{Token: text("token")}
		x := Exchange{Body: text("body"), Raw: text("raw"), Answer: endpoint.Answer{
			Content: text("content"), Reasoning: text("reasoning"), Refusal: text("refusal"), Finish: text("finish"), ID: text("id"), Model: text("model"),
			Calls:    []endpoint.ToolCall{{ID: text("call"), Name: text("name"), Arguments: text("arguments")}},
			Logprobs: []endpoint.TokenLogprob{{Alternative: alt, Top: []endpoint.Alternative{alt}}}, Broke: []endpoint.Breach{{What: text("breach")}},
			Failure: &endpoint.Failure{Kind: endpoint.Refused, Said: text("said"), What: text("what"), Hint: text("hint")},
		}}
		p := parts(t, x)
		p.Model, p.Harness, p.Command = text("served"), text("harness"), text("command")
		b, err := New(p, r.Text)
		if err != nil {
			rt.Fatal(err)
		}
		doc := unpacked(t, packed(t, b))
		// The parts between escapes would be found in the bytes; the whole is found when read.
		all := []string{doc, fmt.Sprintf("%+v", b.Exchanges()), fmt.Sprintf("%+v", *b.Exchanges()[0].Answer.Failure), b.Model(), b.Harness(), b.Command()}
		for i, s := range all {
			for _, form := range forms {
				if strings.Contains(s, strings.Trim(form, `"`)) {
					rt.Fatalf("text %d holds the secret %q as %q:\n%s", i, secret, form, s)
				}
			}
			if strings.Contains(s, "gpu7") {
				rt.Fatalf("text %d holds the host name:\n%s", i, s)
			}
		}
		if got := b.Exchanges()[0]; !got.Redacted {
			rt.Fatal("it does not say that it was changed")
		}
	})
}

// What holds no secret is left as it is, byte for byte: it shall be sent again.
func TestTheRestIsNotChanged(t *testing.T) {
	t.Parallel()
	r := record.NewRedactor(make([]byte, 32))
	r.Hide("API key", "sk-0123456789")
	body := `{"messages":[{"content":"a \"quoted\" word\u0026 more\n<b>","role":"user"}],"x":"\ud83d\ude00\/"}`
	for _, body := range []string{body, body[:40], `"\q`, "\xff\"\\n\"", "{}"} {
		x := Exchange{Body: body}.redacted(r.Text)
		if x.Body != body || x.Redacted {
			t.Errorf("%q became %q", body, x.Body)
		}
	}
}

// A key that a model spells token by token is not kept as logprobs either.
func TestNoSecretIsSpelt(t *testing.T) {
	t.Parallel()
	r := record.NewRedactor(make([]byte, 32))
	r.Hide("API key", "sk-0123456789")
	spelt := func(tokens ...string) (out []endpoint.TokenLogprob) {
		for _, s := range tokens {
			out = append(out, endpoint.TokenLogprob{Alternative: endpoint.Alternative{Token: s}})
		}
		return out
	}
	if x := (Exchange{Answer: endpoint.Answer{Logprobs: spelt("the", " sk", "-0123", "456", "789")}}).redacted(r.Text); x.Answer.Logprobs != nil {
		t.Errorf("kept %v", x.Answer.Logprobs)
	}
	if x := (Exchange{Answer: endpoint.Answer{Logprobs: spelt("the", " cat")}}).redacted(r.Text); len(x.Answer.Logprobs) != 2 || x.Redacted {
		t.Errorf("kept %v", x.Answer.Logprobs)
	}
}
