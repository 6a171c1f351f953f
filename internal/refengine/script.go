package refengine

import (
	"strings"

	"infbench/internal/refengine/pieces"
	"infbench/internal/refengine/reader"
)

// A script is a whole answer, token by token, made before the first of them is
// due. The scheduler decides when each token exists; the script says what becomes
// visible with it. Streamed and plain responses play the same script.
type script struct {
	ids       []int32 // every output token, hidden ones included
	deltas    []delta // what each token releases; parallel to ids
	finish    string  // finish_reason
	stopped   string  // the stop string that ended it, if one did
	reasoning int     // tokens of the reasoning text
	calls     []madeCall
}

type madeCall struct {
	reader.Call
	id string
}

type channel uint8

const (
	hidden     channel = iota // markers, or text held back
	content                   // the visible answer
	thought                   // the reasoning text
	callOpened                // id and name of a call
	callPiece                 // a piece of its arguments
)

// A delta is what one token makes visible. Text may cover earlier tokens that were
// held back: those from since on.
type delta struct {
	channel channel
	call    int
	text    string
	since   int
}

type scripter struct {
	script
	limit int // output tokens allowed
}

// write lays out the reply of the reader as the tokens of an answer.
func write(q *request, reply reader.Reply, limit int, ids func() string) script {
	w := &scripter{limit: limit}
	if reply.Reasoning != "" {
		w.mark(pieces.Think)
		w.reasoning = w.text(reply.Reasoning, thought)
		w.mark(pieces.EndThink)
	}
	w.text(reply.Content, content)
	for _, c := range reply.Calls {
		w.call(madeCall{c, ids()})
	}
	for (q.ignoreEOS || len(w.ids) < q.minTokens) && len(w.ids) < limit {
		w.text(reply.More(), content)
	}
	w.finish = "stop"
	if len(w.calls) > 0 {
		w.finish = "tool_calls"
	}
	w.mark(pieces.End)
	if len(w.ids) > limit {
		w.cut(limit)
		w.finish = "length"
	}
	w.applyStops(q.stops, q.minTokens)
	return w.script
}

func (w *scripter) mark(id int32) {
	w.ids = append(w.ids, id)
	w.deltas = append(w.deltas, delta{since: len(w.ids) - 1})
}

// text adds the tokens of s and returns how many they are. One more than the limit
// suffices: it shows that the answer is cut.
func (w *scripter) text(s string, ch channel) int {
	n := 0
	for len(s) > 0 && len(w.ids) <= w.limit {
		id, size := pieces.Next(s)
		w.mark(id)
		d := &w.deltas[len(w.deltas)-1]
		if ch != hidden {
			d.channel, d.text, d.call = ch, s[:size], len(w.calls)-1
		}
		s = s[size:]
		n++
	}
	return n
}

func (w *scripter) call(c madeCall) {
	w.calls = append(w.calls, c)
	w.mark(pieces.ToolCall)
	w.text(callHead(c.Name), hidden)
	last := &w.deltas[len(w.deltas)-1] // the name is complete with this token
	last.channel, last.call = callOpened, len(w.calls)-1
	w.text(c.Arguments, callPiece)
	w.text(callTail, hidden)
	w.mark(pieces.EndToolCall)
}

func (w *scripter) cut(n int) {
	w.ids, w.deltas = w.ids[:n], w.deltas[:n]
	w.reasoning = min(w.reasoning, max(0, n-1))
}

// applyStops ends the answer at the first stop string in the content, and before
// that holds back each token that may turn out to belong to one.
func (w *scripter) applyStops(stops []string, minTokens int) {
	if len(stops) == 0 {
		return
	}
	held := 0                // tokens before this one are out
	var tail strings.Builder // the content since then
	for i := range w.deltas {
		d := &w.deltas[i]
		if d.channel != content {
			continue
		}
		if tail.Len() == 0 {
			held = i
		}
		tail.WriteString(d.text)
		text := tail.String()
		if at, stop := firstStop(text, stops); stop != "" && i+1 >= minTokens {
			w.cut(i + 1)
			w.deltas[i] = delta{channel: content, text: text[:at], since: held}
			w.finish, w.stopped = "stop", stop
			return
		}
		if mayStop(text, stops) {
			*d = delta{since: i}
			continue
		}
		*d = delta{channel: content, text: text, since: held}
		tail.Reset()
	}
	if tail.Len() > 0 { // nothing came of it: the last token brings the rest
		w.deltas[len(w.deltas)-1] = delta{channel: content, text: tail.String(), since: held}
	}
}

// firstStop finds the earliest stop string in text.
func firstStop(text string, stops []string) (at int, found string) {
	at = len(text)
	for _, s := range stops {
		if i := strings.Index(text, s); i >= 0 && i < at {
			at, found = i, s
		}
	}
	return at, found
}

// mayStop says whether text ends with the beginning of a stop string.
func mayStop(text string, stops []string) bool {
	for _, s := range stops {
		for n := min(len(s)-1, len(text)); n > 0; n-- {
			if strings.HasSuffix(text, s[:n]) {
				return true
			}
		}
	}
	return false
}

// join returns the whole text of one channel.
func (s *script) join(ch channel) string {
	var b strings.Builder
	for _, d := range s.deltas {
		if d.channel == ch {
			b.WriteString(d.text)
		}
	}
	return b.String()
}

// opened returns the calls as far as the answer got, with their arguments.
func (s *script) opened() []madeCall {
	var out []madeCall
	for _, d := range s.deltas {
		switch d.channel {
		case callOpened:
			out = append(out, madeCall{reader.Call{Name: s.calls[d.call].Name}, s.calls[d.call].id})
		case callPiece:
			out[len(out)-1].Arguments += d.text
		case hidden, content, thought:
		}
	}
	return out
}
