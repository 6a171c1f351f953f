package refengine

import (
	"context"
	"errors"
	"hash/fnv"
	"io"
	"net/http"
	"strconv"
	"time"

	"infbench/internal/batching"
	"infbench/internal/refengine/pieces"
	"infbench/internal/refengine/reader"
)

// A job is one accepted request on its way through the engine.
type job struct {
	*request
	engine  *Engine
	id      string
	created int64
	prompt  []int32
	script  script
	seq     *batching.Sequence
	feed    *feed
	truth   Truth
	made    int             // tokens announced so far
	due     []time.Duration // when those of the last batch were due
	lastDue time.Duration
	gaps    []time.Duration
}

// maxBody bounds what one request may send: far more than any context holds.
const maxBody = 64 << 20

// accept turns an HTTP request into a queued job, or a refusal.
func (e *Engine) accept(r *http.Request, parse func([]byte) (*request, *apiError)) (*job, *apiError) {
	arrival := e.now()
	data, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if err != nil {
		return nil, badRequest("the request body could not be read")
	}
	q, refusal := parse(data)
	if refusal != nil {
		return nil, refusal
	}
	if refusal := e.knows(q.model); refusal != nil {
		return nil, refusal
	}
	j := &job{request: q, engine: e, created: time.Now().Unix(), prompt: q.prompt()}
	limit, refusal := e.room(q, len(j.prompt))
	if refusal != nil {
		return nil, refusal
	}
	j.id = e.serials.request(q.plain, r.Header.Get("X-Request-Id"))
	j.script = write(q, e.answer(q, j.prompt), limit, e.serials.call)
	j.seq = batching.NewSequence(j.prompt, j.script.ids, q.salt, arrival)
	j.truth = Truth{ID: j.id, EpochUnix: e.epoch.UnixNano(), Arrival: arrival, PromptTokens: len(j.prompt), Stream: q.stream}
	if j.feed, err = e.submit(j.seq); err != nil {
		return nil, overloaded(err)
	}
	return j, nil
}

func overloaded(err error) *apiError {
	kind := "ServiceUnavailableError"
	if !errors.Is(err, errFull) && !errors.Is(err, errClosed) {
		return badRequest("%v", err)
	}
	return &apiError{http.StatusServiceUnavailable, kind, err.Error()}
}

// knows refuses any model but the served one. No name at all means that one.
func (e *Engine) knows(model string) *apiError {
	if model == "" || model == e.config.Model {
		return nil
	}
	return &apiError{http.StatusNotFound, "NotFoundError", "The model `" + model + "` does not exist."}
}

// room returns how many tokens the answer may have. Nothing is ever truncated: a
// prompt that leaves no room is refused.
func (e *Engine) room(q *request, prompt int) (int, *apiError) {
	context := e.config.ContextLength
	if prompt >= context || prompt+q.maxTokens > context {
		return 0, badRequest("This model's maximum context length is %d tokens. However, you requested %d tokens "+
			"(%d in the prompt, %d in the completion). Please reduce the length of the prompt or the completion.",
			context, prompt+q.maxTokens, prompt, q.maxTokens)
	}
	if q.minTokens > 0 && q.maxTokens > 0 && q.minTokens > q.maxTokens {
		return 0, badRequest("min_tokens must not exceed max_tokens")
	}
	if q.maxTokens > 0 {
		return q.maxTokens, nil
	}
	return context - prompt, nil
}

// answer asks the reader. Only sampling at a temperature above 0 may vary.
func (e *Engine) answer(q *request, prompt []int32) reader.Reply {
	talk := q.talk
	talk.Thinks = q.thinking == thinkOn || q.thinking == thinkUnset && e.config.Thinks
	talk.Origin = originOf(prompt)
	if q.temperature > 0 {
		talk.Origin ^= uint64(q.seed)*0x9e3779b97f4a7c15 + 1
		if !q.seeded {
			talk.Origin ^= e.serials.chance()
		}
	}
	return reader.Answer(talk)
}

// originOf condenses the prompt to the seed of everything that is made up.
func originOf(prompt []int32) uint64 {
	h := fnv.New64a()
	var b [4]byte
	for _, id := range prompt {
		b = [4]byte{byte(id), byte(id >> 8), byte(id >> 16), byte(id >> 24)}
		h.Write(b[:])
	}
	return h.Sum64()
}

var errAborted = errors.New("the client went away")

