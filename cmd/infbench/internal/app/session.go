package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"

	"infbench/gates"
	"infbench/record"
	"infbench/stages/checkpoint"
	"infbench/stages/checkpoint/remote"
	"infbench/stages/correctness"
	"infbench/stages/endpoint"
	"infbench/stages/performance"
)

// session is what one run is about: a target that is opened when the first stage
// needs it, a checkpoint, and the identity that comes of both.
type session struct {
	set       settings
	target    endpoint.Target
	redactor  *record.Redactor
	inventory checkpoint.Inventory
	hasCkpt   bool
	inFlight  int

	waiting func(why string)        // is told why a server is waited for
	observe func(endpoint.Exchange) // is told of each exchange

	once sync.Once
	ep   endpoint.Endpoint
	err  error

	hosting hosting

	reference     endpoint.Target
	referenceOnce sync.Once
	referenceEp   endpoint.Endpoint
	referenceErr  error
}

// newSession checks everything that can be checked without asking the server.
func newSession(s settings) (*session, error) {
	out := &session{set: s, inFlight: 1}
	dir, err := os.UserConfigDir()
	if err != nil {
		dir = os.TempDir()
	}
	out.redactor = record.LoadRedactor(filepath.Join(dir, "infbench"))
	out.redactor.Hide("API key", s.key)
	for name, value := range s.headers {
		out.redactor.Hide("header "+name, value)
	}
	for _, m := range s.arrivals {
		out.inFlight = max(out.inFlight, m.Sessions(), m.Requests())
		if m.Open() { // its company is an output of the run; the gates look at eight
			out.inFlight = max(out.inFlight, 8)
		}
	}
	if s.Target != "" {
		out.target, err = endpoint.ParseTarget(s.Target, endpoint.TargetOptions{Key: s.key, Headers: s.headers, HostLabel: out.redactor.Host})
		if err != nil {
			return nil, usageError{err.Error()}
		}
		out.redactor.HideHost(out.target.Host())
	}
	return out, out.nameReference()
}

// openCheckpoint reads the checkpoint's small files and headers.
func (s *session) openCheckpoint(ctx context.Context) error {
	if s.set.Checkpoint == "" {
		return nil
	}
	// Nearly all that reading headers takes is kept: collecting garbage meanwhile doubles
	// the time and frees nothing.
	before := debug.SetGCPercent(400)
	inv, err := s.inventoryOf(ctx)
	debug.SetGCPercent(before)
	switch {
	case ctx.Err() != nil:
		return stoppedWhile(ctx, "the checkpoint's headers were read; nothing was examined")
	case err != nil:
		return usageError{err.Error()}
	}
	s.inventory, s.hasCkpt = inv, true
	return nil
}

func (s *session) inventoryOf(ctx context.Context) (checkpoint.Inventory, error) {
	if !remote.IsURL(s.set.Checkpoint) {
		if s.set.Revision != "" {
			return checkpoint.Inventory{}, errors.New("--revision goes with a checkpoint that is named by a URL")
		}
		return checkpoint.Open(s.set.Checkpoint)
	}
	o := remote.Options{Revision: s.set.Revision, Token: s.hubToken, CacheDir: s.set.HeaderCache}
	switch dir, err := os.UserCacheDir(); {
	case o.CacheDir == "off":
		o.CacheDir = ""
	case o.CacheDir == "" && err == nil:
		o.CacheDir = filepath.Join(dir, "infbench", "headers")
	}
	return remote.Open(ctx, s.set.Checkpoint, o)
}

// hubToken returns the token for a hub: one that was named for the purpose goes to the
// host that was named, the usual one only to the host that it is usual for.
func (s *session) hubToken(u *url.URL) string {
	s.redactor.HideHost(u.Hostname())
	token := os.Getenv("INFBENCH_HUB_TOKEN")
	if token == "" {
		home, err := url.Parse(cmp.Or(os.Getenv("HF_ENDPOINT"), "https://huggingface.co"))
		if err == nil && strings.EqualFold(u.Host, home.Host) && u.Scheme == home.Scheme {
			token = os.Getenv("HF_TOKEN")
		}
	}
	token = strings.TrimSpace(token)
	s.redactor.Hide("hub token", token)
	return token
}

// open opens the endpoint once; every stage gets the same one.
func (s *session) open(ctx context.Context) (endpoint.Endpoint, error) {
	s.once.Do(func() {
		o := endpoint.Options{Model: s.set.Model, Limits: endpoint.DefaultLimits().Within(s.set.Timeout), InFlight: s.inFlight, Seed: s.seed(), Observe: s.observe, Context: s.context()}
		if s.set.waitReady > 0 {
			if s.err = endpoint.Await(ctx, s.target, o, s.set.waitReady, s.waiting); s.err != nil {
				return
			}
		}
		s.ep, s.err = endpoint.Open(ctx, s.target, o)
	})
	return s.ep, s.err
}

