package endpoint

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"

	openai "github.com/sashabaranov/go-openai"
	"github.com/tidwall/gjson"

	"infbench/internal/shallow"
)

// surface is what a server shows without being asked to generate. Each path is asked
// once and remembered until [surface.anew]; what is not there is an empty reply.
type surface struct {
	client *client
	model  string
	mu     sync.Mutex
	seen   map[string]*reply
}

type reply struct {
	status int
	body   []byte
}

// get returns the reply to a path below the target, remembered.
func (s *surface) get(ctx context.Context, path string) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.seen[path]; ok {
		return *r
	}
	r := reply{}
	status, body, err := s.client.get(ctx, path)
	switch {
	case err == nil:
		r = reply{status, body}
	case ctx.Err() != nil:
		return r // we did not wait for it, so nothing is known
	}
	s.seen[path] = &r
	return r
}

// anew forgets what was seen and lists the models again. A server that cannot list
// and serves all the same is no error; one that does not answer is.
func (s *surface) anew(ctx context.Context) error {
	s.mu.Lock()
	clear(s.seen)
	s.mu.Unlock()
	if _, err := s.modelList(ctx); err != nil && decisive(err) {
		return err
	}
	return nil
}

// json returns a value of a JSON reply; an empty result where there is none.
func (s *surface) json(ctx context.Context, path, key string) gjson.Result {
	return jsonAt(s.get(ctx, path).body, key)
}

func jsonAt(body []byte, key string) gjson.Result {
	if !shallow.Valid(body) {
		return gjson.Result{}
	}
	return gjson.GetBytes(body, key)
}

// post sends a JSON body to an engine's own route and returns the answer.
func (s *surface) post(ctx context.Context, path string, payload []byte) ([]byte, error) {
	_, body, err := s.client.plain(ctx, http.MethodPost, path, payload)
	return body, err
}

const modelsPath = "/v1/models"

// modelList lists the served models through go-openai, over this package's own
// transport so that deadlines, the key and the limits hold.
func (s *surface) modelList(ctx context.Context) ([]string, error) {
	var failure *Failure
	config := openai.DefaultConfig("")
	config.BaseURL = strings.TrimSuffix(s.client.target.url(modelsPath), "/models")
	config.HTTPClient = doer(func(r *http.Request) (*http.Response, error) {
		r.Header.Del("Authorization") // the library's own; the target adds the right one
		status, body, err := s.client.get(r.Context(), modelsPath)
		if err != nil {
			failure = asFailure(err)
			return nil, err
		}
		s.mu.Lock()
		s.seen[modelsPath] = &reply{status, body}
		s.mu.Unlock()
		if text := strings.TrimSpace(string(body[:min(len(body), 64)])); strings.HasPrefix(text, "<") {
			failure = &Failure{Kind: NotTheAPI, Status: status, What: "an HTML page came in place of the model list", Hint: "is the target the API itself, and not a web page before it?"}
			return nil, failure
		}
		if !shallow.Nests(body) {
			failure = &Failure{Kind: Malformed, Status: status, What: "the model list nests without end"}
			return nil, failure
		}
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body))}, nil
	})
	_, err := openai.NewClientWithConfig(config).ListModels(ctx)
	if failure != nil {
		return nil, failure
	}
	ids := modelsIn(s.get(ctx, modelsPath).body)
	switch {
	case err != nil && len(ids) == 0:
		return nil, &Failure{Kind: NotTheAPI, Status: 200, What: "the model list is not one", Hint: "is the target an OpenAI-compatible endpoint? Its address stands before /v1"}
	case len(ids) == 0:
		return nil, &Failure{Kind: NotTheAPI, Status: 200, What: "the server lists no model", Hint: "name one with --model"}
	}
	return ids, nil
}

// doer is an HTTP client made of a function.
type doer func(*http.Request) (*http.Response, error)

// Do implements the interface that go-openai asks for.
func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }
