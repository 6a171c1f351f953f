package reader

import "strings"

// reasoning returns what is thought before a reply: a few sentences about the
// request, never a marker and never an invented fact.
func (c *conversation) reasoning(r Reply) string {
	p := newProse(c.Origin ^ 2)
	var b strings.Builder
	b.WriteString(p.choose("Let me read the request again.", "I look at what is being asked.", "First I work out what is wanted."))
	if list, _ := c.errands(); len(list) > 0 {
		b.WriteString(" The last message says: ")
		b.WriteString(excerpt(list[len(list)-1].text))
		b.WriteString(" ")
	} else {
		b.WriteString(" ")
	}
	switch {
	case len(r.Calls) > 0:
		b.WriteString("A tool can do this, so I call " + r.Calls[0].Name + " with the arguments that were given.")
	case c.Format.JSON:
		b.WriteString("The answer has to be JSON, so I go through the fields one by one.")
	default:
		b.WriteString(p.choose("I search the conversation for it from the end to the beginning.", "I go through the statements and compare them with the question.", "I check the text once more before I answer."))
	}
	b.WriteString(" That settles it, and I can answer now.")
	return b.String()
}

func (p *prose) choose(list ...string) string { return list[p.rng.IntN(len(list))] }

// excerpt returns the first words of s.
func excerpt(s string) string {
	list := strings.Fields(s)
	if len(list) > 16 {
		return strings.Join(list[:16], " ") + " …"
	}
	return strings.Join(list, " ")
}
