package faultproxy

import (
	"encoding/json"
	"maps"
	"strconv"
)

// object is a JSON object; its numbers are json.Number.
type object = map[string]any

// A part is one choice of an answer, whether it is a chunk of a stream, a message,
// or a choice of the text completions route.
type part struct {
	choice object
	box    object // where the text sits: the delta, the message, or the choice itself
	key    string // content or text
}

func parts(doc object) []part {
	list, _ := doc["choices"].([]any)
	var out []part
	for _, c := range list {
		choice, ok := c.(object)
		if !ok {
			continue
		}
		if box, ok := choice["delta"].(object); ok {
			out = append(out, part{choice, box, "content"})
		} else if box, ok := choice["message"].(object); ok {
			out = append(out, part{choice, box, "content"})
		} else {
			out = append(out, part{choice, choice, "text"})
		}
	}
	return out
}

func (p part) index() int { return toInt(p.choice["index"]) }

func (p part) finish() string { return toText(p.choice["finish_reason"]) }

func (p part) setFinish(s string) { p.choice["finish_reason"] = s }

func (p part) visible() string { return toText(p.box[p.key]) }

func (p part) setVisible(s string) { p.box[p.key] = s }

// thoughtNames are the two names of the reasoning field.
var thoughtNames = [2]string{"reasoning_content", "reasoning"}

// thoughts returns the reasoning under the name it has there.
func (p part) thoughts() (name, text string) {
	for _, name := range thoughtNames {
		if s := toText(p.box[name]); s != "" {
			return name, s
		}
	}
	return "", ""
}

func (p part) calls() []object {
	return objects(p.box["tool_calls"])
}

// objects are those of a list.
func objects(v any) []object {
	list, _ := v.([]any)
	var out []object
	for _, one := range list {
		if o, ok := one.(object); ok {
			out = append(out, o)
		}
	}
	return out
}

// dropCalls removes the tool calls; an answer that ended in them then just stops.
func (p part) dropCalls() {
	delete(p.box, "tool_calls")
	if p.finish() == "tool_calls" {
		p.setFinish("stop")
	}
}

// A channel is what a text is for.
type channel uint8

const (
	visible channel = iota
	thought
	arguments
)

// A slot is where the pieces of one text arrive.
type slot struct {
	choice  int
	channel channel
	call    int    // of arguments
	name    string // of the field
}

// A piece is some text in an answer.
type piece struct {
	slot
	text string
	set  func(string)
}

func (p part) texts() []piece {
	var out []piece
	add := func(ch channel, call int, box object, name string) {
		if s, ok := box[name].(string); ok {
			out = append(out, piece{slot{p.index(), ch, call, name}, s, func(s string) { box[name] = s }})
		}
	}
	for _, name := range thoughtNames {
		add(thought, 0, p.box, name)
	}
	add(visible, 0, p.box, p.key)
	for i, c := range p.calls() {
		if _, ok := c["index"]; ok {
			i = toInt(c["index"])
		}
		if f, ok := c["function"].(object); ok {
			add(arguments, i, f, "arguments")
		}
	}
	return out
}

// like makes a chunk with the head of e and text in one slot.
func (e *event) like(s slot, text string) *event {
	doc := maps.Clone(e.doc)
	delete(doc, "usage")
	choice := object{"index": s.choice, "logprobs": nil, "finish_reason": nil}
	switch {
	case s.channel == arguments:
		choice["delta"] = object{"tool_calls": []any{object{"index": s.call, "function": object{"arguments": text}}}}
	case s.name == "text":
		choice["text"] = text
	default:
		choice["delta"] = object{s.name: text}
	}
	doc["choices"] = []any{choice}
	return &event{doc: doc}
}

func toText(v any) string {
	s, _ := v.(string)
	return s
}

func toInt(v any) int {
	switch n := v.(type) {
	case json.Number:
		i, _ := n.Int64()
		return int(i)
	case int:
		return n
	}
	return 0
}

func toReal(f float64) json.Number { return json.Number(strconv.FormatFloat(f, 'g', -1, 64)) }

func toNumber(n int) json.Number { return json.Number(strconv.Itoa(n)) }

// toFloat reads a number of a document.
func toFloat(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}
