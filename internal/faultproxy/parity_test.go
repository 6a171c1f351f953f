package faultproxy_test

import (
	"maps"
	"math"
	"slices"
	"strings"
)

func init() {
	maps.Copy(cases, map[string]faultCase{
		"logprob-noise": {more: `,"logprobs":true`, spares: []request{{}}, show: func(got, good answer) string {
			var off []float64
			for i, lp := range got.logprobs {
				off = append(off, lp-good.logprobs[i])
			}
			return all(same(got, good), want(slices.Equal(got.tokens, good.tokens) && len(off) > 4, "tokens"), want(slices.Max(got.logprobs) < 0, "not below 0"),
				want(slices.Max(off) > 0 && slices.Min(off) < 0 && math.Abs(slices.Max(off)) < 1, "no noise"))
		}},
		"second-choice": {more: `,"logprobs":true`, spares: []request{{}}, show: func(got, good answer) string {
			wanted := slices.Clone(good.tokens)
			was := wanted[3]
			wanted[3] = "~"
			return all(healthy(got), want(slices.Equal(got.tokens, wanted), "tokens"), want(slices.Equal(got.logprobs, good.logprobs), "logprobs"),
				want(got.text == strings.Replace(good.text, was, "~", 1) || got.text == strings.Join(wanted, ""), "text is "+got.text))
		}},
		"calls-less": {spec: "calls-less:of=1", prompt: "tool", more: withTool, spares: []request{{}}, show: func(got, good answer) string {
			return all(healthy(got), want(strings.Contains(got.text, "<tool_call>"), got.text), want(got.finish[0] == "stop", "finish"), want(len(got.calls) == 0 && len(good.calls) > 0, "calls"))
		}},
	})
}
