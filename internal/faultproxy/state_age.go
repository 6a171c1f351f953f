package faultproxy

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// Servers that grow old: what they do is right, and takes more and more.

var _ = register(fault{
	Info: Info{
		ID: "slower-with-age", Stage: 4, Modes: []string{"OPS-08"},
		Doc:    "answers begin later and later, the longer the server is up",
		Params: []Param{span("per-hour", "1s", "how much later for each hour since it began")},
	},
	build: func(o options) acts {
		born := time.Now()
		return acts{answer: func(x *exchange) filter {
			return filter{open: func() { x.wait(time.Duration(float64(o.duration("per-hour")) * time.Since(born).Hours())) }}
		}}
	},
})

var _ = register(fault{
	Info: Info{
		ID: "memory-grows", Stage: 4, Modes: []string{"OPS-08"},
		Doc:    "the resident memory in /metrics grows, the longer the server is up",
		Params: []Param{number("mib", "4096", "at first, in MiB"), number("per-hour", "1024", "MiB more for each hour since it began")},
	},
	build: func(o options) acts {
		born := time.Now()
		return acts{
			scope: func(x *exchange) bool { return strings.HasSuffix(x.r.URL.Path, "/metrics") },
			answer: func(*exchange) filter {
				return filter{text: func(b []byte) []byte {
					return replaceSample(b, residentMemory, (float64(o.number("mib"))+float64(o.number("per-hour"))*time.Since(born).Hours())*(1<<20))
				}}
			},
		}
	},
})

const residentMemory = "process_resident_memory_bytes"

// replaceSample returns a page of metrics with one gauge set, whether it was there or not.
func replaceSample(page []byte, name string, value float64) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(page) {
		if !bytes.HasPrefix(line, []byte(name+" ")) {
			out.Write(line)
		}
	}
	out.WriteString(name + " " + strconv.FormatFloat(value, 'f', 0, 64) + "\n")
	return out.Bytes()
}
