package refengine

import (
	"errors"
	"net/http"
)

// respond answers a request that is not streamed.
func (e *Engine) respond(w http.ResponseWriter, r *http.Request, j *job) {
	for j.made < j.total() {
		if _, _, err := j.next(r.Context()); err != nil {
			if !errors.Is(err, errAborted) {
				refuse(w, overloaded(err))
			}
			return
		}
	}
	j.seen()
	if j.plain {
		writeJSON(w, http.StatusOK, j.appendCompletion(nil))
		return
	}
	writeJSON(w, http.StatusOK, j.appendChat(nil))
}

func (j *job) appendHead(dst []byte, object string) []byte {
	dst = appendString(append(dst, `{"id":`...), j.id)
	dst = append(dst, `,"object":"`+object+`","created":`...)
	dst = appendInt(dst, int(j.created))
	dst = appendString(append(dst, `,"model":`...), j.engine.config.Model)
	return append(dst, `,"choices":[{"index":0,`...)
}

func (j *job) appendTail(dst []byte) []byte {
	dst = appendString(append(dst, `,"finish_reason":`...), j.script.finish)
	dst = j.appendStopReason(dst)
	if j.tokenIDs {
		dst = appendIDs(append(dst, `,"token_ids":`...), j.script.ids)
	}
	dst = j.appendMetrics(j.appendUsage(append(dst, `}],"usage":`...), j.total()))
	if j.tokenIDs {
		dst = appendIDs(append(dst, `,"prompt_token_ids":`...), j.prompt)
	}
	return append(dst, '}')
}

func (j *job) appendChat(dst []byte) []byte {
	dst = append(j.appendHead(dst, "chat.completion"), `"message":{"role":"assistant","content":`...)
	calls, text, thoughts := j.script.opened(), j.script.join(content), j.script.join(thought)
	if text == "" && (len(calls) > 0 || thoughts != "") {
		dst = append(dst, "null"...)
	} else {
		dst = appendString(dst, text)
	}
	dst = append(dst, ',')
	dst = append(appendString(dst, j.engine.config.ReasoningField), ':')
	if thoughts == "" {
		dst = append(dst, "null"...)
	} else {
		dst = appendString(dst, thoughts)
	}
	dst = append(dst, `,"tool_calls":[`...)
	for i, c := range calls {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(append(dst, `{"id":`...), c.id)
		dst = appendString(append(dst, `,"type":"function","function":{"name":`...), c.Name)
		dst = appendString(append(dst, `,"arguments":`...), c.Arguments)
		dst = append(dst, "}}"...)
	}
	dst = append(dst, `]},"logprobs":`...)
	dst = j.appendAllLogprobs(dst)
	return j.appendTail(dst)
}

func (j *job) appendCompletion(dst []byte) []byte {
	dst = append(j.appendHead(dst, "text_completion"), `"text":`...)
	dst = appendString(dst, j.script.join(content))
	dst = j.appendAllLogprobs(append(dst, `,"logprobs":`...))
	return j.appendTail(dst)
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that left is noticed by the request's context
}

func appendError(dst []byte, e *apiError) []byte {
	dst = appendString(append(dst, `{"error":{"message":`...), e.message)
	dst = appendString(append(dst, `,"type":`...), e.kind)
	dst = appendInt(append(dst, `,"param":null,"code":`...), e.status)
	return append(dst, "}}"...)
}

// retryAfter is the advice given with a 503, in seconds.
const retryAfter = "1"

func refuse(w http.ResponseWriter, e *apiError) {
	if e.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	writeJSON(w, e.status, appendError(nil, e))
}
