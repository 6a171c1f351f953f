package endpoint

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"
)

// vllmBody returns a stream as vLLM sends it: n chunks of about 290 bytes, the
// finish, the usage and [DONE].
func vllmBody(n int) []byte { return vllmStream(n, false) }

// vllmStream is vllmBody, with a running usage in each chunk if asked for.
func vllmStream(n int, running bool) []byte {
	const head = `data: {"id":"chatcmpl-3f6b0c0e9d4a4b6f8a7c2d1e0f9a8b7c","object":"chat.completion.chunk","created":1790000000,"model":"example/model-8b-instruct","system_fingerprint":"fp_0123456789abcdef","choices":[{"index":0,"delta":`
	const tail = `,"logprobs":null,"finish_reason":null,"stop_reason":null,"token_ids":null}]}` + "\n\n"
	var b bytes.Buffer
	b.WriteString(head + `{"role":"assistant","content":""}` + tail)
	for i := range n {
		if running {
			end := fmt.Sprintf(`}],"usage":{"prompt_tokens":9,"total_tokens":%d,"completion_tokens":%d}}`+"\n\n", i+10, i+1)
			fmt.Fprintf(&b, `%s{"content":" word%d"},"logprobs":null,"finish_reason":null%s`, head, i%10, end)
			continue
		}
		fmt.Fprintf(&b, `%s{"content":" word%d"}%s`, head, i%10, tail)
	}
	b.WriteString(head + `{},"logprobs":null,"finish_reason":"stop","stop_reason":null}]}` + "\n\n")
	fmt.Fprintf(&b, `data: {"id":"chatcmpl-3f6b0c0e9d4a4b6f8a7c2d1e0f9a8b7c","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":%d,"total_tokens":%d}}`+"\n\n", n, n+9)
	b.WriteString("data: [DONE]\n\n")
	return b.Bytes()
}

// BenchmarkStream reads 100,000 chunks through the client; per chunk it reports the
// time and the allocations.
func BenchmarkStream(b *testing.B) {
	const chunks = 100_000
	body := vllmBody(chunks)
	b.Run("client", func(b *testing.B) { benchClient(b, body, chunks) })
	b.Run("client-running-usage", func(b *testing.B) { benchClient(b, vllmStream(chunks, true), chunks) })
	b.Run("bare-scan", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			n := 0
			for s := bufio.NewScanner(bytes.NewReader(body)); s.Scan(); {
				if bytes.HasPrefix(s.Bytes(), []byte("data: ")) && bytes.Contains(s.Bytes(), []byte(`"content":"`)) {
					n++
				}
			}
			if n != chunks+1 {
				b.Fatal(n)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/chunks, "ns/chunk")
	})
}

func benchClient(b *testing.B, body []byte, chunks int) {
	c := &client{target: mustTarget(b, "http://127.0.0.1:1"), limits: DefaultLimits(), http: tripper(func(*http.Request) (*http.Response, error) {
		return eventStream(io.NopCloser(bytes.NewReader(body))), nil
	})}
	b.ReportAllocs()
	for b.Loop() {
		a := c.stream(b.Context(), Prepared{body: []byte("{}"), stream: true, maxTokens: chunks})
		if a.Failure != nil || len(a.Broke) > 0 || len(a.Timing.Marks) != chunks {
			b.Fatal(a.Failure, a.Broke, len(a.Timing.Marks))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(chunks), "ns/chunk")
	b.ReportMetric(testing.AllocsPerRun(1, func() {
		c.stream(b.Context(), Prepared{body: []byte("{}"), stream: true, maxTokens: chunks})
	})/float64(chunks), "allocs/chunk")
}
