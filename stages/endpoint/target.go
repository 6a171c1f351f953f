package endpoint

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Target is where an endpoint is and how to be let in. Its String is redacted, and
// the key has no accessor. The zero Target is nowhere.
type Target struct {
	base    url.URL // without /v1 and without a slash at the end
	label   string
	key     string
	headers http.Header
}

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
		return Target{}, errors.New("the target is no address such as http://127.0.0.1:8000 or https://host/v1")
	case u.User != nil:
		return Target{}, errors.New("the target holds a user name or password; put the key into an environment variable and name it with --api-key-env")
	case u.RawQuery != "" || u.Fragment != "":
		return Target{}, errors.New("the target holds a query or fragment; give the address alone")
	case u.Hostname() == "":
		return Target{}, errors.New("the target names no host")
	}
	for name, value := range o.Headers {
		if !validHeader(name, value) {
			return Target{}, fmt.Errorf("header %.40q or its value cannot be sent over HTTP", name)
		}
	}
	if !validHeader("Authorization", o.Key) {
		return Target{}, errors.New("the API key holds characters that cannot be sent over HTTP, such as a line break")
	}
	path := strings.TrimRight(u.Path, "/")
	path = strings.TrimSuffix(path, "/chat/completions")
	path = strings.TrimSuffix(path, "/v1")
	t := Target{base: url.URL{Scheme: u.Scheme, Host: u.Host, Path: path}, key: o.Key, headers: http.Header{}}
	for name, value := range o.Headers {
		t.headers.Set(name, value)
	}
	t.label = hostLabel(u.Hostname(), o.HostLabel)
	if port := u.Port(); port != "" {
		t.label = net.JoinHostPort(t.label, port)
	}
	return t, nil
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
	if t.base.Host == "" {
		return "nowhere"
	}
	return t.base.Scheme + "://" + t.label
}

// Host returns the real host name, for a redactor to hide.
func (t Target) Host() string { return t.base.Hostname() }

// GoString keeps the key out of %#v.
func (t Target) GoString() string { return "endpoint.Target(" + t.String() + ")" }

// url returns the address of a path below the target.
func (t Target) url(path string) string {
	u := t.base
	u.Path += path
	return u.String()
}

// authorise puts the key and the headers on a request.
func (t Target) authorise(r *http.Request) {
	for name, values := range t.headers {
		r.Header[name] = values
	}
	if t.key != "" {
		r.Header.Set("Authorization", "Bearer "+t.key)
	}
}
