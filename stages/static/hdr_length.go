package static

import (
	"context"

	"infbench/gates"
	"infbench/stages/checkpoint"
)

var _ = checks.Add(gates.Check[checkpoint.Inventory]{
	ID: "static/hdr.length",
	Doc: "every shard begins with a header length that can be\n\nReaders refuse more than 100,000,000 bytes with \"header too large\": " +
		"a text file read as a shard, such as an error page, looks like this. A cut file ends inside its header.",
	Since: since, Cost: deep,
	Modes:  []string{"hdr.length"},
	Faults: []string{"beyond-limit", "past-end", "seven-bytes"},
	Does:   whenHeaderBroken,
	Causes: []string{"an error page or another format saved under the shard's name", "a download that stopped in the first kilobytes"},
	Next:   []string{"download the shard again", again},
	Run: func(_ context.Context, inv checkpoint.Inventory) (gates.Finding, error) {
		return judgeHeaders(inv, "lengths are possible", checkpoint.FlawLength, checkpoint.FlawUnreadable, checkpoint.FlawTooLarge), nil
	},
})
