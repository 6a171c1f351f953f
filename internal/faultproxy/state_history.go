package faultproxy

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
)

// Long conversations with tools that the server does not take as they are.

var _ = register(fault{
	Info: Info{
		ID: "drops-turn", Stage: 3, Modes: []string{"AGT-03", "TPL-05"},
		Doc:    "of a long conversation the model does not see one call in the middle and its result",
		Params: []Param{number("messages", "12", "the fewest messages of a long one; the result is the first after half of them")},
	},
	build: func(o options) acts {
		return acts{request: func(x *exchange) {
			list := x.messages()
			if len(list) < max(o.number("messages"), 1) {
				return
			}
			half := o.number("messages") / 2
			i := slices.IndexFunc(list[half:len(list)-1], func(m message) bool { return m.role() == "tool" })
			if i < 0 {
				return
			}
			id := list[half+i].resultOf()
			if id == "" { // whatever it was the result of
				x.set("messages", slices.Delete(list, half+i, half+i+1))
				return
			}
			x.set("messages", withoutCalls(list, func(call string) bool { return call == id }))
		}}
	},
})

// A pastCall is a tool call of an earlier turn.
type pastCall struct {
	ID       string
	Function struct{ Name string }
}

// pastCalls are those of an assistant's message.
func (m message) pastCalls() (list []pastCall) {
	_ = json.Unmarshal(m["tool_calls"], &list)
	return list
}

// resultOf is the id of the call whose result the message is.
func (m message) resultOf() (id string) {
	_ = json.Unmarshal(m["tool_call_id"], &id)
	return id
}

// withoutCalls is the conversation without some calls and their results. A message that
// held nothing else goes too.
func withoutCalls(list []message, gone func(id string) bool) (out []message) {
	for _, m := range list {
		var calls []json.RawMessage
		_ = json.Unmarshal(m["tool_calls"], &calls)
		var kept []json.RawMessage
		for i, c := range m.pastCalls() {
			if !gone(c.ID) {
				kept = append(kept, calls[i])
			}
		}
		switch {
		case m.role() == "tool" && gone(m.resultOf()):
			continue
		case len(kept) == len(calls):
		case len(kept) > 0:
			m["tool_calls"] = encode(kept)
		case m.text() == "":
			continue
		default:
			delete(m, "tool_calls")
		}
		out = append(out, m)
	}
	return out
}

var _ = register(fault{
	Info: Info{
		ID: "ids-rewritten", Stage: 3, Modes: []string{"AGT-07"},
		Doc:    "tool calls have ids of the form functions.NAME:N, and a history with other ids is not taken",
		Params: []Param{oneOf("how", "refuse: it gets 400; drop: the model does not see those calls and their results", "refuse", "drop")},
	},
	build: func(o options) acts {
		refuses := o.text("how") == "refuse"
		return acts{
			admit: func(x *exchange) respondFunc {
				if refuses && slices.ContainsFunc(x.messages(), message.foreignIDs) {
					return badID
				}
				return nil
			},
			request: func(x *exchange) {
				if list := x.messages(); slices.ContainsFunc(list, message.foreignIDs) {
					x.set("messages", withoutCalls(list, func(id string) bool { return !nativeID.MatchString(id) }))
				}
			},
			answer: func(x *exchange) filter {
				before := 0
				for _, m := range x.messages() {
					before += len(m.pastCalls())
				}
				return changeParts(func(p part) (changed bool) {
					for i, c := range p.calls() {
						if _, ok := c["index"]; ok {
							i = toInt(c["index"])
						}
						f, _ := c["function"].(object)
						if name := toText(f["name"]); name != "" && toText(c["id"]) != "" {
							c["id"] = "functions." + name + ":" + strconv.Itoa(before+i)
							changed = true
						}
					}
					return changed
				})(x)
			},
		}
	},
})

var nativeID = regexp.MustCompile(`^functions\.[\w.-]+:\d+$`)

// foreignIDs: the message names a call in another form.
func (m message) foreignIDs() bool {
	return m.role() == "tool" && !nativeID.MatchString(m.resultOf()) ||
		slices.ContainsFunc(m.pastCalls(), func(c pastCall) bool { return !nativeID.MatchString(c.ID) })
}

func badID(_ *exchange, w http.ResponseWriter) {
	refuse(w, http.StatusBadRequest, "invalid_request_error", "the id of a tool call must have the form functions.NAME:N", nil)
}

var _ = register(fault{
	Info: Info{
		ID: "text-and-call", Stage: 3, Modes: []string{"AGT-04"},
		Doc: "once a turn of the assistant held both text and a call, later calls stand as text in the content and the finish reason is stop",
	},
	build: func(o options) acts {
		a := callsAsText(visible)(o)
		a.scope = func(x *exchange) bool {
			return slices.ContainsFunc(x.messages(), func(m message) bool {
				return m.role() == "assistant" && m.text() != "" && len(m.pastCalls()) > 0
			})
		}
		return a
	},
})

var _ = register(fault{
	Info: Info{
		ID: "reasoning-returned", Stage: 3, Modes: []string{"AGT-08"},
		Doc:    "prompt_tokens are as many as if the thinking of all earlier turns were in the prompt again",
		Params: []Param{number("tokens", "400", "tokens of one turn's thinking")},
	},
	build: func(o options) acts {
		return acts{answer: func(x *exchange) filter {
			more := 0
			for _, m := range x.messages() {
				if m.role() == "assistant" {
					more += o.number("tokens")
				}
			}
			if more == 0 {
				return filter{}
			}
			return changeDocs(usageOf(func(usage object) bool {
				usage["prompt_tokens"] = toNumber(toInt(usage["prompt_tokens"]) + more)
				usage["total_tokens"] = toNumber(toInt(usage["total_tokens"]) + more)
				return true
			}))(x)
		}}
	},
})
