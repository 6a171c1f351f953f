package reader

import (
	"math/big"
	"regexp"
	"strings"
)

var (
	expression = regexp.MustCompile(`[(\s]*-?\d+(?:\.\d+)?[\s)]*(?:(?:[+*/×÷x]|[-−]|\*\*)[\s(]*\d+(?:\.\d+)?[\s)]*)+`)
	asksSum    = regexp.MustCompile(`^(what|how much|compute|calculate|evaluate|solve|work out|add|multiply|give|tell|answer|find|return|reply)\b|=\s*\??$|\?$`)
	spoken     = strings.NewReplacer(" plus ", " + ", " minus ", " - ", " times ", " * ", " multiplied by ", " * ", " divided by ", " / ")
)

// arithmetic works out a sum. Both the digits and the operators must be there: a
// date or a telephone number is no sum unless somebody asks for it as one.
func arithmetic(e errand, bare bool) (string, bool) {
	if !asksSum.MatchString(e.low) {
		return "", false
	}
	found := strings.TrimSpace(expression.FindString(spoken.Replace(e.low)))
	if found == "" || strings.Contains(found, "-") && !strings.Contains(found, " -") && !strings.ContainsAny(found, "+*/×÷") && !strings.HasPrefix(e.low, "comp") && !strings.HasPrefix(e.low, "calc") {
		return "", false
	}
	s := &sum{in: strings.NewReplacer(" ", "", "×", "*", "x", "*", "÷", "/", "−", "-").Replace(found)}
	v := s.terms()
	if s.bad || s.in != "" {
		return "", false
	}
	text := v.RatString()
	if !v.IsInt() {
		text = strings.TrimRight(v.FloatString(6), "0")
	}
	if bare {
		return text, true
	}
	return strings.TrimSpace(found) + " = " + text + ".", true
}

// A sum is read from left to right, products first, exact in rationals.
type sum struct {
	in  string
	bad bool
}

func (s *sum) terms() *big.Rat {
	v := s.product()
	for s.in != "" && (s.in[0] == '+' || s.in[0] == '-') {
		op := s.in[0]
		s.in = s.in[1:]
		if w := s.product(); op == '+' {
			v.Add(v, w)
		} else {
			v.Sub(v, w)
		}
	}
	return v
}

func (s *sum) product() *big.Rat {
	v := s.factor()
	for s.in != "" && (s.in[0] == '*' || s.in[0] == '/') {
		op := s.in[0]
		s.in = s.in[1:]
		w := s.factor()
		switch {
		case op == '*':
			v.Mul(v, w)
		case w.Sign() == 0:
			s.bad = true
		default:
			v.Quo(v, w)
		}
	}
	return v
}

func (s *sum) factor() *big.Rat {
	if rest, ok := strings.CutPrefix(s.in, "("); ok {
		s.in = rest
		v := s.terms()
		if s.in, ok = strings.CutPrefix(s.in, ")"); !ok {
			s.bad = true
		}
		return v
	}
	n := 0
	for n < len(s.in) && (s.in[n] >= '0' && s.in[n] <= '9' || s.in[n] == '.' || n == 0 && s.in[n] == '-') {
		n++
	}
	v, ok := new(big.Rat).SetString(s.in[:n])
	if !ok || n > 40 {
		s.bad, s.in = true, ""
		return new(big.Rat)
	}
	s.in = s.in[n:]
	return v
}
