package static

import (
	"context"
	"fmt"
	"slices"

	"infbench/gates"
	"infbench/stages/checkpoint"

	"github.com/tidwall/gjson"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/tok.special_disagree",
	Doc: "the files that name the special tokens name the same ones\n\nFiles of two exports in one folder: batches are padded with one " +
		"token and masked by another, or an engine stops on one file's end token while the model writes the other's. The tokenizer's own end token " +
		"is asked about by static/tok.eos_mismatch.",
	Since: since, Cost: glance,
	Modes:  []string{"tok.special_disagree"},
	Faults: []string{"pad-differs", "end-differs", "map-differs"},
	Causes: []string{"generation_config.json comes from the base model and config.json from the fine-tune"},
	Next:   []string{"set eos_token_id and pad_token_id alike in both files", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		special := inv.Tokenizer().Special()
		for i := 1; i < len(special); i++ {
			if a, b := special[i-1], special[i]; a.Key == b.Key && a.Text != b.Text && a.Key == "pad_token" { // the end token is asked about elsewhere
				return gates.Warn("%s is %s in %s and %s in %s", a.Key, gates.Quote(a.Text, 40), a.File, gates.Quote(b.Text, 40), b.File), nil
			}
		}
		c, g := inv.Config(), inv.Generation()
		twice := slices.ContainsFunc(special, func(s checkpoint.SpecialToken) bool { return s.File != special[0].File })
		if twice && (!c.Readable() || !g.Readable()) {
			return gates.Pass("the tokenizer's files agree on the special tokens"), nil
		}
		if !c.Readable() || !g.Readable() {
			return gates.NotApply("there are not two files to compare"), nil
		}
		ends := c.IDs("eos_token_id") // a nested part often keeps its class's default
		stops := g.IDs("eos_token_id")
		if len(ends) > 0 && len(stops) > 0 && !slices.ContainsFunc(ends, func(id int64) bool { return slices.Contains(stops, id) }) {
			return gates.Warn("config.json ends with %v, generation_config.json with %v: none in common", ends, stops), nil
		}
		compared, note := len(ends)*len(stops), ""
		for _, key := range []string{"pad_token_id", "bos_token_id"} {
			x, y := c.Get(key), g.Get(key)
			if x.Type != gjson.Number || y.Type != gjson.Number {
				continue // one that leaves it out agrees
			}
			compared++
			switch {
			case x.Num == y.Num:
			case key == "pad_token_id":
				return gates.Warn("%s is %s in config.json and %s in generation_config.json", key, x.Raw, y.Raw), nil
			default: // the tokenizer's is the one that prompts get
				note = fmt.Sprintf("info: %s is %s in config.json and %s in generation_config.json", key, x.Raw, y.Raw)
			}
		}
		switch {
		case compared == 0 && twice:
			return gates.Pass("the tokenizer's files agree on the special tokens"), nil
		case compared == 0:
			return gates.NotApply("the files do not name the same tokens twice"), nil
		case note != "":
			return gates.Pass("%s", note), nil
		}
		return gates.Pass("config.json and generation_config.json agree on the special tokens"), nil
	},
})
