package tokens

import (
	"errors"
	"fmt"

	"github.com/tidwall/gjson"
)

func parseNormalizer(v gjson.Result) (nfc bool, err error) {
	if v.Type == gjson.Null {
		return false, nil
	}
	kind, err := typed("normalizer", v)
	if err != nil {
		return false, err
	}
	switch kind {
	case "NFC":
		_, err := parseObject("normalizer NFC", v, "type")
		return true, err
	case "Sequence":
		o, err := parseObject("normalizer Sequence", v, "type", "normalizers")
		if err != nil {
			return false, err
		}
		steps, err := o.list("normalizers")
		for _, s := range steps {
			if err != nil {
				break
			}
			var one bool
			one, err = parseNormalizer(s)
			nfc = nfc || one
		}
		return nfc, err
	}
	return false, fmt.Errorf("%w: normalizer %.40q", ErrUnsupported, kind)
}

// parsePreTokenizer wants ByteLevel last and only there: before another step it
// would show that step the spelled bytes, and without it the model is no
// byte-level one.
func parsePreTokenizer(v gjson.Result) (preTokenizer, error) {
	flat, err := flatten(v)
	if err != nil {
		return nil, err
	}
	var out preTokenizer
	for i, s := range flat {
		kind, err := typed("pre-tokenizer", s)
		if err != nil {
			return nil, err
		}
		var steps []step
		switch {
		case (kind == "ByteLevel") != (i == len(flat)-1):
			err = fmt.Errorf("%w: pre-tokenizer that does not end in its only ByteLevel step", ErrUnsupported)
		case kind == "ByteLevel":
			steps, err = parseByteLevel(s)
		case kind == "Split":
			steps, err = parseSplit(s)
		case kind == "Digits":
			steps, err = parseDigits(s)
		default:
			err = fmt.Errorf("%w: pre-tokenizer %.40q", ErrUnsupported, kind)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, steps...)
	}
	if len(flat) == 0 {
		return nil, fmt.Errorf("%w: no ByteLevel pre-tokenizer", ErrUnsupported)
	}
	return out, nil
}

// flatten undoes nested Sequences.
func flatten(v gjson.Result) ([]gjson.Result, error) {
	if v.Type == gjson.Null {
		return nil, nil
	}
	if kind, err := typed("pre-tokenizer", v); err != nil || kind != "Sequence" {
		return []gjson.Result{v}, err
	}
	o, err := parseObject("pre-tokenizer Sequence", v, "type", "pretokenizers")
	if err != nil {
		return nil, err
	}
	steps, err := o.list("pretokenizers")
	if err != nil {
		return nil, err
	}
	var out []gjson.Result
	for _, s := range steps {
		more, err := flatten(s)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

func parseByteLevel(v gjson.Result) ([]step, error) {
	o, err := parseObject("pre-tokenizer ByteLevel", v, "type", "add_prefix_space", "trim_offsets", "use_regex")
	if err != nil {
		return nil, err
	}
	prefix, err := o.mustFlag("add_prefix_space")
	if err != nil {
		return nil, err
	}
	regex, err := o.flag("use_regex", true)
	if err != nil {
		return nil, err
	}
	var out []step
	if prefix {
		out = append(out, prefixSpace{})
	}
	if regex {
		find, err := pattern(gpt2Pattern, timeoutOf(gpt2Pattern))
		if err != nil {
			return nil, err
		}
		out = append(out, splitter{find: find})
	}
	return out, nil
}

func parseSplit(v gjson.Result) ([]step, error) {
	o, err := parseObject("pre-tokenizer Split", v, "type", "pattern", "behavior", "invert")
	if err != nil {
		return nil, err
	}
	invert, err := o.mustFlag("invert")
	if err != nil {
		return nil, err
	}
	name, _, err := o.text("behavior")
	if err != nil {
		return nil, err
	}
	how, ok := behaviors[name]
	if !ok {
		return nil, fmt.Errorf("%w: split behavior %.40q", ErrUnsupported, name)
	}
	find, err := parsePattern(o.fields["pattern"])
	if err != nil {
		return nil, err
	}
	return []step{splitter{find: find, behavior: how, invert: invert}}, nil
}

func parsePattern(v gjson.Result) (func(string) ([]span, error), error) {
	o, err := parseObject("split pattern", v, "Regex", "String")
	if err != nil {
		return nil, err
	}
	expr, isRegex, err := o.text("Regex")
	if err != nil {
		return nil, err
	}
	sep, isString, err := o.text("String")
	switch {
	case err != nil:
		return nil, err
	case isRegex == isString:
		return nil, errors.New("split pattern is not one of Regex and String")
	case isRegex:
		return pattern(expr, timeoutOf(expr))
	case sep == "":
		return nil, fmt.Errorf("%w: empty split pattern", ErrUnsupported)
	}
	return literal(sep), nil
}

func parseDigits(v gjson.Result) ([]step, error) {
	o, err := parseObject("pre-tokenizer Digits", v, "type", "individual_digits")
	if err != nil {
		return nil, err
	}
	each, err := o.mustFlag("individual_digits")
	how := contiguous
	if each {
		how = isolated
	}
	return []step{splitter{find: digits, behavior: how}}, err
}
