// Package reader answers a conversation by reading it.
//
// It stands in for a language model where the answer has to be known in advance:
// statements in the conversation ("The secret code is 48213907.") answer questions
// about them, instructions ("Reply with OK", "Call lookup with the next key") are
// followed, sums are worked out, and a request for prose gets prose from a grammar.
// Equal conversations get equal answers.
//
// The one rule: nothing is answered that was not read. Apart from a handful of
// school facts, which are written down as statements too, an answer can only come
// out of the prompt; a question about something not stated gets "I do not know".
package reader

import "strings"

// A Role says who speaks in a message.
type Role uint8

// The roles of a conversation. The zero Role is none of them.
const (
	System Role = iota + 1
	User
	Assistant
	ToolResult
)

// A Message is one turn. Calls are the tool calls of an assistant.
type Message struct {
	Role    Role
	Content string
	Calls   []Call
}

// A Call is a tool call; Arguments is a JSON object in text form.
type Call struct {
	Name, Arguments string
}

// A Tool is a function that may be called. Parameters is its JSON schema, Source
// the whole declaration as it was sent.
type Tool struct {
	Name, Description, Parameters, Source string
}

// A Choice says whether tools are to be called.
type Choice uint8

// Auto, the zero Choice, leaves it to the conversation.
const (
	Auto Choice = iota
	Never
	Always
)

// A Format is what the answer must look like. The zero Format is free text; JSON
// without a Schema is any object.
type Format struct {
	JSON   bool
	Schema string
}

// A Request is a conversation with what its last message may be answered with.
type Request struct {
	Messages []Message
	Tools    []Tool
	Choice   Choice
	Named    string // with Always: the one tool to call
	OneCall  bool   // never more than one call
	Format   Format
	Thinks   bool
	Origin   uint64 // seed of the made-up parts
}

// A Reply is an answer. More continues it where it has to be longer than it is.
type Reply struct {
	Reasoning, Content string
	Calls              []Call
	prose              *prose
}

// More returns further prose that follows the content. Each call returns the next
// sentence; there is no end.
func (r Reply) More() string {
	return " " + r.prose.sentence()
}

// Answer reads the conversation and replies to its last message.
func Answer(q Request) Reply {
	c := read(q)
	r := Reply{prose: newProse(q.Origin)}
	if q.Choice != Never {
		r.Content, r.Calls = c.calls()
	}
	switch {
	case len(r.Calls) > 0:
	case q.Format.JSON:
		r.Content = c.structured(q.Format.Schema)
	default:
		r.Content = c.manners(c.reply(r.prose))
	}
	if q.Thinks {
		r.Reasoning = c.reasoning(r)
	}
	return r
}

// A conversation is a Request that has been read once.
type conversation struct {
	Request
	notes []note // every statement, in order
	last  string // the text that is to be answered: the latest user message
	after int    // tool results since that message
}

func read(q Request) *conversation {
	c := &conversation{Request: q}
	result := 0
	for i, m := range q.Messages {
		if m.Role == ToolResult {
			result++
			c.after++
			c.notes = takeNotes(c.notes, m.Content, source{message: i, result: result})
			continue
		}
		if m.Role == User {
			c.last, c.after = m.Content, 0
		}
		c.notes = takeNotes(c.notes, m.Content, source{message: i})
	}
	return c
}

// results is the number of tool results in the conversation.
func (c *conversation) results() int {
	n := 0
	for _, m := range c.Messages {
		if m.Role == ToolResult {
			n++
		}
	}
	return n
}

// standing returns the text of the system messages.
func (c *conversation) standing() string {
	var b strings.Builder
	for _, m := range c.Messages {
		if m.Role == System {
			b.WriteString(m.Content)
			b.WriteByte('\n')
		}
	}
	return b.String()
}
