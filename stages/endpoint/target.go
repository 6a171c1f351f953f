package endpoint

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"infbench/internal/escapes"
)

// Target is where an endpoint is. However it is printed it shows a redacted address,
// and the key has no accessor. The zero Target is nowhere.
type Target struct {
	// at holds the secrets in a function: fmt calls no method on a field that is not
	// exported, so a struct that holds a Target would print them, and with a verb that
	// does not fit it follows pointers too.
	at func() *place
}

type place struct {
	base    url.URL // without /v1 and without a slash at the end
	label   string
	key     string
	headers http.Header
	secrets []secret // the longest first
}

// secret is what no text of a server may show, and what stands in its place.
type secret struct{ value, label string }

// TargetOptions says how to be let in and how the target is called in writing.
type TargetOptions struct {
	// Key is sent as a bearer token when it is not empty.
	Key string
	// Headers are sent with every request; their values are secrets.
	Headers map[string]string
	// HostLabel names a host in writing. Without it a host that is not the loopback
	// is called "host".
	HostLabel func(host string) string
}

// Format prints nothing of the key and the headers, whatever the verb.
func (o TargetOptions) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "target options (key: %t, headers: %d)", o.Key != "", len(o.Headers))
}

// ParseTarget reads an address such as http://127.0.0.1:8000 or
// https://host/v1. A path other than /v1 is kept, since gateways mount endpoints
// below one.
func ParseTarget(address string, o TargetOptions) (Target, error) {
	address = strings.TrimSpace(address)
	if address == "" {
		return Target{}, errors.New("no target: give an address such as http://127.0.0.1:8000")
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return Target{}, errors.New("the target is no address such as http://127.0.0.1:8000 or https://host/v1 (it begins with http:// or https://)")
	case u.User != nil:
		return Target{}, errors.New("the target holds a user name or password; put the key into an environment variable and name it with --api-key-env")
	case u.RawQuery != "" || u.Fragment != "":
		return Target{}, errors.New("the target holds a query or fragment; give the address alone")
	case u.Hostname() == "":
		return Target{}, errors.New("the target names no host")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return Target{}, errors.New("the target's port is not between 1 and 65535")
		}
	}
	for name, value := range o.Headers {
		if !validHeader(name, value) {
			return Target{}, fmt.Errorf("header %.40q or its value cannot be sent over HTTP", name)
		}
	}
	if !validHeader("Authorization", o.Key) {
		return Target{}, errors.New("the API key holds characters that cannot be sent over HTTP, such as a line break")
	}
	base := url.URL{Scheme: u.Scheme, Host: u.Host, Path: root(u.Path)}
	if u.RawPath != "" {
		base.RawPath = root(u.RawPath)
	}
	p := &place{base: base, key: o.Key, headers: http.Header{}, label: hostLabel(u.Hostname(), o.HostLabel)}
	for name, value := range o.Headers {
		p.headers.Set(name, value)
	}
	if port := u.Port(); port != "" {
		p.label = net.JoinHostPort(p.label, port)
	}
	p.secrets = p.secretsOf()
	return Target{func() *place { return p }}, nil
}

// root cuts what people copy along with an address: /v1 and what stands below it.
func root(path string) string {
	path = strings.TrimRight(path, "/")
	for _, route := range []string{"/chat/completions", "/v1/completions", "/v1/models"} {
		path = strings.TrimSuffix(path, route)
	}
	return strings.TrimRight(strings.TrimSuffix(path, "/v1"), "/")
}

func hostLabel(host string, label func(string) string) string {
	if label != nil {
		return label(host)
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return "loopback"
	}
	return "host"
}

func validHeader(name, value string) bool {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("()<>@,;:\\\"/[]?={}", r) }) {
		return false
	}
	return !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// String returns scheme, host label and port.
func (t Target) String() string {
	if t.at == nil {
		return "nowhere"
	}
	p := t.at()
	return p.base.Scheme + "://" + p.label
}

// Host returns the real host name, for a redactor to hide.
func (t Target) Host() string {
	if t.at == nil {
		return ""
	}
	return t.at().base.Hostname()
}

// Format prints [Target.String] whatever the verb.
func (t Target) Format(f fmt.State, verb rune) {
	if verb == 'q' {
		_, _ = fmt.Fprintf(f, "%q", t.String())
		return
	}
	_, _ = io.WriteString(f, t.String())
}

// MarshalText writes [Target.String].
func (t Target) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// url returns the address of a path below the target.
func (t Target) url(path string) string {
	u := t.at().base
	u.Path += path
	if u.RawPath != "" {
		u.RawPath += path
	}
	return u.String()
}

// authorise puts the key and the headers on a request.
func (t Target) authorise(r *http.Request) {
	p := t.at()
	for name, values := range p.headers {
		r.Header[name] = values
	}
	if p.key != "" {
		r.Header.Set("Authorization", "Bearer "+p.key)
	}
}

func (p *place) secretsOf() []secret {
	out := []secret{{p.key, "«API key»"}}
	for name, values := range p.headers {
		for _, v := range values {
			out = append(out, secret{v, "«header " + name + "»"})
		}
	}
	slices.SortFunc(out, func(a, b secret) int {
		return cmp.Or(cmp.Compare(len(b.value), len(a.value)), cmp.Compare(a.label, b.label))
	})
	return out
}

// Below a length a value is a word that any text may hold: of a body that is quoted, and of
// an answer, whose words are judged.
const leastQuoted, leastJudged = 6, 16

// hide takes the key and the values of the headers out of what a server says, before
// anything is cut: half a key would pass any later redaction. What JSON hides behind
// escapes is found too.
func (t Target) hide(said []byte) []byte {
	secrets := t.at().secrets
	if len(secrets) == 0 || len(secrets[0].value) < leastQuoted {
		return said
	}
	return []byte(escapes.Hide(string(said), func(s string) string { return without(s, secrets, leastQuoted) }))
}

// hideIn takes them out of a text of an answer, and reports whether one was there.
func (t Target) hideIn(text string) (string, bool) {
	hidden := without(text, t.at().secrets, leastJudged)
	return hidden, hidden != text
}

func without(text string, secrets []secret, least int) string {
	for _, s := range secrets {
		if len(s.value) < least {
			break
		}
		text = strings.ReplaceAll(text, s.value, s.label)
	}
	return text
}
