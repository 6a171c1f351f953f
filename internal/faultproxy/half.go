package faultproxy

// half lets through half of the events before the finish reason and then goes on
// with then. Nobody knows how many there will be, so event k leaves when event 2k
// has come; the first leaves in any case.
func half(then func(out outlet)) filter {
	var held []*event
	came, sent := 0, 0
	release := func(out outlet, upTo int) {
		for ; sent < upTo && len(held) > 0; sent++ {
			out.send(held[0])
			held = held[1:]
		}
	}
	last := func(out outlet) {
		release(out, 1)
		then(out)
	}
	return filter{
		event: func(e *event, out outlet) {
			if e.done || e.finishes() {
				last(out)
				return
			}
			held = append(held, e)
			came++
			release(out, came/2)
		},
		end: last,
	}
}
