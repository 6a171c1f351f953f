package power

import (
	"encoding/csv"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

var errNothing = errors.New("it tells the power of no accelerator")

// parseNvidia reads a line for each device: watts and MiB. A device that does not tell prints
// words in brackets.
func parseNvidia(printed string) (Reading, error) {
	r := csv.NewReader(strings.NewReader(printed))
	r.FieldsPerRecord, r.TrimLeadingSpace, r.LazyQuotes = 2, true, true
	var power, memory sum
	n := 0
	for n < mostDevices {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Reading{}, errNothing // a message, or another program
		}
		n++
		watts, ok := number(row[0])
		power.add(watts, ok && within(watts, mostWatts))
		mib, ok := number(row[1])
		memory.add(mib, ok && within(mib*(1<<20), mostBytes))
	}
	return reading(n, power.count(1000), memory.count(1<<20))
}

// parseROCm reads an object for each card. The key of the power differs by device: the
// average or current power of the package or socket.
func parseROCm(printed string) (Reading, error) {
	const deepest = 4096                                               // of the text that is looked at for its beginning
	at := strings.IndexByte(printed[:min(len(printed), deepest)], '{') // warnings may stand before
	if at < 0 || !gjson.Valid(printed[at:]) {
		return Reading{}, errNothing
	}
	var power, memory sum
	n := 0
	gjson.Parse(printed[at:]).ForEach(func(card, about gjson.Result) bool {
		if !strings.HasPrefix(card.Str, "card") || !about.IsObject() {
			return true
		}
		n++
		watts, okW, used, okM := 0.0, false, 0.0, false
		about.ForEach(func(key, v gjson.Result) bool {
			switch {
			case strings.HasSuffix(key.Str, "Power (W)") && !strings.HasPrefix(key.Str, "Max"):
				watts, okW = number(v.String())
			case key.Str == "VRAM Total Used Memory (B)":
				used, okM = number(v.String())
			}
			return true
		})
		power.add(watts, okW && within(watts, mostWatts))
		memory.add(used, okM && within(used, mostBytes))
		return n < mostDevices
	})
	return reading(n, power.count(1000), memory.count(1))
}

func number(s string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return v, err == nil
}
