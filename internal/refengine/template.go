package refengine

import (
	"strings"

	"infbench/internal/refengine/pieces"
	"infbench/internal/refengine/reader"
)

// The chat template is ChatML with Hermes-style tools:
//
//	<|im_start|>system\n…\n\n# Tools\n{…}\n{…}<|im_end|>\n
//	<|im_start|>user\n…<|im_end|>\n
//	<|im_start|>assistant\n
//
// The markers are tokens of their own. Each text between two markers is cut on its
// own, so a later turn renders an answer to exactly the tokens it was made of, and
// the prefix cache holds it.

const toolsIntro = "# Tools\nCall a function by name with JSON arguments.\n"

type rendering struct{ ids []int32 }

func (r *rendering) text(s string)  { r.ids = pieces.Append(r.ids, s) }
func (r *rendering) mark(id int32)  { r.ids = append(r.ids, id) }
func (r *rendering) end()           { r.mark(pieces.End); r.text("\n") }
func (r *rendering) begin(s string) { r.mark(pieces.Start); r.text(s); r.text("\n") }

// render returns the prompt of a conversation in tokens, with the assistant to
// speak next.
func render(talk *reader.Request) []int32 {
	r := &rendering{}
	messages := talk.Messages
	if len(talk.Tools) > 0 {
		r.begin("system")
		if len(messages) > 0 && messages[0].Role == reader.System {
			r.text(messages[0].Content)
			r.text("\n\n")
			messages = messages[1:]
		}
		r.text(toolsIntro)
		for _, t := range talk.Tools {
			r.text(t.Source) // as sent: the order of the keys is the user's
			r.text("\n")
		}
		r.end()
	}
	for _, m := range messages {
		r.message(m)
	}
	r.begin("assistant")
	return r.ids
}

func (r *rendering) message(m reader.Message) {
	switch m.Role {
	case reader.System:
		r.begin("system")
		r.text(m.Content)
	case reader.User:
		r.begin("user")
		r.text(m.Content)
	case reader.Assistant:
		r.begin("assistant")
		r.text(m.Content)
		for _, c := range m.Calls {
			r.call(c)
		}
	case reader.ToolResult:
		r.begin("user")
		r.mark(pieces.ToolResult)
		r.text(m.Content)
		r.mark(pieces.EndToolResult)
	}
	r.end()
}

func (r *rendering) call(c reader.Call) {
	r.mark(pieces.ToolCall)
	r.text(callHead(c.Name))
	r.text(c.Arguments)
	r.text(callTail)
	r.mark(pieces.EndToolCall)
}

const callTail = "}\n"

func callHead(name string) string {
	return "\n{\"name\": \"" + strings.ReplaceAll(name, `"`, `\"`) + "\", \"arguments\": "
}

// prompt returns the tokens of the request.
func (q *request) prompt() []int32 {
	if q.plain {
		return pieces.Encode(q.talk.Messages[0].Content)
	}
	return render(&q.talk)
}
