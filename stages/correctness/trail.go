package correctness

import (
	"encoding/json"
	"fmt"
	"strings"

	"infbench/gates"
	"infbench/stages/endpoint"
)

// trail is a way to follow keys through a conversation: by tool calls, or in words where
// the model makes none.
type trail interface {
	name() string
	open(system string, key gates.Canary) endpoint.Request
	// extend goes on from a turn: the call that was made, what the tool said, and a question
	// for the newest key, or for the one that was told at the beginning.
	extend(r endpoint.Request, last step, news, kind string, key gates.Canary) endpoint.Request
	// judge returns what is wrong with an answer beyond its key, and whether that is the
	// engine's doing and not the model's.
	judge(a endpoint.Answer) (bad string, malformed bool)
	text(a endpoint.Answer) string
}

// step is a turn as it stands in the history of the next one.
type step struct {
	answer endpoint.Answer
	key    gates.Canary // that should have been followed
	right  bool
	talked bool // the turn has words beside its call
}

const (
	fileTool = "read_file"
	editTool = "edit_file"
	runTool  = "run_command"
)

var (
	fileSchema = json.RawMessage(`{"type":"object","properties":{"key":{"type":"string","description":"the key of the file"}},"required":["key"]}`)
	editSchema = json.RawMessage(`{"type":"object","properties":{"key":{"type":"string"},"old":{"type":"string"},"new":{"type":"string"}},"required":["key","old","new"]}`)
	runSchema  = json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`)
)

// toolTrail follows keys by calling a tool.
type toolTrail struct {
	// id makes the id of a call in the history; nil keeps the server's.
	id func(n int) string
}

func (toolTrail) name() string { return "by tool calls" }

func (toolTrail) open(system string, key gates.Canary) endpoint.Request {
	return endpoint.Conversation().Tool(fileTool, "Read the file with the given key.", fileSchema).
		Tool(editTool, "Replace a part of a file.", editSchema).Tool(runTool, "Run a command.", runSchema).Choose("auto").
		System("You are a coding agent that follows a trail of files. Always answer by calling " + fileTool + " with the next key. " + system).
		User(toolTrail{}.follow(key))
}

func (toolTrail) follow(key gates.Canary) string {
	return "The next key is " + key.String() + ". Call " + fileTool + " with the next key."
}

func (tr toolTrail) extend(r endpoint.Request, last step, news, kind string, key gates.Canary) endpoint.Request {
	call := endpoint.ToolCall{ID: "call_0", Name: fileTool, Arguments: `{"key":"` + last.key.String() + `"}`}
	if last.right && len(last.answer.Calls) == 1 { // what was said, word for word
		call = last.answer.Calls[0]
		if call.ID == "" {
			call.ID = "call_0"
		}
	}
	said := ""
	if last.talked {
		said = "Let me look at that file."
	}
	if kind == recalling { // a person speaks next
		r = r.CalledSaying(said, call, news).User("Now call " + fileTool + " with the blue key, which you were told at the beginning.")
	} else {
		r = r.CalledSaying(said, call, news+"\n"+tr.follow(key))
	}
	if tr.id != nil {
		r = r.CallIDs(tr.id)
	}
	return r
}

func (toolTrail) judge(a endpoint.Answer) (bad string, malformed bool) {
	switch {
	case len(a.Calls) == 0 && strings.Contains(a.Content, fileTool) && strings.Contains(a.Content, `{"`):
		return "the call stands as text in the content", true
	case len(a.Calls) == 0:
		return "no tool call came", false
	case len(a.Calls) > 16:
		return fmt.Sprintf("%d calls came in place of one", len(a.Calls)), true
	case len(a.Calls) > 1:
		return fmt.Sprintf("%d calls came in place of one", len(a.Calls)), false
	case a.Calls[0].Name != fileTool && (a.Calls[0].Name == editTool || a.Calls[0].Name == runTool):
		return "the call names another tool, " + a.Calls[0].Name, false
	case a.Calls[0].Name != fileTool:
		return "the call names " + gates.Quote(a.Calls[0].Name, 60), true
	case !json.Valid([]byte(a.Calls[0].Arguments)):
		return "the call's arguments are not JSON: " + gates.Quote(a.Calls[0].Arguments, 120), true
	case a.Finish != "tool_calls":
		return "finish_reason is " + gates.Quote(a.Finish, 20) + " beside a call", true
	}
	return "", false
}

func (toolTrail) text(a endpoint.Answer) string {
	if len(a.Calls) == 0 {
		return a.Visible()
	}
	return a.Calls[0].Arguments
}

// plainTrail asks for codes in words.
type plainTrail struct{}

func (plainTrail) name() string { return "in words" }

func (plainTrail) open(system string, key gates.Canary) endpoint.Request {
	return endpoint.Chat(strings.TrimSpace(system + " " + plainTrail{}.follow(key)))
}

func (plainTrail) follow(key gates.Canary) string {
	return "The secret code is " + key.String() + ". What is the secret code?"
}

func (tr plainTrail) extend(r endpoint.Request, last step, news, kind string, key gates.Canary) endpoint.Request {
	question := tr.follow(key)
	if kind == recalling {
		question = "What is the blue code, which you were told at the beginning?"
	}
	was := "The secret code is " + last.key.String() + "."
	if last.right {
		was = said(last.answer)
	}
	return r.Assistant(was).User(strings.TrimSpace(news + " " + question))
}

func (plainTrail) judge(endpoint.Answer) (string, bool) { return "", false }

func (plainTrail) text(a endpoint.Answer) string { return a.Visible() }
