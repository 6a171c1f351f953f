package tokens

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"
)

// object is a JSON object without duplicate or unknown keys. An unknown key may
// change what the known ones mean, so it is not passed over.
type object struct {
	name   string
	fields map[string]gjson.Result
}

func parseObject(name string, v gjson.Result, known ...string) (object, error) {
	o := object{name: name, fields: make(map[string]gjson.Result, len(known))}
	if !v.IsObject() {
		return o, fmt.Errorf("%s is not an object", name)
	}
	var err error
	v.ForEach(func(k, v gjson.Result) bool {
		key := k.String()
		if _, twice := o.fields[key]; twice {
			err = fmt.Errorf("%s has %q twice", name, key)
		} else if !slices.Contains(known, key) {
			err = fmt.Errorf("%w: %s has the unknown field %q", ErrUnsupported, name, key)
		}
		o.fields[key] = v
		return err == nil
	})
	return o, err
}

// set reports whether the field is there and not null.
func (o object) set(key string) bool {
	v, ok := o.fields[key]
	return ok && v.Type != gjson.Null
}

// text returns a string field; ok is false where it is absent or null.
func (o object) text(key string) (s string, ok bool, err error) {
	switch {
	case !o.set(key):
		return "", false, nil
	case o.fields[key].Type != gjson.String:
		return "", false, fmt.Errorf("%s: %q is not a string", o.name, key)
	}
	return o.fields[key].String(), true, nil
}

// flag returns a boolean field, or absent where it is not there or null.
func (o object) flag(key string, absent bool) (bool, error) {
	switch {
	case !o.set(key):
		return absent, nil
	case !o.fields[key].IsBool():
		return false, fmt.Errorf("%s: %q is not true or false", o.name, key)
	}
	return o.fields[key].Bool(), nil
}

// mustFlag is flag for a field without a default.
func (o object) mustFlag(key string) (bool, error) {
	if !o.set(key) {
		return false, fmt.Errorf("%s: %q is missing", o.name, key)
	}
	return o.flag(key, false)
}

// list returns the elements of an array field; absent and null are empty.
func (o object) list(key string) ([]gjson.Result, error) {
	switch {
	case !o.set(key):
		return nil, nil
	case !o.fields[key].IsArray():
		return nil, fmt.Errorf("%s: %q is not a list", o.name, key)
	}
	return o.fields[key].Array(), nil
}

// id parses a token id. The largest one is kept free, so that a count of ids fits.
func id(v gjson.Result) (uint32, error) {
	n, err := strconv.ParseUint(v.Raw, 10, 32)
	if v.Type != gjson.Number || err != nil || n == math.MaxUint32 {
		return 0, fmt.Errorf("%.20s is not a token id", v.Raw)
	}
	return uint32(n), nil
}
