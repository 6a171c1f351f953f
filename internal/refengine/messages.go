package refengine

import (
	"strings"

	"github.com/tidwall/gjson"

	"infbench/internal/refengine/reader"
)

// parseMessages reads the conversation at path.
func parseMessages(b *body, path string) []reader.Message {
	v, ok := b.field(path)
	if !ok || !v.IsArray() {
		b.refuse("%s must be a list", path)
		return nil
	}
	var out []reader.Message
	v.ForEach(func(_, m gjson.Result) bool {
		msg := reader.Message{Content: parseContent(b, m.Get("content"))}
		switch role := m.Get("role").Str; role {
		case "system", "developer":
			msg.Role = reader.System
		case "user":
			msg.Role = reader.User
		case "assistant":
			msg.Role = reader.Assistant
			msg.Calls = parseCalls(b, m.Get("tool_calls"))
		case "tool", "function":
			msg.Role = reader.ToolResult
		default:
			b.refuse("a message has the unknown role %q", role)
		}
		out = append(out, msg)
		return b.err == nil
	})
	return out
}

// parseContent accepts a string, null, or a list of texts and pictures.
func parseContent(b *body, v gjson.Result) string {
	switch {
	case v.Type == gjson.String:
		return clean(v.Str)
	case !v.Exists() || v.Type == gjson.Null:
		return ""
	case !v.IsArray():
		b.refuse("the content of a message must be a string or a list of parts")
		return ""
	}
	var text strings.Builder
	v.ForEach(func(_, part gjson.Result) bool {
		if part.Type == gjson.String {
			text.WriteString(clean(part.Str))
			return true
		}
		switch t := part.Get("type").Str; t {
		case "text":
		case "image_url":
			words, ok := see(part.Get("image_url.url").Str)
			if !ok {
				b.refuse("an image must be a PNG in a data URL")
				return false
			}
			text.WriteString(words)
			return true
		default:
			b.refuse("a content part has the type %q: this engine reads text and pictures", t)
			return false
		}
		text.WriteString(clean(part.Get("text").Str))
		return true
	})
	return text.String()
}

func parseCalls(b *body, v gjson.Result) []reader.Call {
	var calls []reader.Call
	v.ForEach(func(_, c gjson.Result) bool {
		f := c.Get("function")
		args := f.Get("arguments")
		text := args.Str
		if args.IsObject() { // some clients keep the parsed form
			text = args.Raw
		}
		if f.Get("name").Str == "" {
			b.refuse("a tool call of the assistant has no name")
		}
		calls = append(calls, reader.Call{Name: clean(f.Get("name").Str), Arguments: clean(text)})
		return b.err == nil
	})
	return calls
}

// parseTools reads the tools and what the request says about using them.
func parseTools(b *body, talk *reader.Request) {
	if v, ok := b.field("tools"); ok {
		if !v.IsArray() {
			b.refuse("tools must be a list")
		}
		v.ForEach(func(_, t gjson.Result) bool {
			f := t.Get("function")
			if t.Get("type").Str != "function" || f.Get("name").Str == "" {
				b.refuse("a tool must have the type function and a name")
				return false
			}
			talk.Tools = append(talk.Tools, reader.Tool{
				Name: clean(f.Get("name").Str), Description: clean(f.Get("description").Str),
				Parameters: clean(f.Get("parameters").Raw), Source: clean(t.Raw),
			})
			return true
		})
	}
	talk.OneCall = b.root.Get("parallel_tool_calls").Type == gjson.False
	v, ok := b.field("tool_choice")
	if !ok {
		return
	}
	switch {
	case v.Str == "auto":
	case v.Str == "none":
		talk.Choice = reader.Never
	case v.Str == "required":
		talk.Choice = reader.Always
	case v.Get("function.name").Str != "":
		talk.Choice, talk.Named = reader.Always, v.Get("function.name").Str
	default:
		b.refuse("tool_choice must be auto, none, required or name a function")
	}
	checkChoice(b, talk)
}

func checkChoice(b *body, talk *reader.Request) {
	if talk.Choice != reader.Always {
		return
	}
	if len(talk.Tools) == 0 {
		b.refuse("tool_choice asks for a call, but there are no tools")
	}
	if talk.Named == "" {
		return
	}
	for _, t := range talk.Tools {
		if t.Name == talk.Named {
			return
		}
	}
	b.refuse("tool_choice names %q, which is not among the tools", talk.Named)
}

// parseFormat reads response_format.
func parseFormat(b *body) reader.Format {
	v, ok := b.field("response_format")
	if !ok {
		return reader.Format{}
	}
	switch kind := v.Get("type").Str; kind {
	case "text":
		return reader.Format{}
	case "json_object":
		return reader.Format{JSON: true}
	case "json_schema":
		schema := v.Get("json_schema.schema")
		if !schema.IsObject() {
			b.refuse("response_format.json_schema.schema must be an object")
		}
		return reader.Format{JSON: true, Schema: clean(schema.Raw)}
	default:
		b.refuse("response_format has the unknown type %q", kind)
		return reader.Format{}
	}
}
