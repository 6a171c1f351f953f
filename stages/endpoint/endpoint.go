package endpoint

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/tidwall/gjson"

	"infbench/gates"
	"infbench/internal/shallow"
)

// Options say how an endpoint is opened.
type Options struct {
	// Model is the served model to ask; "" takes the only or first one listed.
	Model string
	// Limits bound each request; the zero value means [DefaultLimits].
	Limits Limits
	// InFlight is the largest number of requests that will be in flight at once.
	InFlight int
	// Observe, if not nil, is told of each exchange with the model after its end, by the
	// goroutine that asked: by several at once where several ask.
	Observe func(Exchange)
	// Seed makes the canaries; every run should have its own.
	Seed uint64
	// Context is stated for a server that does not say its own.
	Context StatedContext
	// Transport replaces the network in tests.
	Transport http.RoundTripper
}

// StatedContext is the context of a served model by another account than the server's.
// The zero value states none.
type StatedContext struct {
	Tokens int
	// Promised says that the server is meant to offer it: what the person said, and not
	// what the checkpoint could do.
	Promised bool
}

// Endpoint is an opened target: what it is has been found out, and every question
// goes through it. It is safe for concurrent use. It is a value that shares its
// connections and canaries with its copies; the zero Endpoint cannot ask.
type Endpoint struct{ *shared }

type shared struct {
	client   *client
	engine   Engine
	build    Build
	model    string
	models   []string
	lacks    sync.Map // gates.Capability → string
	refused  sync.Map // optional request field → struct{}
	canaries *gates.Canaries
	inFlight int
	stated   StatedContext
	kept     sync.Map // name → kept; see [Remember]
	tallying sync.Mutex
	scripts  gates.ScriptTally
	observe  func(Exchange)
	hearing  hearing
	requests atomic.Int64
	right    atomic.Bool
	unheard  atomic.Int64 // questions in a row without an answer in time
}

// Open asks the target what it is. It returns a [*Failure] when it cannot be
// reached, does not let us in, or is no such API.
func Open(ctx context.Context, t Target, o Options) (Endpoint, error) {
	if o.Limits == (Limits{}) {
		o.Limits = DefaultLimits()
	}
	c := newClient(t, o.Limits, o.InFlight)
	if o.Transport != nil {
		c.http, c.again, c.close = o.Transport, nil, func() {}
	}
	looking := o.Limits.Within(openLimit)
	looking.Total = looking.First
	s := &surface{client: &client{target: t, http: c.http, limits: looking}, seen: map[string]*reply{}}
	list, err := s.modelList(ctx)
	if err != nil && (o.Model == "" || decisive(err)) {
		c.close()
		return Endpoint{}, err
	}
	sh := &shared{client: c, models: list, observe: o.Observe, canaries: gates.NewCanaries(o.Seed), inFlight: max(1, o.InFlight), stated: o.Context}
	if sh.model = o.Model; sh.model == "" {
		sh.model = list[0]
	}
	s.model = sh.model
	sh.engine = recognise(ctx, s)
	ep := Endpoint{sh}
	if sh.build, err = ep.Identify(ctx); err != nil {
		c.close()
		return Endpoint{}, fmt.Errorf("identify the engine: %w", err)
	}
	if o.Model != "" && len(list) > 0 && !slices.Contains(list, o.Model) {
		if err := ep.probeModel(ctx, list); err != nil {
			c.close()
			return Endpoint{}, err
		}
	}
	return ep, nil
}

// openLimit bounds each question that Open puts: a server that accepts and never
// answers is found out within it.
const openLimit = 15 * time.Second

// decisive reports whether a failure to list the models ends the opening even
// though the model is known: some servers cannot list and serve all the same.
func decisive(err error) bool {
	var f *Failure
	if !errors.As(err, &f) {
		return true
	}
	switch f.Kind {
	case Unreachable, BadTLS, Unauthorized, TooSlow, Stopped:
		return true
	default:
		return false
	}
}

// probeModel asks a model that is not listed for one token, so that an unknown name
// is one clear line and not the failure of every check.
func (e Endpoint) probeModel(ctx context.Context, list []string) error {
	a := e.Complete(ctx, Chat("Hello").MaxTokens(1))
	var f *Failure
	if errors.As(a.Err(), &f) && (f.Kind == UnknownModel || f.Kind == Refused) {
		f.Kind = UnknownModel
		f.What = fmt.Sprintf("the model %s is not served", gates.Quote(e.model, 80))
		f.Hint = "served: " + gates.Printable(strings.Join(list, ", "), 200)
		return f
	}
	return nil
}

