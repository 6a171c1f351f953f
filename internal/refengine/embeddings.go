package refengine

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"infbench/internal/refengine/pieces"
)

const dimensions = 64

// embed returns a unit vector: each word pushes in a direction of its own, so texts
// that share words are nearer to each other than texts that do not.
func embed(text string) [dimensions]float64 {
	var v [dimensions]float64
	v[0] = 1e-3 // an empty text has a direction as well
	for _, w := range strings.Fields(strings.ToLower(text)) {
		h := uint64(14695981039346656037)
		for i := range len(w) {
			h = (h ^ uint64(w[i])) * 1099511628211
		}
		for i := range v {
			h = scramble(h)
			v[i] += float64(int64(h)) / math.MaxInt64
		}
	}
	norm := 0.0
	for _, x := range v {
		norm += x * x
	}
	norm = math.Sqrt(norm)
	for i := range v {
		v[i] /= norm
	}
	return v
}

func (e *Engine) embeddings(w http.ResponseWriter, r *http.Request) {
	b, refusal := readBody(r)
	if refusal == nil {
		refusal = e.knows(b.text("model"))
	}
	if refusal != nil {
		refuse(w, refusal)
		return
	}
	inputs := embeddingInputs(b)
	asBase64 := b.text("encoding_format") == "base64"
	if b.err != nil {
		refuse(w, b.err)
		return
	}
	total := 0
	out := []byte(`{"object":"list","data":[`)
	for i, text := range inputs {
		if i > 0 {
			out = append(out, ',')
		}
		n := pieces.Count(text)
		if n > e.config.ContextLength {
			refuse(w, badRequest("This model's maximum context length is %d tokens, input %d has %d.", e.config.ContextLength, i, n))
			return
		}
		total += n
		out = appendInt(append(out, `{"object":"embedding","index":`...), i)
		out = append(appendVector(append(out, `,"embedding":`...), embed(text), asBase64), '}')
	}
	out = appendString(append(out, `],"model":`...), e.config.Model)
	out = appendInt(append(out, `,"usage":{"prompt_tokens":`...), total)
	out = appendInt(append(out, `,"total_tokens":`...), total)
	writeJSON(w, http.StatusOK, append(out, "}}"...))
}

func embeddingInputs(b *body) []string {
	v, ok := b.field("input")
	list := []gjson.Result{v}
	if v.IsArray() {
		list = v.Array()
	}
	if !ok || len(list) == 0 {
		b.refuse("input must be a string or a list of strings")
	}
	var texts []string
	for _, s := range list {
		if s.Type != gjson.String {
			b.refuse("input must be a string or a list of strings")
		}
		texts = append(texts, clean(s.Str))
	}
	return texts
}

func appendVector(dst []byte, v [dimensions]float64, asBase64 bool) []byte {
	if asBase64 {
		raw := make([]byte, 0, 4*dimensions)
		for _, x := range v {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(x)))
		}
		return appendString(dst, base64.StdEncoding.EncodeToString(raw))
	}
	dst = append(dst, '[')
	for i, x := range v {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendFloat(dst, x)
	}
	return append(dst, ']')
}
