package reader

import (
	"regexp"
	"sort"
	"strings"

	"github.com/tidwall/gjson"
)

func (c *conversation) isTool(name string) bool {
	for _, t := range c.Tools {
		if t.Name == name {
			return true
		}
	}
	return false
}

func (c *conversation) mentionsTool(low string) bool { return len(c.mentions(low)) > 0 }

// A mention is a place where a text names a tool.
type mention struct {
	tool  Tool
	start int
	end   int
}

// mentions finds the tools named in a text, in order. A name within a longer name
// is not a mention of the shorter one.
func (c *conversation) mentions(low string) []mention {
	var out []mention
	for _, t := range c.Tools {
		name := strings.ToLower(t.Name)
		for from := 0; ; {
			i := strings.Index(low[from:], name)
			if i < 0 {
				break
			}
			i += from
			from = i + len(name)
			if wordEdge(low, i, from) && !(from < len(low) && low[from] == '-') {
				out = append(out, mention{t, i, from})
			}
		}
	}
	sort.SliceStable(out, func(i, k int) bool { return out[i].start < out[k].start })
	return out
}

// compose makes the calls that a text asks for: one per named tool and set of
// arguments.
func (c *conversation) compose(text string) []Call {
	found := c.mentions(fold(text))
	if len(found) <= 1 {
		t := c.suitable(text)
		if len(found) == 1 {
			t = found[0].tool
		}
		if many := c.spread(t, text); len(many) > 1 {
			return many
		}
		call, _ := c.callOf(t, text)
		return []Call{call}
	}
	var calls, empty []Call
	for i, m := range found {
		start, end := m.start, len(text)
		if i == 0 {
			start = 0
		}
		if i+1 < len(found) {
			end = found[i+1].start
		}
		if many := c.spread(m.tool, text[start:end]); len(many) > 1 {
			calls = append(calls, many...)
			continue
		}
		call, hits := c.callOf(m.tool, text[start:end])
		if hits == 0 && len(parameters(m.tool.Parameters)) > 0 {
			empty = append(empty, call) // named, but not with anything
			continue
		}
		calls = append(calls, call)
	}
	if len(calls) == 0 {
		return empty[:1]
	}
	return calls
}

// suitable chooses a tool that no text names: the one whose words occur most.
func (c *conversation) suitable(text string) Tool {
	asked := keywords(text)
	bestTool, score := c.Tools[0], 0
	for _, t := range c.Tools {
		n := 0
		for _, w := range keywords(spaces(t.Name) + " " + t.Description) {
			if has(asked, w) {
				n++
			}
		}
		if n > score {
			bestTool, score = t, n
		}
	}
	return bestTool
}

// spread makes one call per value when the text wants several: "for Paris and
// London".
func (c *conversation) spread(t Tool, text string) []Call {
	params := parameters(t.Parameters)
	if len(params) == 0 || !several.MatchString(fold(text)) {
		return nil
	}
	target := params[0]
	for _, p := range params {
		if p.required {
			target = p
			break
		}
	}
	schema := gjson.Parse(t.Parameters)
	f := c.filler(text, schema, paramNames(params))
	var values []string
	switch kind := typeOf(settle(schema, target.schema)); {
	case kind == "integer" || kind == "number":
		for _, n := range f.nums {
			values = append(values, fit(n.value, target.schema))
		}
	case len(f.loose) > 1:
		for _, q := range f.loose {
			values = append(values, jsonString(q.value))
		}
	case kind == "string":
		values = namesAfter(text)
	}
	if len(values) < 2 || len(params) > 1 && params[1].required {
		return nil
	}
	var calls []Call
	for _, v := range values {
		calls = append(calls, Call{t.Name, "{" + jsonString(target.name) + ": " + v + "}"})
	}
	return calls
}

var nameSeries = regexp.MustCompile(`\b(?:for|in|of|with|on|both)(?: both)? ([\p{Lu}\d][\w'-]*(?: \p{Lu}[\w'-]*)*)((?:,? and (?:once |then |also )?(?:for |in |of |with )?|, (?:once )?(?:for |in )?)[\p{Lu}\d][\w'-]*(?: \p{Lu}[\w'-]*)*)+`)

var nameOne = regexp.MustCompile(`[\p{Lu}\d][\w'-]*(?: \p{Lu}[\w'-]*)*`)

// namesAfter reads "for Paris, London and New York".
func namesAfter(text string) []string {
	var out []string
	for _, name := range nameOne.FindAllString(nameSeries.FindString(text), -1) {
		out = append(out, jsonString(name))
	}
	return out
}

func paramNames(params []parameter) []string {
	var out []string
	for _, p := range params {
		out = append(out, p.name)
	}
	return out
}

// callOf fills the arguments of one call; hits counts those that were read.
func (c *conversation) callOf(t Tool, text string) (call Call, hits int) {
	params := parameters(t.Parameters)
	if len(params) == 0 {
		return Call{t.Name, "{}"}, 0
	}
	if raw, ok := argumentObject(text, params); ok {
		return Call{t.Name, compact(raw)}, 1
	}
	schema := gjson.Parse(t.Parameters)
	f := c.filler(text, schema, paramNames(params))
	var parts []string
	for _, p := range params {
		if !p.required {
			if _, given := f.assigned(p.name); !given && !f.hasLoose(p) {
				continue
			}
		}
		raw, found := f.fill(p.name, p.schema, 1)
		if found {
			hits++
		}
		if found || p.required {
			parts = append(parts, jsonString(p.name)+": "+raw)
		}
	}
	return Call{t.Name, "{" + strings.Join(parts, ", ") + "}"}, hits
}

// hasLoose says whether a literal is left over that an optional parameter can take.
func (f *filler) hasLoose(p parameter) bool {
	s := settle(f.root, p.schema)
	switch typeOf(s) {
	case "string":
		return len(f.loose) > 0 || s.Get("enum").Exists()
	case "integer", "number":
		return len(f.nums) > 0
	case "boolean":
		return boolRE.MatchString(f.text)
	}
	return false
}

// argumentObject finds a JSON object in the text whose keys are parameters.
func argumentObject(text string, params []parameter) (string, bool) {
	raw, ok := literalOf(text, '{')
	if !ok {
		return "", false
	}
	all, n := true, 0
	gjson.Parse(raw).ForEach(func(k, _ gjson.Result) bool {
		n++
		all = all && has(paramNames(params), k.Str)
		return true
	})
	return raw, all && n > 0
}
