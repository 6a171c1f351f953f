package refengine

import (
	"crypto/subtle"
	"io"
	"net/http"
	"strings"

	"infbench/internal/refengine/pieces"
)

func (e *Engine) routes() *http.ServeMux {
	m := http.NewServeMux()
	m.HandleFunc("POST /v1/chat/completions", e.guarded(e.complete(parseChat)))
	m.HandleFunc("POST /v1/completions", e.guarded(e.complete(parseCompletion)))
	m.HandleFunc("POST /v1/embeddings", e.guarded(e.embeddings))
	m.HandleFunc("GET /v1/models", e.guarded(e.models))
	m.HandleFunc("GET /health", e.health)
	m.HandleFunc("/ping", e.health)
	m.HandleFunc("GET /version", e.version)
	m.HandleFunc("POST /tokenize", e.tokenize)
	m.HandleFunc("POST /detokenize", e.detokenize)
	m.HandleFunc("GET /metrics", e.metrics)
	m.HandleFunc("POST /reset_prefix_cache", e.resetCache)
	m.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, &apiError{http.StatusNotFound, "NotFoundError", "Not Found"})
	})
	return m
}

// guarded asks for the API key. As in vLLM only /v1 is behind it.
func (e *Engine) guarded(next http.HandlerFunc) http.HandlerFunc {
	if e.config.APIKey == "" {
		return next
	}
	want := []byte(e.config.APIKey)
	return func(w http.ResponseWriter, r *http.Request) {
		given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || subtle.ConstantTimeCompare([]byte(given), want) != 1 {
			refuse(w, &apiError{http.StatusUnauthorized, "AuthenticationError", "Unauthorized"})
			return
		}
		next(w, r)
	}
}

func (e *Engine) complete(parse func([]byte) (*request, *apiError)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		j, refusal := e.accept(r, parse)
		if refusal != nil {
			refuse(w, refusal)
			return
		}
		defer j.close()
		if j.request.stream {
			e.stream(w, r, j)
		} else {
			e.respond(w, r, j)
		}
	}
}

func (e *Engine) models(w http.ResponseWriter, _ *http.Request) {
	b := appendString([]byte(`{"object":"list","data":[{"id":`), e.config.Model)
	b = appendInt(append(b, `,"object":"model","created":`...), int(e.epoch.Unix()))
	b = appendString(append(b, `,"owned_by":"infbench","root":`...), e.config.Model)
	b = appendInt(append(b, `,"parent":null,"max_model_len":`...), e.config.ContextLength)
	writeJSON(w, http.StatusOK, append(b, "}]}"...))
}

func (e *Engine) health(w http.ResponseWriter, _ *http.Request) {
	select {
	case <-e.stop:
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		w.WriteHeader(http.StatusOK)
	}
}

func (e *Engine) version(w http.ResponseWriter, _ *http.Request) {
	b := appendString([]byte(`{"version":`), e.config.Version)
	b = append(b, `,"engine":"infbench-reference","device":"none (clock model)"`...)
	if e.config.Image != "" {
		b = appendString(append(b, `,"image":`...), e.config.Image)
	}
	writeJSON(w, http.StatusOK, append(b, '}'))
}

func (e *Engine) resetCache(w http.ResponseWriter, _ *http.Request) {
	e.mu.Lock()
	e.sched.ResetCache()
	e.mu.Unlock()
	w.WriteHeader(http.StatusOK)
}

func readBody(r *http.Request) (*body, *apiError) {
	data, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if err != nil {
		return nil, badRequest("the request body could not be read")
	}
	return parseBody(data)
}

// tokenize takes a text or a conversation; the latter counts with its template.
func (e *Engine) tokenize(w http.ResponseWriter, r *http.Request) {
	b, refusal := readBody(r)
	if refusal != nil {
		refuse(w, refusal)
		return
	}
	q := &request{model: b.text("model"), plain: true}
	var ids []int32
	if _, ok := b.field("messages"); ok {
		q.talk.Messages = parseMessages(b, "messages")
		parseTools(b, &q.talk)
		q.plain = false
		ids = q.prompt()
	} else {
		if _, ok := b.field("prompt"); !ok {
			b.refuse("either prompt or messages must be given")
		}
		ids = pieces.Encode(b.text("prompt"))
	}
	if b.err == nil {
		b.err = e.knows(q.model)
	}
	if b.err != nil {
		refuse(w, b.err)
		return
	}
	out := appendInt([]byte(`{"count":`), len(ids))
	out = appendInt(append(out, `,"max_model_len":`...), e.config.ContextLength)
	out = appendIDs(append(out, `,"tokens":`...), ids)
	writeJSON(w, http.StatusOK, append(out, '}'))
}

func (e *Engine) detokenize(w http.ResponseWriter, r *http.Request) {
	b, refusal := readBody(r)
	if refusal != nil {
		refuse(w, refusal)
		return
	}
	var ids []int32
	for _, v := range b.root.Get("tokens").Array() {
		if v.Num < 0 || v.Num >= pieces.Size {
			b.refuse("there is no token %s", v.Raw)
			break
		}
		ids = append(ids, int32(v.Num))
	}
	text, err := pieces.Decode(ids)
	if err != nil {
		b.refuse("%v", err)
	}
	if b.err != nil {
		refuse(w, b.err)
		return
	}
	writeJSON(w, http.StatusOK, append(appendString([]byte(`{"prompt":`), clean(text)), '}'))
}