// next waits for new tokens and returns the range of them, [from, to). It is only
// called while some are missing.
func (j *job) next(ctx context.Context) (from, to int, err error) {
	for {
		j.due = j.feed.collect(j.due[:0])
		if len(j.due) > 0 {
			from = j.made
			j.count()
			return from, j.made, nil
		}
		select {
		case <-j.feed.ready:
		case <-ctx.Done():
			return 0, 0, errAborted
		case <-j.engine.stop:
			return 0, 0, errClosed
		}
	}
}

// count meters the tokens just collected.
func (j *job) count() {
	m := j.engine.meters
	fresh := j.due
	if j.made == 0 {
		j.truth.FirstDue, j.lastDue = fresh[0], fresh[0]
		m.first(len(j.prompt), j.seq.Cached(), fresh[0]-j.truth.Arrival)
		fresh = fresh[1:]
	}
	j.gaps = j.gaps[:0]
	for _, at := range fresh {
		j.gaps = append(j.gaps, at-j.lastDue)
		j.lastDue = at
	}
	m.tokens(len(j.due), j.gaps)
	j.made += len(j.due)
}

// total is the number of output tokens.
func (j *job) total() int { return len(j.script.ids) }

// seen stamps visible text; call it before the bytes are written.
func (j *job) seen() {
	j.truth.LastToken = j.engine.now()
	if j.truth.FirstToken == 0 {
		j.truth.FirstToken = j.truth.LastToken
	}
}

// close frees what the job holds and writes down what happened to it.
func (j *job) close() {
	e := j.engine
	e.withdraw(j.seq)
	t := &j.truth
	t.End, t.OutputTokens, t.CachedTokens = e.now(), j.made, j.seq.Cached()
	t.DepthTokens, t.Preemptions = j.seq.Depth(), j.seq.Preemptions()
	if at, ok := j.seq.Scheduled(); ok {
		t.Queue = at - t.Arrival
	}
	t.FinishReason = j.script.finish
	if j.made < j.total() {
		t.FinishReason = "abort"
	}
	e.meters.finished(t, j.lastDue)
	e.truths.add(*t)
}

// reasoned is how many of the first n tokens are reasoning text.
func (j *job) reasoned(n int) int {
	if j.script.reasoning == 0 {
		return 0
	}
	return max(0, min(n-1, j.script.reasoning)) // the first token opens the thought
}

// appendUsage appends the usage object after n output tokens.
func (j *job) appendUsage(dst []byte, n int) []byte {
	p := len(j.prompt)
	dst = appendInt(append(dst, `{"prompt_tokens":`...), p)
	dst = appendInt(append(dst, `,"total_tokens":`...), p+n)
	dst = appendInt(append(dst, `,"completion_tokens":`...), n)
	dst = appendInt(append(dst, `,"prompt_tokens_details":{"cached_tokens":`...), j.seq.Cached())
	dst = append(dst, '}')
	if j.script.reasoning > 0 {
		dst = appendInt(append(dst, `,"completion_tokens_details":{"reasoning_tokens":`...), j.reasoned(n))
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// appendMetrics appends the request's own times where they are told: they are known with its
// last token.
func (j *job) appendMetrics(dst []byte) []byte {
	at, ok := j.seq.Scheduled()
	if !j.engine.config.RequestMetrics || !ok || j.made < j.total() {
		return dst
	}
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	first, last := j.truth.FirstDue, j.lastDue
	dst = append(dst, `,"metrics":{"time_to_first_token_ms":`...)
	dst = strconv.AppendFloat(dst, ms(first-at), 'g', -1, 64)
	dst = append(dst, `,"generation_time_ms":`...)
	dst = strconv.AppendFloat(dst, ms(last-first), 'g', -1, 64)
	dst = append(dst, `,"queue_time_ms":`...)
	dst = strconv.AppendFloat(dst, ms(at-j.truth.Arrival), 'g', -1, 64)
	return append(dst, '}')
}

// visible says whether token i shows any text.
func (s *script) visible(i int) bool {
	d := s.deltas[i]
	return d.channel != hidden && (d.text != "" || d.channel == callOpened)
}

// piece returns the text of output token i.
func (s *script) piece(i int) string {
	text, err := pieces.AppendPiece(nil, s.ids[i])
	if err != nil {
		panic("refengine: own token is unknown: " + err.Error())
	}
	return string(text)
}