// Close closes idle connections.
func (e Endpoint) Close() { e.client.close() }

// Model returns the name of the model that is asked.
func (e Endpoint) Model() string { return e.model }

// Models returns the models that the server lists.
func (e Endpoint) Models() []string { return slices.Clone(e.models) }

// Serves reports whether the server lists a model of that name.
func (e Endpoint) Serves(model string) bool { return slices.Contains(e.models, model) }

// Engine returns the adapter of the engine behind the endpoint.
func (e Endpoint) Engine() Engine { return e.engine }

// Build returns what the engine says of itself.
func (e Endpoint) Build() Build { return e.build }

// Target returns where the endpoint is.
func (e Endpoint) Target() Target { return e.client.target }

// Canaries returns the run's ledger of canaries.
func (e Endpoint) Canaries() *gates.Canaries { return e.canaries }

// InFlight returns the largest number of requests that will be in flight at once.
func (e Endpoint) InFlight() int { return e.inFlight }

// Requests returns the number of requests sent to the model so far.
func (e Endpoint) Requests() int64 { return e.requests.Load() }

// Unable returns why the endpoint lacks a capability, "" when it has it or nothing
// is known to the contrary. It implements [gates.Able].
func (e Endpoint) Unable(c gates.Capability) string {
	if e.shared == nil {
		return "the endpoint was not opened"
	}
	if why, ok := e.lacks.Load(c); ok {
		return why.(string)
	}
	return e.engine.Unable(c)
}

// FoundUnable notes that a capability turned out to be missing, for the checks that
// come later. why is in the server's own words where there are any.
func (e Endpoint) FoundUnable(c gates.Capability, why string) { e.lacks.Store(c, why) }

// Refused returns the optional request fields that the server has refused.
func (e Endpoint) Refused() []string {
	var out []string
	for _, f := range optional {
		if e.isRefused(f.name) {
			out = append(out, f.name)
		}
	}
	return out
}

func (e Endpoint) isRefused(field string) bool { _, ok := e.refused.Load(field); return ok }

// Prepare builds a request's body.
func (e Endpoint) Prepare(r Request, stream bool) (Prepared, error) {
	body, err := r.body(cmp.Or(r.model, e.model), stream, e.isRefused)
	if err != nil {
		return Prepared{}, fmt.Errorf("build the request: %w", err)
	}
	return Prepared{body: body, stream: stream, maxTokens: r.maxTokens, hangUp: r.hangUp, speaks: r.speaks}, nil
}

// Send sends a prepared request once. The answer says itself what went wrong.
func (e Endpoint) Send(ctx context.Context, p Prepared) Answer {
	return e.Exchange(ctx, p).Answer
}

// Post sends a body as it is, which may be no request at all, and returns what came: the
// status, and the body of any length up to that of an answer. It is for asking how a
// server refuses; an error means that nothing came. The key is taken out of it, since it is
// going to be quoted.
func (e Endpoint) Post(ctx context.Context, body string) (status int, said []byte, err error) {
	return e.post(ctx, chatPath, []byte(body))
}

// post sends a body that generates next to nothing, so that the answer is waited for no
// longer than a first event is.
func (e Endpoint) post(ctx context.Context, path string, body []byte) (status int, said []byte, err error) {
	if f := e.gaveUp(); f != nil {
		return 0, nil, f
	}
	number := e.requests.Add(1)
	ctx, cancel := context.WithTimeoutCause(ctx, e.client.limits.First, tooSlow("an answer", e.client.limits.First))
	defer cancel()
	a := Answer{End: Whole, Timing: Timing{Began: time.Now()}}
	status, said, err = e.client.plain(ctx, http.MethodPost, path, body)
	a.Timing.Ended = time.Since(a.Timing.Began)
	if e.observe != nil && path == chatPath {
		e.ended(number, Prepared{body: body}, e.client.whole(a, status, said, err))
	}
	if status != 0 && said != nil {
		err = nil
	}
	if err != nil {
		a.fail(asFailure(err))
	}
	e.heard(a)
	return status, e.client.target.hide(said), err
}

// Stream sends the request and reads the answer as a stream.
func (e Endpoint) Stream(ctx context.Context, r Request) Answer { return e.ask(ctx, r, true) }

// Complete sends the request and reads the answer as one body.
func (e Endpoint) Complete(ctx context.Context, r Request) Answer { return e.ask(ctx, r, false) }