// correctness returns how far stage 3 goes.
func (s *session) correctness(stated func(correctness.Estimate)) correctness.Options {
	o := correctness.Options{Budget: s.set.Budget, Invariant: s.set.BatchInvariant, LoadTokens: performance.PromptTokensOf(s.set.workload, s.set.arrivals, s.ep.ContextTokens(0)), Claim: s.set.claim, Stated: stated}
	if s.hasReference() {
		o.Reference = s.openReference
	}
	return o
}

// context returns the context that is stated, by the person or else by the checkpoint.
func (s *session) context() endpoint.StatedContext {
	if s.set.Context == 0 && s.hasCkpt {
		n, _ := s.inventory.Config().Count("max_position_embeddings")
		return endpoint.StatedContext{Tokens: int(n)}
	}
	return endpoint.StatedContext{Tokens: s.set.Context, Promised: s.set.Context > 0}
}

// seed draws a number that no other run has: prompts that were sent before would be in
// the server's cache. Canaries and workload each draw their own.
func (s *session) seed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails; see its documentation
	return binary.LittleEndian.Uint64(b[:])
}

func (s *session) isOpen() bool { return s.ep != (endpoint.Endpoint{}) }

func (s *session) close() {
	if s.isOpen() {
		s.ep.Close()
	}
	if s.referenceEp != (endpoint.Endpoint{}) {
		s.referenceEp.Close()
	}
}

// identity returns who was examined, as far as it is known by now. Of the host, the zero one
// where nobody looked, it takes the image that the engine here runs in.
func (s *session) identity(cache string, h record.Host) (record.Identity, error) {
	unasked := "the endpoint was not opened"
	p := record.IdentityParts{
		Engine: record.Unknown(unasked), Build: record.Unknown(unasked), Config: record.Unknown(unasked), Process: record.Unknown(unasked),
		Image: record.Unknown("a server cannot tell its image; state it with --image"), Checkpoint: record.Unknown("no checkpoint was given"),
		Accelerator: record.Unknown("the engine does not tell; state it with --device"), Cache: record.Unknown("nothing was measured"),
	}
	if cache != "" {
		p.Cache = record.Known(cache)
	}
	if s.target.String() != "nowhere" {
		p.Endpoint = s.target.String()
	}
	if s.hasCkpt {
		p.Checkpoint = record.Known(s.inventory.Name() + " " + short(s.inventory.Fingerprint()))
	}
	if v := h.Parts().Engine.Image; v != "" {
		p.Image = record.Known(v)
	}
	if s.ep != (endpoint.Endpoint{}) {
		s.describe(&p)
	}
	if v := s.set.Identity.Image; v != "" {
		p.Image = record.Known(v)
	}
	if v := s.set.Identity.Checkpoint; v != "" {
		p.Checkpoint = record.Known(v)
	}
	// What was taken from this machine is no better than what the engine tells.
	if _, told := p.Accelerator.Value(); s.set.Hardware.Device != "" && !(s.set.auto && told) {
		v := s.set.Hardware.Device
		p.Accelerator = record.Known(v)
	}
	return record.NewIdentity(p)
}

// describe fills in what the server told of itself.
func (s *session) describe(p *record.IdentityParts) {
	b := s.ep.Build()
	told := func(v, missing string) record.Part {
		if v == "" {
			return record.Unknown(missing)
		}
		return record.Known(s.redactor.Text(v))
	}
	p.Engine = record.Known(s.ep.Engine().Name())
	p.Build = told(b.Version, "the engine does not tell its version")
	p.Config = told(b.Config, "the engine does not tell its configuration")
	p.Process = told(b.Process, "the engine does not tell when it started")
	p.Model = s.redactor.Text(modelName(s.ep.Model()))
	if b.Device != "" {
		p.Accelerator = told(b.Device, "")
	}
	if b.Image != "" {
		p.Image = told(b.Image, "")
	}
	if !s.hasCkpt && b.Checkpoint != "" {
		p.Checkpoint = told(b.Checkpoint+" (as the engine names it)", "")
	}
}

// modelName keeps the last element of a model that is served under its local path.
func modelName(m string) string {
	if strings.HasPrefix(m, "/") || strings.HasPrefix(m, "~") || len(m) > 2 && m[1] == ':' && m[2] == '\\' {
		return filepath.Base(strings.ReplaceAll(m, `\`, "/"))
	}
	return m
}

func short(fingerprint string) string {
	fingerprint = strings.TrimPrefix(fingerprint, "sha256:")
	if len(fingerprint) > 12 {
		fingerprint = fingerprint[:12]
	}
	return fingerprint
}

// subject returns what the verdicts are about.
func (s *session) subject(cache string) gates.Subject {
	id, err := s.identity(cache, record.Host{}) // the image is no part of it
	if err != nil {
		return gates.Subject{}
	}
	return id.Subject()
}
