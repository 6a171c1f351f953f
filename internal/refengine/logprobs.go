package refengine

import (
	"math"
	"strings"
)

// Log probabilities are made from a hash of the token and its neighbour: the chosen
// token has between 0.60 and 0.98, the alternatives share the rest and leave a bit
// of it over. So the chosen one is always first, nothing is infinite, and the
// probabilities add up to less than 1.

type scored struct {
	text    string
	logprob float64
}

// rate returns the chosen token and the n most probable ones.
func (s *script) rate(i, n int) (chosen scored, top []scored) {
	before := int32(0)
	if i > 0 {
		before = s.ids[i-1]
	}
	h := scramble(uint64(uint32(s.ids[i]))<<32 | uint64(uint32(before)))
	p := 0.60 + 0.38*float64(h>>40)/(1<<24)
	chosen = scored{s.piece(i), math.Log(p)}
	if n == 0 {
		return chosen, nil
	}
	top = append(top, chosen)
	rest := 1 - p
	for k := 1; len(top) < n; k++ {
		h = scramble(h)
		word := alternatives[h%uint64(len(alternatives))]
		if holds(top, word) {
			continue
		}
		rest /= 2
		top = append(top, scored{word, math.Log(rest)})
	}
	return chosen, top
}

func holds(list []scored, text string) bool {
	for _, s := range list {
		if s.text == text {
			return true
		}
	}
	return false
}

// alternatives are tokens that might have come instead: each is one piece.
var alternatives = strings.Split(" the| a| is| of| and| to| in| it| that| for| was| on| as| with|,|.| at| by| this| from| or| an| are| not| be|:| one| all| so| but", "|")

// appendLogprobs appends the log probabilities of the tokens that delta i shows.
func (j *job) appendLogprobs(dst []byte, i int) []byte {
	d := j.script.deltas[i]
	if !j.logprobs || d.channel != content || d.text == "" {
		return append(dst, "null"...)
	}
	return j.appendScores(dst, []int{i})
}

func (j *job) appendAllLogprobs(dst []byte) []byte {
	if !j.logprobs {
		return append(dst, "null"...)
	}
	var shown []int
	for i, d := range j.script.deltas {
		if d.channel == content && d.text != "" {
			shown = append(shown, i)
		}
	}
	return j.appendScores(dst, shown)
}

func (j *job) appendScores(dst []byte, deltas []int) []byte {
	if j.plain {
		return j.appendPlainScores(dst, deltas)
	}
	dst = append(dst, `{"content":[`...)
	first := true
	j.script.eachShown(deltas, j.topLogprobs, func(c scored, top []scored) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendScored(dst, c), `,"top_logprobs":[`...)
		for k, t := range top {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendScored(dst, t), '}')
		}
		dst = append(dst, "]}"...)
	})
	return append(dst, "]}"...)
}

// eachShown visits the tokens behind the given deltas. The last token of an answer
// that a stop string ended is cut to the part that was shown.
func (s *script) eachShown(deltas []int, n int, visit func(scored, []scored)) {
	for _, i := range deltas {
		left := s.deltas[i].text
		for k := s.deltas[i].since; k <= i && left != ""; k++ {
			chosen, top := s.rate(k, n)
			if !strings.HasPrefix(left, chosen.text) {
				chosen.text = left
				if len(top) > 0 {
					top[0].text = left
				}
			}
			left = left[len(chosen.text):]
			visit(chosen, top)
		}
	}
}

func appendScored(dst []byte, s scored) []byte {
	dst = appendString(append(dst, `{"token":`...), s.text)
	dst = appendFloat(append(dst, `,"logprob":`...), s.logprob)
	dst = append(dst, `,"bytes":[`...)
	for i := range len(s.text) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendInt(dst, int(s.text[i]))
	}
	return append(dst, ']')
}

// appendPlainScores writes the parallel lists of the completions route.
func (j *job) appendPlainScores(dst []byte, deltas []int) []byte {
	var tokens, probs, tops, offsets []byte
	offset := 0
	for i := range deltas[0] {
		offset += len(j.script.deltas[i].text)
	}
	j.script.eachShown(deltas, j.topLogprobs, func(c scored, top []scored) {
		tokens = append(appendString(tokens, c.text), ',')
		probs = append(appendFloat(probs, c.logprob), ',')
		offsets = append(appendInt(offsets, offset), ',')
		tops = append(tops, '{')
		for k, t := range top {
			if k > 0 {
				tops = append(tops, ',')
			}
			tops = append(appendString(tops, t.text), ':')
			tops = appendFloat(tops, t.logprob)
		}
		tops = append(tops, '}', ',')
		offset += len(c.text)
	})
	dst = append(dst, '{')
	for k, list := range []struct {
		name string
		body []byte
	}{{"text_offset", offsets}, {"token_logprobs", probs}, {"tokens", tokens}, {"top_logprobs", tops}} {
		if k > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, list.name), ":["...)
		if n := len(list.body); n > 0 {
			dst = append(dst, list.body[:n-1]...)
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}
