package arrival

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// arguments are the key=value pairs of a model written as text. Each reader takes
// its key out; what is left over is an error.
type arguments map[string]string

// Parse reads a model from text such as "sessions:n=4,think=2s" or
// "poisson:rate=1.5". [Usage] lists the forms.
func Parse(text string) (ArrivalModel, error) {
	name, rest, _ := strings.Cut(strings.TrimSpace(text), ":")
	for _, k := range kinds {
		if k.name != name || k.parse == nil {
			continue
		}
		args := arguments{}
		for pair := range strings.SplitSeq(rest, ",") {
			if pair = strings.TrimSpace(pair); pair == "" {
				continue
			}
			key, value, ok := strings.Cut(pair, "=")
			if _, double := args[key]; !ok || double {
				return ArrivalModel{}, fmt.Errorf("arrival model %.60q: want key=value once each, as in %s", text, k.usage)
			}
			args[key] = value
		}
		m, err := k.parse(args)
		if err != nil {
			return ArrivalModel{}, fmt.Errorf("arrival model %.60q: %w; the form is %s", text, err, k.usage)
		}
		for left := range args {
			return ArrivalModel{}, fmt.Errorf("arrival model %.60q: unknown key %.30q; the form is %s", text, left, k.usage)
		}
		return m, nil
	}
	return ArrivalModel{}, fmt.Errorf("unknown arrival model %.60q; the forms are %s", text, strings.Join(Usage(), " · "))
}

// Usage returns one example of each form that [Parse] reads.
func Usage() []string {
	var out []string
	for _, k := range kinds {
		if k.parse != nil {
			out = append(out, k.usage)
		}
	}
	slices.Sort(out)
	return out
}

func (a arguments) take(key string) (string, bool) {
	v, ok := a[key]
	delete(a, key)
	return v, ok
}

func (a arguments) count(key string) (int, error) {
	v, ok := a.take(key)
	if !ok {
		return 0, fmt.Errorf("%s is missing", key)
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		return 0, fmt.Errorf("%s=%.20q is no whole number", key, v)
	}
	return n, nil
}

func (a arguments) rate(key string) (float64, error) {
	v, ok := a.take(key)
	if !ok {
		return 0, fmt.Errorf("%s is missing", key)
	}
	r, err := strconv.ParseFloat(v, 64)
	if err != nil {
		return 0, fmt.Errorf("%s=%.20q is no number of requests per second", key, v)
	}
	return r, nil
}

func (a arguments) number(key string) (float64, error) {
	v, ok := a.take(key)
	if !ok {
		return 0, fmt.Errorf("%s is missing", key)
	}
	n, err := strconv.ParseFloat(v, 64)
	if err != nil {
		return 0, fmt.Errorf("%s=%.20q is no number", key, v)
	}
	return n, nil
}

func (a arguments) duration(key string, absent time.Duration) (time.Duration, error) {
	v, ok := a.take(key)
	if !ok {
		return absent, nil
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		return 0, fmt.Errorf("%s=%.20q is no duration such as 2s or 500ms", key, v)
	}
	return d, nil
}

func (a arguments) text(key, absent string) string {
	if v, ok := a.take(key); ok {
		return v
	}
	return absent
}
