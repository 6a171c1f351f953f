package record

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"infbench/internal/escapes"
)

// Redactor replaces host names and secrets before anything is written. Host labels
// are keyed, so that they are stable for one person and cannot be looked up by
// another. The zero Redactor is not usable.
type Redactor struct {
	key     []byte
	secrets []replacement
}

type replacement struct{ from, to string }

// minSecret is the length below which a value is no secret: replacing every "a" of
// a text would destroy it and hide nothing.
const minSecret = 4

// NewRedactor returns a redactor with the given key.
func NewRedactor(key []byte) *Redactor { return &Redactor{key: slices.Clone(key)} }

// LoadRedactor returns a redactor whose key is kept in dir, and makes the key at
// first. Where dir cannot be written the key lives for this run only: labels are
// then not stable, and nothing else is lost.
func LoadRedactor(dir string) *Redactor {
	path := filepath.Join(dir, "redaction.key")
	if key, err := os.ReadFile(path); err == nil && len(key) >= 32 {
		return NewRedactor(key[:32])
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails; see its documentation
	if os.MkdirAll(dir, 0o700) == nil {
		if f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
			_, _ = f.Write(key)
			_ = f.Close()
		}
	}
	return NewRedactor(key)
}

// Host returns the label of a host: "loopback", or "host-" and ten hex digits.
func (r *Redactor) Host(host string) string {
	host = strings.ToLower(strings.Trim(host, "[]"))
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return "loopback"
	}
	mac := hmac.New(sha256.New, r.key)
	mac.Write([]byte(host))
	return "host-" + hex.EncodeToString(mac.Sum(nil)[:5])
}

// Hide makes Text replace a secret by «name».
func (r *Redactor) Hide(name, secret string) {
	if len(secret) < minSecret {
		return
	}
	for _, form := range inJSON(secret, 2) {
		r.add(form, "«"+name+"»")
	}
	if len(secret) > partSecret {
		r.add(strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(secret)), "="), "«"+name+"»")
	}
}

// inJSON returns the forms of a text as it stands in JSON, so many times in one another:
// with escapes for HTML, without, and with the slashes escaped. The text itself is one.
func inJSON(s string, deep int) []string {
	out := []string{s}
	for range deep {
		for _, s := range out {
			html, _ := json.Marshal(s) // a string always does
			var plain bytes.Buffer
			e := json.NewEncoder(&plain)
			e.SetEscapeHTML(false)
			_ = e.Encode(s)
			for _, form := range []string{string(html), strings.TrimSpace(plain.String())} {
				form = form[1 : len(form)-1]
				out = append(out, form, strings.ReplaceAll(form, "/", `\/`))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// HideHost makes Text replace a host name by its label.
func (r *Redactor) HideHost(host string) {
	if label := r.Host(host); label != "loopback" && host != "" {
		r.add(host, label)
	}
}

// add keeps the longest first, so that a secret inside another one does not leave
// a piece of it behind.
func (r *Redactor) add(from, to string) {
	r.secrets = append(r.secrets, replacement{from, to})
	slices.SortStableFunc(r.secrets, func(a, b replacement) int { return len(b.from) - len(a.from) })
}

// partSecret is the length from which the beginning of a secret is one itself: servers
// quote keys in part, or in capitals.
const partSecret = 8

// Text returns s without the secrets and hosts it was told of, in whole or from their
// beginning, in either case, behind whatever escapes of JSON, and in base64; and with the folders of people's paths cut off.
func (r *Redactor) Text(s string) string { return escapes.Hide(s, r.plain) }

// plain is Text for what has no escapes that the redactor does not know.
func (r *Redactor) plain(s string) string {
	for _, x := range r.secrets {
		s = strings.ReplaceAll(s, x.from, x.to)
	}
	for _, x := range r.secrets { // after all whole ones, of which this would leave the end
		if len(x.from) > partSecret {
			s = replaceFrom(s, x.from, x.to)
		}
	}
	s = homes.ReplaceAllString(s, "…/$1")
	return addresses.ReplaceAllStringFunc(s, r.address)
}

// addresses are the forms in which a server names other machines: in a URL, with a
// port, and of a private network. Bare dotted names are not among them, since a
// module's or a file's looks alike; nor is 10/8, since versions of four parts do.
var addresses = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://(?:[^\s/@"'<>]*@)?(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)` +
	`|\b(?:\d{1,3}\.){3}\d{1,3}:\d{1,5}\b|\b(?:192\.168|172\.(?:1[6-9]|2\d|3[01]))(?:\.\d{1,3}){2}\b`)

// labels are hosts that are replaced already, and loopback.
var labels = regexp.MustCompile(`^(host-[0-9a-f]{10}|loopback|HOST)$`)

// address replaces the host of what addresses found.
func (r *Redactor) address(s string) string {
	before, rest := "", s
	if scheme, after, ok := strings.Cut(s, "://"); ok {
		before, rest = scheme+"://", after[strings.LastIndexByte(after, '@')+1:]
	}
	host, port := rest, ""
	if i := strings.LastIndexByte(rest, ':'); i > 0 && !strings.HasSuffix(rest, "]") {
		host, port = rest[:i], rest[i:]
	}
	if labels.MatchString(host) || r.Host(host) == "loopback" {
		return before + rest
	}
	return before + r.Host(host) + port
}

// homes are paths below the folders in which people and machines show.
var homes = regexp.MustCompile(`(?:\.\./)*/(?:home|Users|root|mnt|data|srv|workspace)/(?:[^\s"'<>|/\\]+/)*([^\s"'<>|/\\]+)`)

// replaceFrom replaces what begins like a secret, as far as it goes on like it.
func replaceFrom(s, secret, to string) string {
	low, want := strings.ToLower(s), strings.ToLower(secret)
	if len(low) != len(s) { // lowering changed lengths: positions would not fit
		return s
	}
	for from := 0; ; {
		i := strings.Index(low[from:], want[:partSecret])
		if i < 0 {
			return s
		}
		i += from
		n := partSecret
		for n < len(want) && i+n < len(low) && low[i+n] == want[n] {
			n++
		}
		s, low = s[:i]+to+s[i+n:], low[:i]+strings.ToLower(to)+low[i+n:]
		from = i + len(to)
	}
}