// ask sends once; nothing is retried, since a retry hides a fault of one in twenty.
// The exception is a field that the server has never heard of: it is left out from
// then on, which [Endpoint.Refused] tells.
func (e Endpoint) ask(ctx context.Context, r Request, stream bool) Answer {
	p, err := e.Prepare(r, stream)
	if err != nil {
		return Answer{Failure: asFailure(err), End: Failed}
	}
	for {
		if f := e.gaveUp(); f != nil {
			return Answer{Failure: f, End: Failed}
		}
		a := e.Send(ctx, p)
		e.heard(a)
		e.tally(r, a)
		f := a.Failure
		if f == nil || f.Status != 400 && f.Status != 422 || !e.learnRefusal(p.body, f.Said) {
			return a
		}
		next, err := e.Prepare(r, stream)
		if err != nil || bytes.Equal(next.body, p.body) {
			return a
		}
		p = next // one field shorter, so this ends
	}
}

// patience is the number of questions in a row without an answer in time after which a
// server is not asked again: a hung one would hold a restart hook for each check anew.
const patience = 2

// heard notes whether a question was answered in time.
func (e Endpoint) heard(a Answer) {
	if a.Failure != nil && a.Failure.Kind == TooSlow {
		e.unheard.Add(1)
		return
	}
	e.unheard.Store(0)
}

// tally looks at the scripts of an answer. One that was drawn at a temperature above 1 is
// left out: there a model may write anything.
func (e Endpoint) tally(r Request, a Answer) {
	if a.Failure != nil || r.temp > 1 {
		return
	}
	e.tallying.Lock()
	defer e.tallying.Unlock()
	e.scripts.Add(a.Reasoning+"\n"+a.Content, r.Text())
}

// Scripts returns what scripts the answers so far were written in.
func (e Endpoint) Scripts() gates.ScriptTally {
	e.tallying.Lock()
	defer e.tallying.Unlock()
	return e.scripts
}

// gaveUp returns the failure of a question that is not put any more, nil while it is.
func (e Endpoint) gaveUp() *Failure {
	if n := e.unheard.Load(); n >= patience {
		return &Failure{Kind: TooSlow, What: fmt.Sprintf("not asked: the last %d questions got no answer in time", n), Hint: "is the server loaded or hung? --timeout sets the limit"}
	}
	return nil
}

// learnRefusal notes which of the optional fields in a body an error message names.
// Another request may have noted it meanwhile.
func (e Endpoint) learnRefusal(body []byte, said string) bool {
	for _, field := range slices.Backward(optional) {
		if names(said, field.name) && gjson.GetBytes(body, field.path).Exists() {
			e.refused.Store(field.name, struct{}{})
			return true
		}
	}
	return false
}

// names reports whether a text holds a name as a whole word.
func names(text, name string) bool {
	word := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return !word(r) }), name)
}

// ErrNoTokenizer says that the engine has no way to count tokens.
var ErrNoTokenizer = errors.New("the engine offers no tokenizer")

// CountTokens asks the engine how many tokens a text has, without a chat template.
func (e Endpoint) CountTokens(ctx context.Context, text string) (int, error) {
	if t, ok := e.engine.(Tokenizer); ok {
		return t.CountTokens(ctx, text)
	}
	return 0, ErrNoTokenizer
}

// ChatTokens asks the engine for the token ids of a conversation behind its template.
// The error is [ErrNoTokenizer] where the engine does not show them.
func (e Endpoint) ChatTokens(ctx context.Context, r Request) ([]int, error) {
	if t, ok := e.engine.(ChatTokenizer); ok {
		return t.ChatTokens(ctx, r)
	}
	return nil, ErrNoTokenizer
}

// Cold returns the request in the form that the engine answers without its prefix
// cache, where there is one; the request itself otherwise, and how it was done.
func (e Endpoint) Cold(r Request, salt string) (Request, string) {
	if c, ok := e.engine.(ColdAsker); ok {
		return c.Cold(r, salt)
	}
	return r, ""
}

// Identify asks the engine again what it is: a restart or another configuration
// since [Open] shows as a difference.
func (e Endpoint) Identify(ctx context.Context) (Build, error) {
	b, err := e.engine.Identify(ctx)
	return b.clean(), err
}

// modelsIn returns the ids of a model list, or nil when it is none.
func modelsIn(body []byte) []string {
	if !shallow.Valid(body) {
		return nil
	}
	var out []string
	gjson.GetBytes(body, "data").ForEach(func(_, m gjson.Result) bool {
		if id := m.Get("id").Str; id != "" {
			out = append(out, id)
		}
		return len(out) < 1000
	})
	return out
}
